"""Frontmatter edited in place, every byte but the edited keys kept, and written anew with little quoting."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from memdb.base.text import Decoded, decode_exact, encode_exact, normalise_newlines
from memdb.domain.frontmatter_read import (
    KEY_ORDER,
    LISTS,
    NOTHING,
    MemoryText,
    candidates,
    names_of,
    parse,
    skip_blank_lines,
    split_names,
    split_tags,
    tags_of,
)
from memdb.domain.frontmatter_yaml import Head, Node, Unreadable, compose, read_head
from memdb.errors import MemdbError

_TEXTS = frozenset(KEY_ORDER) - LISTS - {"updated"}
# Letters, digits and a few harmless marks may begin a plain scalar; the rest may hold anything that is drawn.
_PLAIN = re.compile(r"[\w./(+$;^][^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]*")
_BLOCK_MARKS, _FLOW_MARKS = re.compile(r":\s|\s#|[:\s]\Z|\A\.\.\.\Z"), re.compile(r"[,\[\]{}:#]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


class FrontmatterError(MemdbError):
    """The frontmatter cannot be edited as it stands; `line` is 1-based in the file."""

    code = "frontmatter"

    def __init__(self, message: str, *, line: int | None, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a key stands in the block: its pair, the lines [first, after), the column and kind of its map."""

    key: Node
    value: Node
    first: int
    after: int
    column: int
    flow: bool


def edit_bytes(data: bytes, changes: Mapping[str, object], *, body: str | None = None) -> bytes:
    """Set keys (None removes one) and optionally the body of a file; every other byte stays.

    A key is set where the file has it, at the top or in `metadata:` (`modified` also as `updated`), else
    added as the last one; a file without frontmatter gets one. What already reads so is left alone.
    Raises `FrontmatterError` where the frontmatter does not parse or a key cannot be changed without touching
    others, `UndecodableText`, and `UnencodableText`.
    """
    decoded = decode_exact(data)
    raw, old = decoded.text, parse(decoded.text)
    keys = [*(key for key in KEY_ORDER if key in changes), *(key for key in changes if key not in KEY_ORDER)]
    wanted = {key: value for key in keys if _differs(old, key, value := _as_written(key, changes[key]))}
    new_body = None if body is None or _as_body(body) == old.body else _as_body(body)
    if not wanted and new_body is None:
        return data
    mark = "\ufeff" if raw.startswith("\ufeff") else ""
    head = read_head(raw.removeprefix(mark))
    if head is not None and head.failure is not None:
        raise _broken(old, head)
    start = len(mark) + (head.length if head is not None else 0)
    front = raw[:start]
    if wanted:
        front = mark + _edited(head or Head(), wanted, decoded, raw[start:])
    tail = data[len(encode_exact(raw[:start], decoded)) :]
    if new_body is not None:
        gap = raw[start : skip_blank_lines(raw, start)]
        if front and not front.endswith(("\r", "\n")) and not gap:
            gap = decoded.newline
        tail = encode_exact(gap + new_body.replace("\n", decoded.newline), _without_bom(decoded))
    edited = encode_exact(front, decoded) + tail
    _verify(old, parse(decode_exact(edited).text), wanted, new_body)
    return edited


def render(fields: Mapping[str, object], body: str) -> str:
    """Write a new memory file: the known keys in `KEY_ORDER`, then other keys as given, then the body.

    None, empty text and empty lists are left out; `parse` gives the same fields back (texts trimmed).
    """
    written = {key: _as_written(key, value) for key, value in fields.items()}
    keys = [key for key in KEY_ORDER if key in written] + [key for key in written if key not in KEY_ORDER]
    lines = [line for key in keys if written[key] not in (None, "", [], {}) for line in _entry(key, written[key])]
    body = _as_body(body)
    body = body[skip_blank_lines(body, 0) :]
    if body and not body.endswith("\n"):
        body += "\n"
    if not lines and read_head(body) is None:
        return body
    return "".join(f"{line}\n" for line in ["---", *lines, "---"]) + (f"\n{body}" if body else "")


# --- what is wanted -----------------------------------------------------------------------------------------


def _as_body(body: str) -> str:
    return normalise_newlines(body)


