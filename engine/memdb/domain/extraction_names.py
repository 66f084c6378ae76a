"""Which strings can be names of entities, and whether a text contains them. Pure and deterministic."""

from __future__ import annotations

import re
import unicodedata

from memdb.base.secrets import find_secrets
from memdb.base.text import expose_hidden, name_key

LONGEST_NAME = 40
"""Characters; longer strings are fragments of sentences."""

MOST_WORDS = 5
"""Words of a name."""

REDACTED = "[redacted:"
"""What `memdb.base.secrets.redact` leaves behind."""

_WRAPPING = "\"'`*“”‘’«»„"
_ABBREVIATION = re.compile(r"\s[^\W\d_]{1,4}\.$|(?:^|\W)(?:[^\W\d_]\.)+$")  # Inc., U.S., J. R. R.


def cleaned(name: str) -> str:
    """The name without what a model wraps around it: quotes, backticks, a leading @, a sentence's last mark."""
    name = " ".join(name.split())
    while len(name) > 1 and name[0] in _WRAPPING and name[-1] in _WRAPPING:
        name = name[1:-1].strip()
    name = name.lstrip("@ ").rstrip(",;:")
    if name.endswith(".") and not _ABBREVIATION.search(name):
        name = name.rstrip(".")
    return name.strip()


def unfit(name: str, *, single_letter: bool = False) -> str | None:
    """Why a cleaned string is no name, in one word, or None: hidden, secret, fragment, formula, letters.

    `single_letter` lets in names of one letter.
    """
    if expose_hidden(name) != name:
        return "hidden"
    if REDACTED in name or find_secrets(name):
        return "secret"
    if len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS:
        return "fragment"
    if is_formula(name):
        return "formula"
    if not has_letters(name, 1 if single_letter else 2):
        return "letters"
    return None


# A plane, a phone, a company, a chip: one letter with a number (3M, F-16, 5G, x86). `v2` and `x1` are versions and
# variables.
_CODE = re.compile(
    r"\d{1,3}[A-Z]|[A-Z]-?\d{1,4}[A-Z]?|[a-uw-z]\d{2,4}(?:[-_.]\d{1,3})?|[A-Za-z]\+\+(?:\d\d)?|[A-Z][#+*]"
)


def has_letters(name: str, least: int = 2) -> bool:
    """Whether a name has enough letters of any script, or is one of the known shapes with a single one."""
    return sum(char.isalpha() for char in name) >= least or _CODE.fullmatch(name) is not None


_FUNCTION = r"(?:sin|cos|tan|log|ln|exp|min|max|arg\s?max|arg\s?min|lim|sup|inf|var|cov|det|pr|softmax|erf|sqrt)"
_ALWAYS_MATH = re.compile(
    # relations and quantifiers; arrows and signs of multiplication only where no word stands beside them (below)
    r"[=≤≥≠≈≡∝∑∏∫∮∂∇√∞∈∉⊂⊆⊃∪∩∀∃∧∨¬⊕⊗ℝℕℤℂℚ^]"
    r"|[\U0001d400-\U0001d7ff]"  # letters styled for formulas
    r"|\\(?:frac|sum|int|prod|sqrt|mathbf|mathbb|mathcal|mathrm|text|left|right|cdot|times|infty|partial|nabla|hat|bar"
    r"|alpha|beta|gamma|delta|epsilon|theta|lambda|mu|pi|rho|sigma|tau|phi|psi|omega)(?![a-z])|\\[\[(]"
    r"|\$[^$]+\$"
    r"|(?<![^\W\d_])[^\W\d_][²³¹⁰⁴-⁹⁺⁻ⁿ]"
)
_ONE_LETTER_CALL = re.compile(r"[^\W\d_]'? ?\((?:[^\W\d_]|\d)?(?:\W+(?:[^\W\d_]{1,3}|\d+)\b)*[^\w()]{0,3}\)")
_FUNCTION_CALL = re.compile(rf"{_FUNCTION} ?\(.*[\d,+*/ -].*\)|{_FUNCTION} ?\(\w?\)", re.IGNORECASE)
_SUBSCRIPT = re.compile(r"[^\W\d_]_(?:\{[^}]*\}|\w{1,2})")
_DERIVATIVE = re.compile(r"d[a-z]/d[a-z]|d[²2]?[a-z]/d[a-z][²2]?")
_OPERATOR = re.compile(r"\s*[+*/·×÷±<>→−-]\s*")
_OPERAND = re.compile(r"\d*[^\W\d_]?\d*(?:_\w{1,2})?|\d+(?:[.,]\d+)?|\d*[a-z]{2}")
_VARIABLES = re.compile(r"[a-z](?:(?:, ?| | and )[a-z])+")
_LOWER_OPERAND = re.compile(r"\d*[a-zα-ω]?|\d+(?:[.,]\d+)?")
_GREEK = re.compile(r"[Α-Ωα-ω]")


