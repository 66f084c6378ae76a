"""The gate before the model: text that is mostly formulas has no names to find and is not sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

MATH_SHARE = 0.5
"""Share of the visible characters that formulas must take for a text to count as formulas."""

LEAST_MATH = 24
"""Characters of formulas below which a text is never held back: two short equations."""

_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_BEGIN = re.compile(
    r"\\begin\{((?:equation|align|gather|multline|eqnarray|[bpvBV]?matrix|array|cases|split|math|displaymath)\*?)\}"
)
_DOLLARS = re.compile(r"\$\$[^$]{1,4000}\$\$")
# As pandoc reads it: no space inside the dollars, no digit behind them; nor what would begin a shell variable.
_INLINE = re.compile(r"\$(?! )([^$\n]{1,300})(?<! )\$(?![\w{(])")
_INLINE_MARK = re.compile(r"[\\^=<>+|]|(?<![^\W\d_])[^\W\d_](?:_|$|[^\w])")

_STRONG = "∑∏∫∮∂∇√∞∈∉⊂⊆∪∩∀∃≡∝⊗⊕ℝℕℤℂ∘"
# Letters that Unicode has for formulas alone.
_STYLED = "\U0001d400-\U0001d7ff"
_UNICODE_MATH = re.compile(f"[{_STRONG}{_STYLED}]")
_LATEX = re.compile(r"\\[a-zA-Z]{2,}")
_LATEX_MARK = re.compile(r"[=<>^_{&]")
_BRACED = re.compile(r"[_^]\{")
_PATH = re.compile(r"(?:^|[\s\"'(])(?:[A-Za-z]:|\\)\\\w")
_TOKEN = re.compile(r"\\[a-zA-Z]+|[^\W\d_]+|\d+(?:[.,:/-]\d+)*|\S")
_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "log", "ln", "exp", "min", "max", "lim", "sup", "inf", "det", "dim", "ker", "arg", "argmax"}
    | {"argmin", "var", "cov", "mod"}
)
# What stands in source code, data and logs, and not in a formula.
_CODE_MARK = re.compile(
    r"[;\"'`#@?]|==|!=|[-+*/%|&]=|->|=>|::|//|\*\*|&&|\|\||\w\.\w|\)\s*:\s*$|[A-Za-z0-9)]\s*\*\s*[A-Za-z0-9(]"
    r"|\^_|_\^|\^\^|<3"  # faces
)
_RELATION = re.compile(r"[=<>≤≥≈≠]|(?<=\w)\^")


def skip_reason(text: str) -> Literal["math-dense"] | None:
    """Why a text is not sent to a model, or None. Code, logs, tables, ledgers and prose of any language are sent."""
    rest = _CODE_SPAN.sub(" ", _FENCE.sub(" ", text))
    other = _visible(text) - _visible(rest)
    code = rest
    rest = _without(_without(_without_environments(rest), "\\[", "\\]"), "\\(", "\\)")
    rest = _INLINE.sub(_unless_math, _DOLLARS.sub(" ", rest))
    math = _visible(code) - _visible(rest)
    for line in rest.splitlines():
        if _is_formula_line(line):
            math += _visible(line)
        else:
            other += _visible(line)
    return "math-dense" if math >= LEAST_MATH and math >= MATH_SHARE * (math + other) else None


def _unless_math(match: re.Match[str]) -> str:
    return " " if _INLINE_MARK.search(match.group(1)) else match.group()


LONGEST_SPAN = 20_000
"""Characters of one formula in LaTeX; what is longer is not closed."""


def _without(text: str, opening: str, closing: str) -> str:
    """The text without the spans between two marks. Regular expressions would take quadratic time here."""
    return _cut(text, ((at, closing) for at in _positions(text, opening)))


def _without_environments(text: str) -> str:
    return _cut(text, ((match.start(), f"\\end{{{match.group(1)}}}") for match in _BEGIN.finditer(text)))


def _positions(text: str, mark: str) -> Iterator[int]:
    at = text.find(mark)
    while at >= 0:
        yield at
        at = text.find(mark, at + len(mark))


def _cut(text: str, openings: Iterable[tuple[int, str]]) -> str:
    parts: list[str] = []
    position = 0
    closings: dict[str, int] = {}  # where each mark stands next, so that it is looked for once
    for at, closing in openings:
        if at < position:
            continue
        end = closings.get(closing, -2)
        if end != -1 and end < at:
            end = closings[closing] = text.find(closing, at)
        if end == -1 or end - at > LONGEST_SPAN:
            continue
        parts += [text[position:at], " "]
        position = end + len(closing)
    return "".join([*parts, text[position:]])


def _visible(text: str) -> int:
    return len("".join(text.split()))


def _is_formula_line(line: str) -> bool:
    """Whether a line is a formula: a relation between variables, and nearly no words."""
    line = line.strip().rstrip(".,")
    unicode_math = not line.isascii() and _UNICODE_MATH.search(line) is not None
    command = _LATEX.search(line) is not None and _LATEX_MARK.search(line) is not None and not _PATH.search(line)
    latex = command or _BRACED.search(line) is not None
    if not (unicode_math or latex or _RELATION.search(line)):
        return False
    if _CODE_MARK.search(line) and not (unicode_math or latex):
        return False
    variables = words = 0
    for token in _TOKEN.findall(line):
        if (
            token.startswith("\\")
            or (len(token) == 1 and token.isalpha())
            or "Α" <= token[0] <= "ω"
            or _is_styled(token[0])
        ):
            variables += 1
        elif token[0].isalpha() and token.lower() not in _FUNCTIONS and not _is_product(token):
            words += len(token)
        elif token[0].isalpha():
            variables += 1
    needed = 1 if unicode_math or latex else 3
    return variables >= needed and words < 0.3 * _visible(line)


def _is_styled(char: str) -> bool:
    """Whether Unicode has a letter for formulas alone."""
    return 0x1D400 <= ord(char) <= 0x1D7FF


def _is_product(token: str) -> bool:
    """Two small letters: `mx`, `dt`; in a line of words they change nothing."""
    return len(token) == 2 and token.islower()
