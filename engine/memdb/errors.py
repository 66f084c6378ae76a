"""Every error that memdb raises on purpose, with what to do next and the exit code it becomes."""

from __future__ import annotations


class MemdbError(Exception):
    """The base of all memdb errors; `code` names the kind, `hint` says what to do next."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, str | None]:
        """The one JSON shape of an error: `{code, message, hint}`."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class UsageError(MemdbError):
    """The call's words do not fit: a bad option, a bad value."""

    code, exit_code = "usage", 2


class NotFound(MemdbError):
    """No memory, store or version of that name."""

    code, exit_code = "not_found", 3


class Refused(MemdbError):
    """The request is understood and not carried out, to keep something safe."""

    code, exit_code = "refused", 4


class SecretFound(Refused):
    """The text looks like a credential; memdb keeps those out."""

    code = "secret"


class Changed(Refused):
    """The file changed since it was read; saving would lose that change."""

    code = "changed"


class StoreUnreadable(MemdbError):
    """The root or the database cannot be read; nothing was changed."""

    code, exit_code = "unreadable", 5


class NewerStore(StoreUnreadable):
    """The database was written by a newer memdb."""

    code = "newer_store"


class NotWritable(MemdbError):
    """The folder, the disk or the database does not take a write."""

    code, exit_code = "not_writable", 6


class ModelUnavailable(MemdbError):
    """The embedding model cannot be loaded or found."""

    code, exit_code = "model_unavailable", 7


class Busy(MemdbError):
    """Another process holds the store for longer than memdb waits."""

    code, exit_code = "busy", 8


class LlmError(MemdbError):
    """The language model gave no usable answer; the counts say what the tries used up, None where it is unknown."""

    code, exit_code = "llm", 7
    attempts = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


class LlmOff(LlmError):
    """No language model is set up, or it is switched off."""

    code = "llm_off"


class LlmRefused(LlmError):
    """The endpoint will not answer, and asking again does not help.

    `kind` is "spend", "key" or "model", which meet every request alike, or "request" or "content" for this text alone.
    """

    code = "llm_refused"

    def __init__(self, message: str, *, kind: str = "request", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def everywhere(self) -> bool:
        """Whether every other request would be refused too."""
        return self.kind in ("spend", "key", "model")


class LlmUnavailable(LlmError):
    """The endpoint did not answer this time; `retry_after` is the seconds that it asked for, if it did."""

    code = "llm_unavailable"

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class LlmBadAnswer(LlmError):
    """The model answered, and none of its answers had the form that was asked for."""

    code = "llm_bad_answer"
