"""The arguments of a tool call as agents write them: under other names, as text or lists, nested; all are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memdb.errors import UsageError

WRAPPERS = ("arguments", "args", "params", "parameters", "input", "kwargs", "request", "payload")
"""Names under which some clients nest all arguments once more."""

YES, NO = ("true", "yes", "on", "1", "y"), ("false", "no", "off", "0", "n", "")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool; `others` are the names that agents give it too. `kind`: text, texts, number, flag."""

    name: str
    kind: str
    about: str
    others: tuple[str, ...] = ()
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int = 0

    def schema(self) -> dict[str, Any]:
        """Its part of the JSON schema."""
        types: dict[str, dict[str, Any]] = {
            "text": {"type": "string"},
            "texts": {"type": "array", "items": {"type": "string"}},
            "number": {"type": "integer", "minimum": self.least},
            "flag": {"type": "boolean"},
        }
        return types[self.kind] | ({"enum": list(self.choices)} if self.choices else {}) | {"description": self.about}


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's input. It lets other names through: the tool reads them."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": True,
    }


def take(parameters: Sequence[Parameter], given: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[str]]:
    """The arguments by their own names, and what to say about those that were passed over.

    What is empty counts as not given. Raises UsageError for what is missing or cannot be read.
    """
    left = {key: value for key, value in _unwrapped(parameters, given or {}).items() if value is not None}
    taken: dict[str, Any] = {}
    for parameter in parameters:
        names = [_folded(name) for name in (parameter.name, *parameter.others)]
        found = sorted((key for key in left if _folded(key) in names), key=lambda key: names.index(_folded(key)))
        if found:
            value = _value(parameter, left.pop(found[0]))
            if value not in (None, "", []):
                taken[parameter.name] = value
    missing = [parameter.name for parameter in parameters if parameter.required and parameter.name not in taken]
    if missing:
        every = ", ".join(f"{each.name}{' (needed)' if each.required else ''}" for each in parameters)
        raise UsageError(f"The call says nothing for {' and '.join(missing)}.", hint=f"The parameters are {every}.")
    return taken, [f"Passed over, as this tool does not know it: {', '.join(sorted(left))}."] if left else []


def _unwrapped(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(given) != 1:
        return given
    [(key, value)] = given.items()
    if _folded(key) not in WRAPPERS:
        return given
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return given
    return value if isinstance(value, Mapping) else given


def _folded(name: str) -> str:
    return re.sub(r"[-_\s.]", "", name).casefold()


def _value(parameter: Parameter, given: Any) -> Any:
    readers: dict[str, Callable[[Any], Any]] = {"text": _text, "texts": _texts, "number": _number, "flag": _flag}
    value = readers[parameter.kind](given)
    if value is None:
        wanted = {"text": "a text", "texts": "a list of texts", "number": "a whole number", "flag": "true or false"}
        raise UsageError(f"{parameter.name} is {str(given)[:80]!r}.", hint=f"Give {wanted[parameter.kind]}.")
    if parameter.kind == "number":
        return max(parameter.least, value)
    if parameter.choices and value:
        chosen = next((choice for choice in parameter.choices if _folded(choice) == _folded(value)), None)
        if chosen is None:
            raise UsageError(f"{parameter.name} is {value!r}.", hint=f"It may be {', '.join(parameter.choices)}.")
        return chosen
    return value


def _text(given: Any) -> str | None:
    if isinstance(given, str):
        return given
    if isinstance(given, bool | Mapping):
        return None
    if isinstance(given, int | float):
        return str(given)
    if isinstance(given, list) and all(isinstance(part, str | int | float) for part in given):
        return " ".join(str(part) for part in given)
    return None


def _texts(given: Any) -> list[str] | None:
    if isinstance(given, str):
        if given.lstrip().startswith("["):
            try:
                return _texts(json.loads(given))
            except ValueError:
                pass
        given = re.split(r"[,\n]", given)
    if not isinstance(given, list) or not all(isinstance(part, str | int | float) for part in given):
        return None
    return [text for part in given if (text := str(part).strip())]


def _number(given: Any) -> int | None:
    if isinstance(given, bool):
        return None
    try:
        number = float(given)
        return int(number) if number == int(number) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _flag(given: Any) -> bool | None:
    if isinstance(given, bool):
        return given
    said = str(given).strip().lower()
    return True if said in YES else False if said in NO else None
