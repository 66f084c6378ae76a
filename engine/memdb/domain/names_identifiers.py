"""Identifiers, by their shape: hosts, packages, files, paths, flags, variables, words with signs or inner capitals."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdb.domain.names_shapes import EXTENSIONS, LANGUAGES, is_data, is_file, is_identifier
from memdb.domain.names_spans import Span
from memdb.domain.names_words import is_common

# The host of a URL, after a user and a password.
_HOST = re.compile(r"://(?:[^/?#@]{0,200}@)?([\w.\-]+)")
# A host of one's own is a thing; a page on the web is a citation.
_OWN = re.compile(
    r"(?:\.(?:internal|intranet|local|localdomain|lan|corp|home|example|test|svc|cluster\.local)\Z)", re.I
)

# What stands in backticks and names nothing.
_LITERALS_WORDS = """
true false null none nil nan inf undefined void int integer str string float double bool boolean char byte bytes list
dict tuple set array object map self this super async await const def elif else enum except finally func fn for
foreach from goto if impl import in is lambda let mod mut namespace new not or and pass pub raise ref return static
struct switch then throw try type typedef typename union unsafe var when while with yield foo bar baz qux foobar lorem
ipsum stdin stdout stderr todo head main master name value key id idx tmp args kwargs cls obj
"""
_LITERALS = frozenset(_LITERALS_WORDS.split())

_PATTERN = re.compile(
    # Most of a text: words that can begin nothing of what follows.
    r"(?<!\S)(?:[A-Za-z][a-z]+[,.;:!?]?\s+(?!install|add|require))+"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.\-]{1,20}://[^\s<>\"'`|]{1,2000}|\bwww\.[^\s<>\"'`|]{1,2000})"
    r"|(?P<install>\b(?:pip3?|uv|pipx|poetry|conda|npm|yarn|pnpm|brew|apt|apt-get|dnf|yum|cargo|gem|composer)"
    r"[ ](?:install|add|require)(?:[ ]-{1,2}[\w\-]{1,40}){0,5}[ ](?P<package>@?[A-Za-z][\w./\-]{1,80}))"
    r"|(?P<mail>(?<![\w.+\-@])[A-Za-z0-9_][\w.+\-]{0,63}@[A-Za-z0-9][\w\-]{0,62}(?:\.[\w\-]{1,63}){0,8})"
    r"|(?P<handle>(?<![\w@./])@[A-Za-z][\w\-]{1,60}(?:/[A-Za-z][\w.\-]{0,60})?)"
    r"|(?P<windows>(?<!\w)[A-Za-z]:\\[^\s\"'<>|*?`,;]{1,300})"
    r"|(?P<path>(?<![\w.<])(?:~|\.{1,2})?/[\w.@+\-]{1,120}(?:/[\w.@+\-]{1,120}){1,30}/?|(?<![\w.<])~/[\w.@+\-]{1,120})"
    r"|(?P<relative>(?<![\w./])[\w.@\-]{1,120}(?:/[\w.@\-]{1,120}){1,30}\.[A-Za-z][A-Za-z0-9]{0,8}(?![\w/]))"
    r"|(?P<numbered>(?<![\w./\-])\d[\w\-]{0,60}\.[A-Za-z][A-Za-z0-9]{0,8}(?![\w.]))"
    r"|(?P<flag>(?<![\w\-])--[a-zA-Z][a-zA-Z0-9]{1,40}(?:-[a-zA-Z0-9]{1,40}){0,8}(?![\w\-]))"
    r"|(?P<variable>\$\{?(?P<env>[A-Za-z_][A-Za-z0-9_]{2,80})\}?)"
    r"|(?P<word>(?<![\w.\-])[.]?[A-Za-z_][A-Za-z0-9_]*(?:(?:[.\-]|::)[A-Za-z0-9_]+)*(?:\+\+|\#)?(?:\(\))?(?!\w))"
)

_CODE = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_PLAIN_CODE = re.compile(r"@?[A-Za-z_.][\w.:/@+#\-]{1,63}(?:\(\))?\Z")

# What ends an identifier without belonging to it: punctuation, a port, the slash of a folder.
_TAIL = re.compile(r"(?:[.:\-/\\]|:\d{1,5})+\Z")


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifiers of a text, and the parts of it that belong to no proper name (`taken` holds the names too)."""

    names: list[Span]
    taken: list[tuple[int, int]]


def identifiers(prose: str) -> Identifiers:
    """The identifiers of a text without its code blocks."""
    names: list[Span] = []
    taken: list[tuple[int, int]] = []
    for match in _PATTERN.finditer(prose):
        if match.lastgroup is None or (
            match.lastgroup == "word" and match.group().isalpha() and match.group()[1:].islower()
        ):
            continue
        span = _span(match)
        if span is not None:
            names.append(span)
        # A word of letters alone may be part of a proper name (Yann LeCun).
        if match.lastgroup == "url" or (span is not None and not match.group().isalpha()):
            taken.append(match.span())
    for code in _CODE.finditer(prose):
        taken.append(code.span())
        if _names_thing(code[1]):
            start, stop = code.span(1)
            stop -= 2 if code[1].endswith("()") else len(code[1]) - len(_TAIL.sub("", code[1]))
            names.append(Span(start, stop, "identifier", _type(code[1])))
    return Identifiers(names, taken)


def _span(match: re.Match[str]) -> Span | None:
    kind, group = match.lastgroup, match.group()
    start, stop = match.span()
    trimmed = _TAIL.sub("", group)
    stop -= len(group) - len(trimmed)
    if kind == "url":
        return _url(group, start)
    if kind == "install":
        return Span(match.start("package"), stop, "identifier")
    if kind == "variable":
        return Span(match.start("env"), match.end("env"), "identifier") if match["env"].isupper() else None
    if kind in ("relative", "numbered") and (trimmed.startswith("-") or not is_file(trimmed.rpartition("/")[2])):
        return None
    if kind == "word" and not is_identifier(trimmed):
        return None
    return Span(start, stop - 2 * trimmed.endswith("()"), "identifier", _type(trimmed))


def _url(url: str, start: int) -> Span | None:
    host = _HOST.search(url)
    if host is None or not _OWN.search(host[1]):
        return None
    return Span(start + host.start(1), start + host.end(1), "identifier")


def _type(identifier: str) -> str | None:
    return "technology" if identifier.lower() in LANGUAGES else None


def _names_thing(code: str) -> bool:
    if not _PLAIN_CODE.match(code):
        return False
    bare = code.removesuffix("()").lower()
    if len(bare) < 3 or bare in _LITERALS or bare.lstrip(".") in EXTENSIONS or is_data(bare):
        return False
    return is_identifier(code) or not is_common(bare)
