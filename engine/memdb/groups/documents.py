"""The documents that the store mirrors, and their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memdb.groups.group import Group
from memdb.services.memories import reading
from memdb.services.memories.reading import ChunkListed, DocumentListed


class Documents(Group):
    """The documents that the store mirrors, and their chunks."""

    def list(self) -> Sequence[DocumentListed]:
        """The documents that the store mirrors, by path."""
        return self._call(reading.list_documents)

    def find(self, document: str) -> str:
        """The id of a document by id or path. Raises NotFound."""
        return self._call(lambda context: reading.find_document(context, document))

    def meant(self, written: str) -> Sequence[str]:
        """The ids of the documents that an id, a path, a folder or an address means; none where it means none."""
        from memdb.services.forgetting import forgetting  # noqa: PLC0415

        return self._call(lambda context: forgetting.documents_meant(context, written))

    def chunks(self, document: str) -> Sequence[ChunkListed]:
        """The chunks of a document by id or path. Raises NotFound."""
        return self._call(lambda context: reading.list_chunks(context, document))

    def chunk(self, chunk: str, *, around: int = 1) -> Sequence[ChunkListed]:
        """A chunk by its id with so many neighbours on each side, in order; empty where there is none."""
        return self._call(lambda context: reading.show_chunk(context, chunk, around=around))

    def path(self, document: str) -> Path:
        """The file of a document by its id alone: its first place that is there, or its snapshot. Raises NotFound."""
        return self._call(lambda context: reading.open_path(context, document))

    def link(self, document: str) -> str | None:
        """The address that a document was read from, by its id alone; None of a file or an upload."""
        return self._call(lambda context: reading.document_link(context, document))
