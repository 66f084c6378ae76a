"""How a name is written, for comparing it with others: its words, signs and numbers, and shorter forms of it.

Two names can only be one thing where `may_be_one` says so: `Opus 4.7` and `Opus 4.8`, `C#` and `C`, `x86` and `x64`,
`gpt-4` and `gpt-4o` never are, however alike they look.
"""

from __future__ import annotations

import re
import unicodedata
from unicodedata import category

from memdb.domain.names_words import CALENDAR, PEOPLES, is_common

_LEGAL_FORMS_WORDS = """
inc incorporated ltd limited llc llp lp plc corp corporation co company gmbh ag kg se sa sas sarl srl spa bv nv oy oyj
ab as asa aps pty pte kk
"""
LEGAL_FORMS = frozenset(_LEGAL_FORMS_WORDS.split())
"""What the law has a company add to its name, folded."""

TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "doctor", "prof", "professor", "sir", "dame"})
"""What stands before the name of a person, folded."""

KINDS = frozenset({"project", "app", "application", "framework", "library", "programming", "language", "software"})
"""What kind of thing a name is of; some writers alone say it: `Lantern`, `Project Lantern`."""

_MAKERS_WORDS = "apache gnu microsoft google amazon aws ibm oracle adobe mozilla jetbrains"
MAKERS = frozenset(_MAKERS_WORDS.split())
"""Makers whom some writers alone put before the names of their products: `Kafka`, `Apache Kafka`."""

_ABBREVIATIONS_WORDS = """
lab:laboratory labs:laboratory laboratories:laboratory univ:university dept:department inst:institute intl:international
assn:association assoc:association natl:national govt:government mgmt:management mt:mount ft:fort bros:brothers
jr:junior sr:senior db:database repo:repository config:configuration admin:administrator env:environment
postgres:postgresql js:javascript ts:typescript docs:documentation spec:specification specs:specification
"""
ABBREVIATIONS = dict(pair.split(":") for pair in _ABBREVIATIONS_WORDS.split())
"""Words that some write short, folded, with what they are short for."""

ARTICLES = frozenset({"the", "a", "an"})

CONNECTIVES = frozenset({"of", "and", "the", "for", "in", "on", "to", "de"})
"""Words that an acronym leaves out, or not."""

# What stands on one side of these is not what stands on the other.
_ORDERING = frozenset({"vs", "from", "by", "with", "at", "ibn", "bin", "ben"})

_ROMAN_WORDS = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
ROMAN = {numeral: str(value) for value, numeral in enumerate(_ROMAN_WORDS.split(), 1)}

FEWEST_LEFT_OUT = 4
"""Letters for which the number stands in `k8s` (8) or `i18n` (18)."""

LONGEST_ACRONYM = 6
"""Letters of a word in capitals that stands for several: longer ones are shouted."""