def _as_written(key: str, value: object) -> Any:
    """Turn a value into what is written: None, str, list of str, or nested dict and list."""
    if key in LISTS and value is not None:
        given = [value] if isinstance(value, str) else value
        texts = [str(item) for item in given] if isinstance(given, Iterable) else [str(given)]
        split = split_tags if key == "tags" else split_names
        return list(dict.fromkeys(part for text in texts for part in split(text) if part))
    if isinstance(value, Mapping):
        return {str(name): _as_written("", item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_as_written("", item) for item in items]
    if value is None:
        return None
    text = normalise_newlines(str(value))
    return text.strip() if key in _TEXTS else text


def _differs(old: MemoryText, key: str, value: Any) -> bool:
    if value is None:
        metadata = old.frontmatter.get("metadata")
        held = set(old.frontmatter) | (set(metadata) if isinstance(metadata, dict) and key in KEY_ORDER else set())
        return key in held or (key == "modified" and "updated" in held)
    if key in LISTS:
        return bool(list(getattr(old, key)) != value)
    if key in _TEXTS:
        return bool((getattr(old, key) or "") != value)
    return bool(old.frontmatter.get(key) != value)


def _broken(old: MemoryText, head: Head) -> FrontmatterError:
    first = next((problem for problem in old.problems if "not valid" in problem.reason), None)
    line, reason = (first.line, first.reason) if first else (2, str(head.failure))
    hint = "Put the value on that line in double quotes, or close what is open, then save again."
    if head.unclosed:
        hint = "Add a line --- after the last key, then save again."
    return FrontmatterError(f"line {line}: {reason}", line=line, hint=hint)


def _verify(old: MemoryText, new: MemoryText, wanted: Mapping[str, Any], body: str | None) -> None:
    """Compare what the edited file says with what it should say: the guard behind every splice above."""
    kept, found = copy.deepcopy(old.frontmatter), copy.deepcopy(new.frontmatter)
    for values in (kept, found):
        for key in wanted:
            names = ("modified", "updated") if key == "modified" else (key,)
            for name in names:
                values.pop(name, None)
                if isinstance(values.get("metadata"), dict) and key in KEY_ORDER:
                    values["metadata"].pop(name, None)
        values["metadata"] = values.get("metadata") or None
    text = old.body if body is None else body[skip_blank_lines(body, 0) :]
    if kept == found and new.body == text and not any(_differs(new, key, value) for key, value in wanted.items()):
        return
    keys = ", ".join(wanted) or "the body"
    hint = "Change it in the file by hand; memdb left the file as it was."
    raise FrontmatterError(f"{keys} cannot be changed without touching other values", line=None, hint=hint)


def _without_bom(decoded: Decoded) -> Decoded:
    return Decoded(decoded.text, decoded.encoding, b"", decoded.newline)


# --- splicing -----------------------------------------------------------------------------------------------


def _edited(head: Head, wanted: Mapping[str, Any], decoded: Decoded, after: str) -> str:
    if not head.opening:
        lines = [line for key, value in wanted.items() if value is not None for line in _entry(key, value)]
        gap = [""] if after and not after.startswith(("\r", "\n")) else []
        return "".join(line + decoded.newline for line in ["---", *lines, "---", *gap])
    newline = head.opening[len(head.opening.rstrip("\r\n")) :]
    lines = list(head.lines)
    for key, value in wanted.items():
        root = _root(lines)
        places = _places(root, key, lines) if root is not None else []
        if value is None:
            for place in reversed(places):
                if place.flow:
                    raise _by_hand(key, place)
                del lines[place.first : place.after]
        elif places:
            lines[places[0].first : places[0].after] = _replaced(places[0], key, value, lines, newline)
        else:
            if root is not None and root.flow:
                raise _by_hand(key, None)
            indent = " " * (root.column if root is not None else 0)
            lines += [indent + line + newline for line in _entry(key, value)]
    return head.opening + "".join(lines) + head.closing


def _root(lines: list[str]) -> Node | None:
    block = normalise_newlines("".join(lines))
    try:
        return compose(block) if block.strip() else None
    except Unreadable as failure:
        message = f"the change does not fit the frontmatter: {failure.reason}"
        raise FrontmatterError(message, line=failure.line + 2, hint="Change it in the file by hand.") from failure


def _by_hand(key: str, place: _Place | None) -> FrontmatterError:
    line = place.first + 2 if place else 2
    message = f"line {line}: {key} would have to change inside a map written as {{…}}"
    return FrontmatterError(message, line=line, hint="Write one `key: value` per line, then save again.")


def _places(root: Node, key: str, lines: list[str]) -> list[_Place]:
    """Find where a key stands, the place that is read first; places in `metadata:` only for known keys."""
    places = []
    for name, value, holder in candidates(root.pairs, key):
        if holder is not None and key not in KEY_ORDER:
            continue
        within = holder if holder is not None else root
        places.append(_place(root, within, name, value, lines))
    return places


def _place(root: Node, within: Node, name: Node, value: Node, lines: list[str]) -> _Place:
    if within.flow:
        return _Place(name, value, name.line, value.end_line + 1, name.column, True)
    starts = [key.line for key, _ in [*root.pairs, *within.pairs] if key.line > name.line]
    after = min(starts, default=len(lines))
    # Blank lines and comments before the next key belong to that key.
    while after > name.line + 1 and _is_between(lines[after - 1], name.column):
        after -= 1
    return _Place(name, value, name.line, after, name.column, False)


def _is_between(line: str, column: int) -> bool:
    text = line.strip()
    return not text or (text.startswith("#") and len(line) - len(line.lstrip(" ")) <= column)


def _replaced(place: _Place, key: str, value: Any, lines: list[str], newline: str) -> list[str]:
    """Give the new lines of one key: the value alone is exchanged where both old and new fit on the line."""
    old, line = place.value, lines[place.first]
    on_one_line = place.after == place.first + 1 or place.flow
    if old.kind == "list" and not old.flow and isinstance(value, list) and value and not place.flow:
        kept = _kept_items(place, key, value, lines, newline)
        if kept:
            return kept
    if not isinstance(value, dict) and _is_texts(value):
        written = _inline(value, flow=place.flow)
        colon = re.compile(r"[ \t]*:").match(line, place.key.end_column)
        empty = old.kind == "text" and old.style is None and old.text == ""
        if colon and empty and on_one_line and not place.flow:
            after = line[colon.end() :]
            return [f"{line[: colon.end()]} {written}{newline if old.raw else after}"]
        single = old.line == old.end_line == place.first and old.style not in ("|", ">")
        if single and on_one_line and (old.kind == "text" or old.flow) and not empty:
            rest = [] if place.after == place.first + 1 else lines[place.first + 1 : place.after]
            return [line[: old.column] + written + line[old.end_column :], *rest]
    if place.flow:
        raise _by_hand(key, place)
    spelled = line[place.column : place.key.end_column]
    return [" " * place.column + written + newline for written in _entry(key, value, spelled)]


def _kept_items(place: _Place, key: str, value: list[Any], lines: list[str], newline: str) -> list[str]:
    """Change a list of one item per line by whole lines, so that items that stay keep quotes and comments."""
    items = place.value.items
    dash = re.match(r"[ \t]*-", lines[items[0].line]) if items else None
    if dash is None or not _is_texts(value):
        return []
    bounds = [place.first + 1]
    for earlier, item in itertools.pairwise(items):
        start = item.line
        while start - 1 > earlier.end_line and not lines[start - 1].lstrip().startswith("-"):
            start -= 1
        bounds.append(start)
    bounds.append(place.after)
    read = tags_of if key == "tags" else names_of
    held: dict[str, list[str]] = {}
    for number, item in enumerate(items):
        texts = list(read(item)) if key in LISTS else [item.text]
        if len(texts) == 1:
            held.setdefault(texts[0], lines[bounds[number] : bounds[number + 1]])
    new = [line for text in value for line in held.get(text) or [f"{dash[0]} {_inline(text, flow=False)}{newline}"]]
    return [lines[place.first], *new]


# --- writing ------------------------------------------------------------------------------------------------


def _entry(key: str, value: Any, spelled: str | None = None) -> list[str]:
    """Write one key as lines without newlines: a text or a list of texts on one line, the rest indented."""
    spelled = spelled or _scalar(key, flow=True)
    if isinstance(value, dict) and value:
        return [f"{spelled}:", *(f"  {line}" for name, item in value.items() for line in _entry(name, item))]
    if isinstance(value, list) and not _is_texts(value):
        return [f"{spelled}:", *(line for item in value for line in _item(item))]
    written = _inline(value, flow=False)
    return [f"{spelled}: {written}" if written else f"{spelled}:"]


def _item(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        inner = [line for name, item in value.items() for line in _entry(name, item)]
        return [f"  - {inner[0]}", *(f"    {line}" for line in inner[1:])]
    if isinstance(value, list) and not _is_texts(value):
        inner = [line[2:] for item in value for line in _item(item)]
        return [f"  - {inner[0]}", *(f"    {line}" for line in inner[1:])]
    return [f"  - {_inline(value, flow=False)}"]


def _is_texts(value: Any) -> TypeGuard[list[str] | str]:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _inline(value: Any, *, flow: bool) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(item, flow=True) for item in value) + "]"
    return "{}" if isinstance(value, dict) else _scalar(value, flow=flow) if value is not None else ""


def _scalar(text: str, *, flow: bool) -> str:
    """Write one text so that YAML reads it back: plain where safe, then in single, then in double quotes."""
    if _UNPRINTABLE.search(text):
        return '"' + re.sub(r'[\\"]|' + _UNPRINTABLE.pattern, _escape, text) + '"'
    marks = _BLOCK_MARKS.search(text) or (flow and _FLOW_MARKS.search(text))
    if _PLAIN.fullmatch(text) and not marks and text not in NOTHING:
        return text
    return "'" + text.replace("'", "''") + "'"


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _ESCAPES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
