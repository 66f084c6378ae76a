"""What a route takes, and how what a client sent becomes values: one description for both and for the OpenAPI page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memdb.errors import UsageError

Form = Literal["text", "integer", "flag", "list"]

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")

TEXT_LIMIT = 100_000
"""Characters of one value: any question is one, a pasted page too."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value of the path, the query or the body. A list of the query may be repeated or parted by commas."""

    name: str
    about: str
    form: Form = "text"
    where: Literal["path", "query", "body"] = "query"
    required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        one: dict[str, Any] = {"type": "string"} | ({"enum": list(self.choices)} if self.choices else {})
        if self.form == "list":
            found: dict[str, Any] = {"type": "array", "items": one}
        elif self.form == "integer":
            found = {"type": "integer"}
            found |= {"minimum": self.least} if self.least is not None else {}
            found |= {"maximum": self.most} if self.most is not None else {}
        elif self.form == "flag":
            found = {"type": "boolean"}
        else:
            found = one | {"maxLength": TEXT_LIMIT}
        return found | ({"default": self.default} if self.default is not None else {})

    def of_query(self, given: Sequence[str]) -> Any:
        """The value of the words of a query. Raises UsageError."""
        if self.form == "list":
            return self._checked([part for word in given for part in word.split(",") if part])
        if len(given) > 1:
            raise UsageError(f"{self.name} is given {len(given)} times.", hint="Give it once.")
        word = given[0]
        if self.form == "integer":
            if not (word.removeprefix("-").isascii() and word.removeprefix("-").isdigit() and len(word) < 19):
                raise UsageError(f"{self.name} is {word[:40]!r}, and no whole number.")
            return self._checked(int(word))
        if self.form == "flag":
            if word.lower() not in TRUE + FALSE:
                raise UsageError(f"{self.name} is {word[:40]!r}.", hint="Give 1 or 0.")
            return word.lower() in TRUE
        return self._checked(word)

    def of_json(self, value: Any) -> Any:
        """A value of a body, checked. Raises UsageError."""
        if value is None and not self.required:
            return self.default
        kind = {"text": str, "integer": int, "flag": bool, "list": list}[self.form]
        wrong = not isinstance(value, kind) or (self.form == "integer" and isinstance(value, bool))
        if wrong or (self.form == "list" and not all(isinstance(one, str) for one in value)):
            raise UsageError(f"{self.name} must be {NAMES[self.form]}.")
        return self._checked(value)

    def _checked(self, value: Any) -> Any:
        texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        for text in texts:
            if len(text) > TEXT_LIMIT:
                raise UsageError(f"{self.name} has {len(text)} characters.", hint=f"It may have {TEXT_LIMIT}.")
            if not is_storable(text):
                raise UsageError(f"{self.name} has half of a character (a lone surrogate).", hint="Send UTF-8.")
            if self.choices and text not in self.choices:
                raise UsageError(f"{self.name} is {text[:40]!r}.", hint=f"It is one of {', '.join(self.choices)}.")
        if self.form == "integer":
            low = self.least is not None and value < self.least
            if low or (self.most is not None and value > self.most):
                raise UsageError(f"{self.name} is {value}.", hint=f"Give {self.least} to {self.most}.")
        return value


NAMES = {"text": "a text", "integer": "a whole number", "flag": "true or false", "list": "a list of texts"}


def is_storable(text: str) -> bool:
    """Whether a text is one: JSON can escape halves of characters, which are in no file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def values(
    parameters: Sequence[Parameter],
    path: Mapping[str, str],
    query: Mapping[str, Sequence[str]],
    body: Mapping[str, Any],
) -> dict[str, Any]:
    """All values of a request by name; what was not given has its default. Raises UsageError for unknown names too."""
    known = {where: [one.name for one in parameters if one.where == where] for where in ("path", "query", "body")}
    for where, given in (("query", query), ("body", body)):
        for name in given:
            if name not in known[where]:
                takes = f"It takes {', '.join(known[where])}." if known[where] else "It takes none."
                raise UsageError(f"There is no {name[:40]!r} in the {where} of this request.", hint=takes)
    found: dict[str, Any] = {}
    for one in parameters:
        if one.where == "path":
            found[one.name] = one.of_query([path[one.name]])
        elif one.where == "query" and one.name in query:
            found[one.name] = one.of_query(query[one.name])
        elif one.where == "body" and one.name in body:
            found[one.name] = one.of_json(body[one.name])
        elif one.required:
            raise UsageError(f"{one.name} is missing.", hint=f"{one.name}: {one.about}")
        else:
            found[one.name] = one.default
    return found