def is_formula(name: str) -> bool:
    """Whether a string is a piece of a formula (`x^2`, `f(x)`, `2x + 1`, `W_q`, `Δt`) rather than a name."""
    if _ALWAYS_MATH.search(name):
        return True
    if any(shape.fullmatch(name) for shape in (_ONE_LETTER_CALL, _FUNCTION_CALL, _SUBSCRIPT, _DERIVATIVE, _VARIABLES)):
        return True
    letters = [char for char in name if char.isalpha()]
    if _GREEK.search(name) and len(letters) <= 2 and any(not _GREEK.match(char) for char in letters):
        return len(name) <= 3
    return _is_arithmetic(name)


def _is_arithmetic(name: str) -> bool:
    """Operators between single letters and numbers. `C++`, `I/O`, `F-16`, `x86-64`, `R2-D2` are none."""
    body = name.replace("++", "").strip(" ()")
    operands = _OPERATOR.split(body)
    filled = [operand.strip("() ") for operand in operands]
    if len(filled) < 2 or not any(char.isalpha() for char in body) or not all(filled):
        return False
    if not all(_OPERAND.fullmatch(operand) for operand in filled):
        return False
    if all(sum(char.isalpha() for char in operand) > 1 for operand in filled):  # two letters each: words
        return False
    if " " in body or "+" in body or any(sign in body for sign in "·×÷±<>→−"):
        return True
    # Without spaces, capitals and numbers are names (N/A, B-52, M*A*S*H); lower-case letters are variables.
    return all(_LOWER_OPERAND.fullmatch(operand) for operand in filled)


_SEPARATORS = re.compile(r"[\s_\-‐‑‒–—―]+")
# Scripts that write words without spaces between them, and Korean, whose particles stick to the name.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(f"[^\\W_{_UNSPACED}]")


class Occurrences:
    """A text prepared for asking which names it contains."""

    def __init__(self, text: str) -> None:
        self._text = _comparable(text)
        # The text without what may stand between the letters of a name, and where each of its characters was.
        parts = [(found.start(), found.group()) for found in re.finditer(r"[^\s_\-‐‑‒–—―]+", self._text)]
        self._squeezed = "".join(part for _, part in parts)
        self._places = [at for start, part in parts for at in range(start, start + len(part))]

    def has(self, name: str) -> bool:
        """Whether the text contains the name as whole words, whatever the case, the spaces and the hyphens in it."""
        body = _SEPARATORS.sub("", _comparable(name))
        at = self._squeezed.find(body) if body else -1
        while at >= 0:
            if self._is_whole(body, self._places[at], self._places[at + len(body) - 1] + 1):
                return True
            at = self._squeezed.find(body, at + 1)
        return False

    def _is_whole(self, body: str, start: int, stop: int) -> bool:
        if _WORD.match(body[0]) and start and _WORD.match(self._text[start - 1]):
            return False
        if not _WORD.match(body[-1]):
            return True
        # `C` is not in `C++` or `C#`.
        following = self._text[stop : stop + 2]
        is_other = len(body) == 1 and (following == "++" or following.startswith("#"))
        return not (following and _WORD.match(following)) and not is_other


def _comparable(text: str) -> str:
    key = name_key(text).replace("’", "'").replace("ʼ", "'")
    if key.isascii():
        return key
    return "".join(char for char in key if unicodedata.category(char) != "Cf")