_WORD = re.compile(r"[^\W_]+(?:\+\+|#)?")
_MARKED_WORD = re.compile(r"[^\s+#]+(?:\+\+|#)?")
_DIGITS = re.compile(r"\d+")
# What may open a name that has the same letters and is another thing: a hidden file, a flag, a variable, a path.
_PATH = re.compile(r"[/\\]")
_OPENING = re.compile(r"\s*([.~$<_]|-{1,2}(?=\w))")
_NUMERONYM = re.compile(r"([a-z])([4-9]|[12][0-9])([a-z])")
_POSSESSIVE = re.compile(r"['’]s\b")
_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ`](?=\w)")
_BRACKETS = re.compile(r"\s*\(([^()]+)\)\s*\Z")
_IDENTIFIER = re.compile(r"[./\\_:()]")
_DOTTED = re.compile(r"(?:\w\.)+\w?\.?")

# Letters with a stroke or a ligature, which Unicode does not take apart.
_LATIN = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h", "ı": "i"})
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})

ALPHABETIC_END = "\u0530"
"""Latin, Greek and Cyrillic lie below: in other scripts one other sign is another word."""


class Shape:
    """A name as written, and what is compared of it.

    `written` has its words with their capitals, without signs but `++` and `#` at their end; `words` has them folded,
    `squashed` their letters and digits alone. `is_identifier` says whether it has signs of files, paths and code
    inside: what is added to such a name makes another thing.
    """

    __slots__ = ("is_identifier", "name", "squashed", "words", "written")

    def __init__(self, name: str) -> None:
        self.name = name
        cleaned = _cleaned(name)
        self.written = _words(cleaned)
        if cleaned.isascii():
            self.words = tuple(word.lower() for word in self.written)
        else:
            self.words = tuple(unicodedata.normalize("NFKC", word.casefold()) for word in self.written)
        self.squashed = "".join(self.words)
        self.is_identifier = _is_identifier(name.strip())

    @property
    def openings(self) -> tuple[str, ...]:
        """The signs that make another thing of it, or of a part of a path: `.env`, `$HOME`, `--force`, `_init`."""
        found = [_OPENING.match(part) for part in _PATH.split(self.name)]
        return tuple(one[1] if one else "" for one in found)

    @property
    def runs(self) -> tuple[str, ...]:
        """The digits, as they stand together: `1.11` has two runs, `11.1` has two others."""
        return tuple(_DIGITS.findall(_cleaned(self.name)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The words with digits and the Roman numerals after the first word, sorted."""
        return tuple(sorted(word for word in self.in_figures if any(map(str.isdigit, word))))

    @property
    def in_figures(self) -> tuple[str, ...]:
        """The words with Roman numerals as figures: `World War II` is `world war 2`."""
        return tuple(
            ROMAN.get(folded, folded) if index and word.isupper() else folded
            for index, (word, folded) in enumerate(zip(self.written, self.words, strict=True))
        )

    @property
    def is_acronym(self) -> bool:
        word = self.written[0]
        return len(self.written) == 1 and 3 <= len(word) <= LONGEST_ACRONYM and word.isalpha() and word.isupper()

    @property
    def has_initial(self) -> bool:
        """Whether a given name is cut to its letter: `J. Smith`, `John F. Kennedy`."""
        return len(self.words) > 1 and any(len(word) == 1 and word.isalpha() for word in self.words[:-1])


def _cleaned(name: str) -> str:
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    if "'" in name or "’" in name or "ʼ" in name or "`" in name:
        name = _APOSTROPHE.sub("", _POSSESSIVE.sub("s", name))
    return name.replace("&", " and ")


def _words(cleaned: str) -> tuple[str, ...]:
    if cleaned.isascii():
        return tuple(_WORD.findall(cleaned))
    # Vowel signs belong to the word, and no pattern of `re` knows them.
    kept = (char if char.isalnum() or char in "+#" or category(char)[0] == "M" else " " for char in cleaned)
    return tuple(_MARKED_WORD.findall("".join(kept)))


def _is_identifier(name: str) -> bool:
    return " " not in name and _IDENTIFIER.search(name.strip(".")) is not None and not _DOTTED.fullmatch(name)


def may_be_one(a: Shape, b: Shape) -> bool:
    """Whether nothing in how two names are written says that they are two things: signs, numbers, versions."""
    if a.openings != b.openings or _signs(a) != _signs(b):
        return False
    return a.runs == b.runs if a.squashed == b.squashed else a.numbers == b.numbers


def _signs(shape: Shape) -> list[str]:
    return sorted(word for word in shape.words if word[-1] in "+#")


def spellings(name: str) -> list[str]:
    """A name, and its two halves where it explains an acronym in brackets: `Natural Language Processing (NLP)`."""
    found = _BRACKETS.search(name)
    if not found or not (outer := name[: found.start()].strip()):
        return [name]
    inner = found[1].strip()
    for short, long in ((inner, outer), (outer, inner)):
        if Shape(short).squashed in acronyms(Shape(long), fewest=2):
            return [name, outer, inner]
    return [name]


def acronyms(shape: Shape, *, fewest: int = 3) -> set[str]:
    """The first letters of the words, with and without the connectives; none of fewer than `fewest` telling words."""
    telling = [word for word in shape.words if word not in CONNECTIVES]
    if len(telling) < fewest or shape.is_identifier or not all(len(word) > 1 and word.isalpha() for word in telling):
        return set()
    if any(folded in ROMAN and word.isupper() for word, folded in zip(shape.written, shape.words, strict=True)):
        return set()
    return {"".join(word[0] for word in telling), "".join(word[0] for word in shape.words)}


def numeronym(shape: Shape) -> tuple[str, str, str] | None:
    """The first letter, the number of letters left out and the last letter, of a name like `k8s`, or of a long word."""
    word = shape.squashed if len(shape.words) == 1 else ""
    found = _NUMERONYM.fullmatch(word)
    if found:
        return found[1], found[2], found[3]
    if len(word) - 2 >= FEWEST_LEFT_OUT and word.isascii() and word.isalpha():
        return word[0], str(len(word) - 2), word[-1]
    return None


