"""How text becomes searchable words, so that SQLite's own FTS5 tokenizer finds every script and identifier.

The full-text columns use `TOKENIZE`, which every SQLite has, so the file stays readable by any program.
What that tokenizer gets wrong is put right before it sees the text, in the same way for what is stored and
for what is asked:

- It keeps letters and numbers (Unicode L*, N*, Co) and splits at everything else, so scripts without spaces
  become one endless token: their runs are cut into overlapping pairs.
- It splits at combining marks (M*), which shatters Devanagari or Thai words: such marks become private-use
  letters, except where they are optional (accents, Hebrew points, Arabic vowel signs), where they go.
- It loses `++`, `#` and emoji, and keeps `KubeNodeNotReady` or `v1.2.3` in pieces that nobody types:
  `identifier_parts` adds words for these, meant for a column of their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import apsw

TOKENIZE = "porter unicode61 remove_diacritics 2"
"""The value of the `tokenize` option of every full-text table in the store."""

WORD_CAP = 64
"""Longest word kept, in characters: longer ones are encoded data, and FTS5 stems nothing beyond 64 bytes."""

QUERY_WORD_LIMIT = 64
"""Most words taken from one query: a pasted page is asked by its beginning, at a bounded cost."""

QUERY_CAP = 65_536
"""Most characters of a query that are read at all: more than the longest question and a pasted page."""

# Articles, pronouns, auxiliaries, question words, prepositions and conjunctions: the words of a question that
# say nothing about its subject. No noun, no plain verb and no adjective is among them.
_FUNCTION_WORDS = """
a an the this that these those some any all each every more most much many other own same no not nor
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs one
who whom whose what which when where why how whether
am is are was were be been being do does did doing done have has had having
can could shall should will would may might must ought
and or but if then than so because while although though unless until
of in on at by for with without from to into onto about as over under between through during before after
there here just also too very only even such both either neither again ever
please tell let s t re ve ll don didn doesn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain
"""

STOPWORDS = frozenset(_FUNCTION_WORDS.split())
"""English words without a subject of their own, folded; `content_words` leaves them out of a query."""

# Written in capitals inside ordinary text, these are names (the IT team, the CAN bus), not function words.
_ACRONYMS = frozenset({"IT", "US", "WHO", "CAN", "MAY"})

# Marks are moved up by this much, into the private-use planes, which unicode61 counts as letters.
_MARK_SHIFT = 0xF0000
_MARKS = "\U000f0000-\U0010fffd"

# Marks that readers leave out or that only decorate: accents that NFKC could not compose, Hebrew points,
# Arabic and Syriac vowel signs, variation selectors, tone marks of East Asian text.
_OPTIONAL_MARKS = tuple(
    range(first, last + 1)
    for first, last in (
        (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F),
        (0x0670, 0x0670), (0x06D6, 0x06ED), (0x0711, 0x0711), (0x0730, 0x074A), (0x0898, 0x089F),
        (0x08CA, 0x08FF), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF),
        (0x302A, 0x302F), (0x3099, 0x309A), (0xFE00, 0xFE2F), (0xE0100, 0xE01EF),
    )
)  # fmt: skip

# Spellings that are swapped when people type: letters without a decomposition, which unicode61 therefore
# keeps apart, the Greek accents it does not know, Arabic alef forms, and the many apostrophes.
_SPELLINGS = {
    ord(letter): plain
    for letters, plain in (
        ("‘’‛ʼʻ′", "'"), ("ß", "ss"), ("ẞ", "SS"), ("æ", "ae"), ("Æ", "AE"), ("œ", "oe"), ("Œ", "OE"),
        ("ø", "o"), ("Ø", "O"), ("ł", "l"), ("Ł", "L"), ("đð", "d"), ("ĐÐ", "D"), ("þ", "th"), ("Þ", "Th"),
        ("ħ", "h"), ("Ħ", "H"), ("ı", "i"), ("ё", "е"), ("Ё", "Е"), ("ά", "α"), ("έ", "ε"), ("ή", "η"),
        ("ίϊΐ", "ι"), ("ό", "ο"), ("ύϋΰ", "υ"), ("ώ", "ω"), ("Ά", "Α"), ("Έ", "Ε"), ("Ή", "Η"), ("ΊΪ", "Ι"),
        ("Ό", "Ο"), ("ΎΫ", "Υ"), ("Ώ", "Ω"), ("أإآٱ", "ا"), ("ـ", ""),
    )
    for letter in letters
}  # fmt: skip


# Two regional letters make a flag; skin tones only vary the sign before them.
_EMOJI = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u2600-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f0ff\U0001f170-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_FLAG_LETTER = "[\U0001f1e6-\U0001f1ff]"
_ONE_EMOJI = re.compile(f"[{_EMOJI}]")
_ONE_FLAG_LETTER = re.compile(_FLAG_LETTER)


class _Folding(dict[int, "int | str | None"]):
    """A table for `str.translate` that works out each code point when it first meets it."""

    def __missing__(self, code: int) -> int | str | None:
        folded = self[code] = self._fold(code)
        return folded

    @staticmethod
    def _fold(code: int) -> int | str | None:
        category = unicodedata.category(chr(code))
        if code == 0 or category in ("Cs", "Cf"):  # invisible: NUL, lone surrogates, joiners, bidi controls
            return None
        if category in ("Mn", "Mc", "Me"):
            optional = category == "Me" or any(code in marks for marks in _OPTIONAL_MARKS)
            return None if optional else chr(code + _MARK_SHIFT)
        if category == "Co":  # icon fonts; FTS5 would take them for letters of the word beside them
            return " "
        # The same holds for what SQLite's tables do not know, which end with Unicode 6.1: later emoji and
        # unassigned code points. What Python's older table knows is surely known there.
        if category[0] in "CPSZ" and unicodedata.ucd_3_2_0.category(chr(code)) == "Cn":
            sign = chr(code)
            if _ONE_EMOJI.match(sign):
                return f" {sign} "
            return code if _ONE_FLAG_LETTER.match(sign) else " "
        return code


_FOLDING = _Folding(_SPELLINGS)

# Sorting a long row of combining marks, as NFKC does, takes time that grows with its square.
_MARK_FLOOD = re.compile(r"([^\w\s\x00-\x7f]{32})[^\w\s\x00-\x7f]+")

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3105-\u312f\u31a0-\u31bf"
# Letters only: unicode61 deals well with the digits and the punctuation of these scripts.
_SOUTH_EAST_ASIA = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17b3\u17d7\u17dc"
    "\u1950-\u1974\u1980-\u19c9\u1a20-\u1a54\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa80-\uaadd"
)
_UNSPACED = f"{_HAN}{_HANGUL}{_KANA}{_SOUTH_EAST_ASIA}"
_RUN = re.compile(f"[{_UNSPACED}][{_UNSPACED}{_MARKS}]*")
_MARK = re.compile(f"[{_MARKS}]")
_UNIT = re.compile(f"[{_UNSPACED}][{_MARKS}]*")
# One Chinese character or Korean syllable is often a whole word; one kana or Thai letter hardly ever is.
_SYLLABLE = re.compile(f"[{_HAN}{_HANGUL}]")

_LONG_ASCII = re.compile(rf"(?<![0-9A-Za-z])([0-9A-Za-z]{{{WORD_CAP}}})[0-9A-Za-z]+")
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
_LONG = re.compile(rf"(?<![^\W_])(?<![{_MARKS}])({_LETTER}{{{WORD_CAP}}}){_LETTER}+")
_LONG_CHUNK = re.compile(rf"(?<!\S)\S{{{WORD_CAP + 1},}}")
_WORD = re.compile(rf"{_LETTER}+")
_WORD_ASCII = re.compile(r"[0-9A-Za-z]+")

_MARKED = (
    rf"(?P<plus>(?<![^\W_])[A-Za-z][0-9A-Za-z]{{0,{WORD_CAP}}})\+\+(?![A-Za-z+])"
    rf"|(?P<sharp>(?<![^\W_])[A-Za-z])\#(?![A-Za-z_#])"
    rf"|(?P<dotnet>\.NET|(?<![\w.])\.[Nn]et)(?![^\W_])"
    rf"|(?P<emoji>{_FLAG_LETTER}{{2}}|[{_EMOJI}])"
)
_MARKER = re.compile(_MARKED)
_SCAN = re.compile(rf"{_MARKED}|(?P<word>{_LETTER}+(?:'{_LETTER}+)*)")
_DOTTED = re.compile(r"(?<![0-9.])[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}(?![0-9])")
# A plural (APIs), capitals up to the one that starts the next piece (HTTPServer), a word, a number.
_PIECE_ASCII = re.compile(r"[A-Z]{2,}s$|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CONTRACTION_ENDS = frozenset({"t", "s", "re", "ve", "ll", "d", "m"})

# More changes between letters and digits, or between cases, than any name has: a hash or encoded data.
_MOST_PIECES = 7


def searchable(text: str) -> str:
    """The text as it goes into a full-text column: composed, folded, unspaced scripts cut into pairs.

    Characters that show nothing (NUL, lone surrogates, joiners) are gone, words are cut to `WORD_CAP`, and
    what is plain ASCII otherwise stays as written. Runs in linear time.
    """
    return _shortened(text if text.isascii() else _RUN.sub(_pairs, _folded(text)))


def identifier_parts(text: str) -> str:
    """Extra words for the same text, each once, that the tokenizer does not find in it by itself.

    Pieces of compound names (`KubeNodeNotReady`: kube node not ready; `x86`: 86), markers for what is lost
    (`C++`: cplusplus cpp; `C#`: csharp; `.NET`: dotnet; an emoji: its code point as `u1f680`), dotted numbers
    with their beginnings (`1.2.3`: 1dot2 1dot2dot3), and the single characters of Chinese and Korean runs.
    """
    extra: dict[str, None] = {}
    if not text.isascii():
        text = _folded(text)
        extra.update(dict.fromkeys(_SYLLABLE.findall(text)))
        text = _RUN.sub(" ", text)
    # No pattern reaches across a space, and most of a long text is repetition: each chunk is looked at once.
    text = " ".join(dict.fromkeys(_shortened(text).split()))
    # Most texts have none of these signs, and looking for the words before them is slow.
    if "++" in text or "#" in text or ".net" in text.casefold() or not text.isascii():
        for match in _MARKER.finditer(text):
            extra.update(dict.fromkeys(_markers(match)))
    for number in dict.fromkeys(_DOTTED.findall(text)):
        extra.update(dict.fromkeys(_dotted(number)))
    for word in dict.fromkeys((_WORD_ASCII if text.isascii() else _WORD).findall(text)):
        extra.update(dict.fromkeys(_pieces(word)))
    return " ".join(extra)


def query_words(query: str, limit: int = QUERY_WORD_LIMIT) -> list[str]:
    """The distinct words of any text that is asked for, in order of appearance, at most `limit`.

    They are raw words, not FTS5 syntax, cut as `searchable` and `identifier_parts` cut a stored text: give
    them to `stems` to get what the index holds. Text without a letter, a digit or an emoji has none.
    """
    words: dict[str, str] = {}
    for word in _scan(searchable(query[:QUERY_CAP])):
        words.setdefault(word.casefold(), word)
        if len(words) >= limit:
            break
    return list(words.values())


def content_words(words: Sequence[str]) -> list[str]:
    """The words that carry a query's subject: without `STOPWORDS`, unless there is nothing else.

    A name that only looks like one of them (`IT`, `US`) stays where the other words are not in capitals too.
    """
    shouted = all(word.isupper() for word in words)
    kept = [
        word
        for word in words
        if (word.casefold() not in STOPWORDS and "'" not in word) or (word in _ACRONYMS and not shouted)
    ]
    return kept or list(words)


def stems(connection: apsw.Connection, words: Iterable[str]) -> list[list[str]]:
    """For each word, the tokens that SQLite's own tokenizer makes of it; most have one, punctuation has none.

    The tokenizer is made anew on each call (about a microsecond): a kept one would outlive its connection.
    """
    name, *options = TOKENIZE.split()
    tokenizer = connection.fts5_tokenizer(name, options)
    flags = apsw.FTS5_TOKENIZE_QUERY
    found: list[list[str]] = []
    for word in words:
        tokens = tokenizer(word.encode("utf-8", "ignore"), flags, None, include_offsets=False)
        found.append([str(spelling) for spellings in tokens for spelling in spellings])
    return found


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", _MARK_FLOOD.sub(r"\1", text)).translate(_FOLDING)


def _shortened(text: str) -> str:
    if text.isascii():
        return _LONG_ASCII.sub(r"\1", text.replace("\0", ""))
    return _LONG_CHUNK.sub(lambda chunk: _LONG.sub(r"\1", chunk[0]), text)


def _pairs(run: re.Match[str]) -> str:
    units: Sequence[str] = _UNIT.findall(run[0]) if _MARK.search(run[0]) else run[0]
    if len(units) == 1:
        return f" {units[0]} "
    return f" {' '.join(map(str.__add__, units, units[1:]))} "


def _scan(prepared: str) -> Iterator[str]:
    # No pattern reaches across a space, so a chunk at a time keeps the words in order and the work bounded.
    for chunk in prepared.split():
        for match in _SCAN.finditer(chunk):
            if match["word"] is None:
                yield from _query_markers(match)
            else:
                for word in _without_apostrophes(match["word"]):
                    yield word
                    if "'" not in word:
                        yield from _pieces(word)
        for match in _DOTTED.finditer(chunk):
            yield from _dotted(match[0])


def _markers(match: re.Match[str]) -> Iterator[str]:
    if plus := match["plus"]:
        yield f"{plus.lower()}plusplus"
        if plus in "Cc":
            yield "cpp"
    elif sharp := match["sharp"]:
        yield f"{sharp.lower()}sharp"
    elif match["dotnet"]:
        yield "dotnet"
    elif emoji := match["emoji"]:
        yield "u" + "".join(f"{ord(sign):x}" for sign in emoji)


def _query_markers(match: re.Match[str]) -> Iterator[str]:
    # `C++` must not be answered by every text with a lone C, so the letter itself is not asked for.
    if (plus := match["plus"]) and len(plus) > 1:
        yield plus
    yield next(_markers(match))


def _without_apostrophes(word: str) -> list[str]:
    """What to ask for of `bot's` (bot), `l'homme` (homme); a contraction such as `don't` stays one word."""
    if "'" not in word:
        return [word]
    base, _, end = word.rpartition("'")
    if end.casefold() in _CONTRACTION_ENDS:
        if base.casefold() in STOPWORDS or (base.casefold().endswith("n") and end in "tT"):
            return [word]
        if end not in "tT":
            return _without_apostrophes(base)
    pieces = word.split("'")
    return [piece for piece in pieces if len(piece) > 1] or pieces


def _pieces(word: str) -> list[str]:
    """The pieces of a compound name, split where case or kind changes; single letters are left out."""
    if word.isdigit() or (word.isalpha() and (word[1:].islower() or word.isupper() or len(word) < 3)):
        return []
    pieces = _PIECE_ASCII.findall(word) if word.isascii() else _pieces_of_any_script(word)
    if not 1 < len(pieces) <= _MOST_PIECES:
        return []
    return [piece for piece in pieces if len(piece) > 1 or piece.isdigit()]


def _pieces_of_any_script(word: str) -> list[str]:
    # The rules of `_PIECE_ASCII`, for which `re` has no classes beyond ASCII.
    starts = [0]
    for at in range(1, len(word)):
        before, here, after = word[at - 1], word[at], word[at + 1 :]
        if (
            before.isdigit() != here.isdigit()
            or (before.islower() and here.isupper())
            or (before.isupper() and here.isupper() and after[:1].islower() and after != "s")
        ):
            starts.append(at)
    return [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]


def _dotted(number: str) -> list[str]:
    parts = number.split(".")
    return ["dot".join(parts[:count]) for count in range(2, len(parts) + 1)]
