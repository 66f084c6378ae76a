"""The runs of the language model."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.extraction import runs
from memdb.services.extraction.runs import Failure, Run, RunEvent


class Runs(Group):
    """The runs of the language model."""

    def list(self, limit: int | None = None) -> Sequence[Run]:
        """The runs of the language model, the newest first."""
        return self._call(lambda context: runs.runs(context, limit))

    def show(self, number: int) -> tuple[Run, Sequence[RunEvent]]:
        """One run with what happened to each text. Raises NotFound."""
        return self._call(lambda context: runs.run(context, number))

    def failures(self) -> Sequence[Failure]:
        """The texts that a model failed to read, with why, and whether they will be tried again."""
        return self._call(runs.failures)