def without_accents(squashed: str) -> str:
    """Latin and Greek letters without their accents; in other scripts the marks are letters."""
    if squashed.isascii():
        return squashed
    kept = []
    for char in unicodedata.normalize("NFC", squashed).translate(_LATIN):
        base = unicodedata.normalize("NFD", char)[0]
        kept.append(base if base.isascii() or "\u0370" <= base < "\u0400" else char)
    return "".join(kept)


def unaccented(shape: Shape) -> str:
    """The letters without accents."""
    return without_accents(shape.squashed)


def transcribed(shape: Shape) -> str:
    """The letters with umlauts written out, as in `Mueller`."""
    return shape.squashed if shape.squashed.isascii() else without_accents(shape.squashed.translate(_GERMAN))


def in_figures(shape: Shape) -> str:
    """The letters with Roman numerals as figures."""
    return shape.squashed if ROMAN.keys().isdisjoint(shape.words) else "".join(shape.in_figures)


def without_article(shape: Shape) -> str:
    """The letters without a leading article; a common word needs it to be a name (`The Band`)."""
    rest = shape.words[1:] if shape.words[0] in ARTICLES else shape.words
    return "" if not rest or (len(rest) == 1 and is_common(rest[0])) else "".join(rest)


def singular(shape: Shape) -> str:
    """The letters with the last word in the singular; empty where it cannot be a plural or its singular."""
    last, folded = shape.written[-1], shape.words[-1]
    if len(folded) < 3 or not folded.isalpha() or shape.is_identifier or folded in CALENDAR or folded in PEOPLES:
        return ""
    # Of an acronym a small s alone makes a plural: LLMs, not AWS; and it is no plural of a word.
    short = last[:-1] if last.endswith("s") else last
    if len(short) > 1 and short.isupper():
        return "".join(shape.words[:-1]) + short
    stem = folded
    if folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        if folded.endswith("ies") and len(folded) > 4:
            stem = folded[:-3] + "y"
        elif folded.endswith(("ches", "shes", "sses", "xes")):
            stem = folded[:-2]
        else:
            stem = folded[:-1]
    return "".join(shape.words[:-1]) + stem if len(stem) >= 3 else ""


def in_order(shape: Shape) -> str:
    """The words sorted, without `of`: `University of Oxford`, `Oxford University`; empty where their order tells."""
    words = [word for word in shape.words if word not in ("of", "the")]
    if len(words) < 2 or CONNECTIVES.intersection(words) or _ORDERING.intersection(words):
        return ""
    return " ".join(sorted(words))


def without_legal_form(shape: Shape) -> str:
    """The letters without the legal form at the end; a common word needs it to be a name."""
    words = shape.words
    while " " in shape.name and len(words) > 1 and words[-1] in LEGAL_FORMS:
        words = words[:-1]
    return "" if len(words) == 1 and is_common(words[0]) else "".join(words)


def written_out(shape: Shape) -> str:
    """The letters with abbreviations written out: `Harrowgate Labs`, `Harrowgate Laboratories`."""
    words = [ABBREVIATIONS.get(word, word) for word in shape.words]
    # A saint stands before a name; behind one it is a street.
    first = "saint" if words[0] == "st" and len(words) > 1 else words[0]
    return "".join((first, *words[1:]))


def without_title(shape: Shape) -> str:
    """The letters without the title of a person at the beginning, where two words are left (`Mr. Olympia`)."""
    words = shape.words
    while len(words) > 2 and words[0] in TITLES:
        words = words[1:]
    return "".join(words)


def without_kind(shape: Shape) -> str:
    """The letters without the word for the kind of thing, where a telling word is left."""
    words = () if shape.is_identifier else shape.words
    if len(words) > 1:
        while len(words) > 1 and words[-1] in KINDS:
            words = words[:-1]
        words = words[1:] if len(words) > 1 and words[0] in KINDS else words
    return "" if all(len(word) < 4 or is_common(word) for word in words) else "".join(words)


def without_maker(shape: Shape) -> str:
    """The letters without the maker before them, where a telling word is left."""
    words = shape.words[1:] if len(shape.words) > 1 and shape.words[0] in MAKERS else shape.words
    return "" if all(len(word) < 4 or is_common(word) for word in words) else "".join(words)
