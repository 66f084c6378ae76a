"""Text that looks like a credential: where it is, what it is, and where to keep it instead.

Own patterns rather than a library's: on a labelled list of 316 credentials and 381 innocent texts, detect-secrets 1.5
finds 50 of them in a file and flags 34 (`python -m tests.bench.faults --only secrets`). It knows few of the newer
formats, and no password that only a sentence gives away.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from memdb.base import secret_patterns as shapes
from memdb.errors import MemdbError

PEM_REACH = 20_000
"""Characters between the two lines of a private key; an RSA key of 16,384 bits takes about 13,000."""

SHORTEST_PASSWORD = 6
LONGEST_TESTED = 128
SHORT_VALUE = 64
"""Characters: shorter values are no credentials; longer ones are judged by their start; longer refused ones
are not searched again for assignments inside."""

ADDRESS_REACH = 600
"""Characters before a signature in which its address begins."""

AWS_REACH = 200
"""Characters behind an AWS access key in which its secret key is looked for without a name."""


@dataclass(frozen=True, slots=True)
class Secret:
    """One credential: `text[start:end]`, on the 1-based `line` where it starts."""

    category: str
    start: int
    end: int
    line: int


def find_secrets(text: str) -> list[Secret]:
    """The credentials in `text`, in order and without overlap; time grows with the length of the text.

    Zero-width characters and full-width or mathematical letters do not hide one. Where two readings overlap,
    the whole stretch is one secret under the more specific category.
    """
    plain = _Plain(text)
    spans = sorted(set(_spans(plain.text)))
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            best = min(last, span, key=lambda one: one.rank)
            merged[-1] = _Span(last.start, max(last.end, span.end), best.rank, best.category)
        else:
            merged.append(span)
    found: list[Secret] = []
    line, counted = 1, 0
    for span in merged:
        start, end = plain.original(span.start), plain.original(span.end - 1) + 1
        line += len(_NEWLINE.findall(text, counted, start))
        counted = start
        found.append(Secret(span.category, start, end, line))
    return found


def redact(text: str) -> str:
    """`text` with each credential replaced by `[redacted: category]`."""
    parts: list[str] = []
    position = 0
    for secret in find_secrets(text):
        parts += [text[position : secret.start], f"[redacted: {secret.category}]"]
        position = secret.end
    return "".join([*parts, text[position:]])


def redact_error(error: MemdbError) -> None:
    """Redact what an error says: its words may be those of a person or an agent, and errors get into logs."""
    if find_secrets(error.message):
        error.message = redact(error.message)
        error.args = (error.message, *error.args[1:])
    if error.hint:
        error.hint = redact(error.hint)


def advice(category: str) -> str:
    """Where to keep a credential of this category instead of in a memory."""
    return _ADVICE.get(category, _KEEP_TOKEN)


_KEEP_TOKEN = (
    "Keep it in a password manager or the system keychain, and write down only where it is; revoke it if it was shared."
)
_KEEP_PROFILE = "Keep it in a named profile of the AWS CLI, and write down only the name of the profile."
_ADVICE = {
    "password": "Keep it in a password manager, and write down only the name of its entry there.",
    "password in a URL": "Write the address without the password, and keep that in a password manager or "
    "an environment variable.",
    "private key": "Keep it in a file that only you can read (such as ~/.ssh) or a key agent, and write down "
    "only its path.",
    "AWS access key": _KEEP_PROFILE,
    "AWS secret key": _KEEP_PROFILE,
}


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    start: int
    end: int
    rank: int  # 0 is the most specific reading
    category: str


class _Plain:
    """A text without invisible characters and styled letters, and the way back to the original positions."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        self._shifts = [0]
        parts: list[str] = []
        position = removed = 0
        for match in shapes.INVISIBLE.finditer(text):
            letter = unicodedata.normalize("NFKC", match.group())
            shown = letter if len(letter) == 1 and letter.isascii() else ""
            parts += [text[position : match.start()], shown]
            position = match.end()
            if not shown:
                removed += 1
                self._starts.append(position - removed)
                self._shifts.append(removed)
        self.text = "".join([*parts, text[position:]]) if parts else text

    def original(self, position: int) -> int:
        """The position in the original text of the character at `position` here."""
        return position + self._shifts[bisect_right(self._starts, position) - 1]


_PASSWORD_WORDS = frozenset({"passw", "passphrase", "pwd", "pw", "psk", "_pass", "userpass", "dbpass"})
_NEWLINE = re.compile(r"\r\n?|\n")


def _spans(text: str) -> Iterator[_Span]:
    yield from _private_keys(text)
    yield from _tokens(text)
    yield from _inner_tokens(text)
    lower = _lower(text)
    yield from _url_passwords(text)
    yield from _placed(text, lower)
    yield from _signatures(text, lower)
    yield from _authorizations(text, lower)
    yield from _assignments(text, lower)


def _lower(text: str) -> str:
    lower = text.lower()
    # One capital letter (U+0130) has two characters in lower case, which would move every position behind it.
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _positions(text: str, anchor: str) -> Iterator[int]:
    position = text.find(anchor)
    while position >= 0:
        yield position
        position = text.find(anchor, position + len(anchor))


def _private_keys(text: str) -> Iterator[_Span]:
    for position in _positions(text, "-----BEGIN "):
        header = shapes.PEM.match(text, position)
        if header is None:
            continue
        limit = min(header.end() + PEM_REACH, len(text))
        following = text.find("-----BEGIN ", header.end(), limit)
        footer = shapes.PEM_END.search(text, header.end(), following if following >= 0 else limit)
        lines = shapes.PEM_LINES.match(text, header.end(), limit)
        end = footer.end() if footer else lines.end() if lines else header.end()
        yield _Span(position, end, 0, "private key")


def _tokens(text: str) -> Iterator[_Span]:
    for rule in shapes.TOKEN_RULES:
        if rule.anchor not in text:
            continue  # of a hundred rules, nearly all, for nearly all texts
        reached = 0
        for position in _positions(text, rule.anchor):
            # A match inside one that was refused would only find a part of it.
            if position < reached or (position and _joins(text[position - 1], rule.anchor)):
                continue
            match = rule.pattern.match(text, position)
            if match is None:
                continue
            reached = match.end()
            value = match.group()[len(rule.anchor) :]
            if shapes.FILLER.fullmatch(value) or _is_wordy(value):
                continue
            if _is_wordy(value, strict=True) and shapes.PLACEHOLDER.search(value):
                continue
            yield _Span(position, match.end(), 1, rule.category)
            if rule.category == "AWS access key":
                for secret in shapes.AWS_SECRET.finditer(text, match.end(), match.end() + AWS_REACH):
                    if _mixed(secret.group()):
                        yield _Span(secret.start(), secret.end(), 1, "AWS secret key")


def _inner_tokens(text: str) -> Iterator[_Span]:
    for rule in shapes.INNER_RULES:
        for position in _positions(text, rule.anchor):
            after = rule.after.match(text, position + len(rule.anchor))
            before = rule.before.search(text, max(0, position - rule.reach), position) if after else None
            if after and before:
                yield _Span(before.start(), after.end(), 1, rule.category)
    for match in shapes.DISCORD.finditer(text):
        if _mixed(match.group()):
            yield _Span(match.start(), match.end(), 1, "Discord token")


def _placed(text: str, lower: str) -> Iterator[_Span]:
    """Credentials that nothing but their place tells: behind a command, in a cookie, in a file of passwords."""
    for command in shapes.COMMANDS:
        if command not in lower:
            continue
        for position in _positions(lower, command):
            match = shapes.COMMAND.match(text, position)
            if match and _is_real(match.group(1), is_password=True, certain=True):
                yield _Span(match.start(1), match.end(1), 5, "password")
    for position in _positions(lower, "cookie"):
        match = shapes.COOKIE.match(text, position)
        if match and _looks_random(match.group(1)[:LONGEST_TESTED], 16):
            yield _Span(match.start(1), match.end(1), 5, "session cookie")
    for match in shapes.DOCKER_AUTH.finditer(text):
        if _is_basic(match.group(1)):
            yield _Span(match.start(1), match.end(1), 5, "authorization header")
    for match in shapes.PGPASS.finditer(text):
        if _looks_random(match.group(1), 8):
            yield _Span(match.start(1), match.end(1), 5, "password")
    for match in shapes.SEED_PHRASE.finditer(text):
        if not shapes.NO_SEED.search(match.group(1)):
            yield _Span(match.start(1), match.end(1), 5, "seed phrase")


def _signatures(text: str, lower: str) -> Iterator[_Span]:
    """What lets anyone in who has the address."""
    for position in _positions(lower, "sig="):
        near = re.split(r"\s", lower[max(0, position - ADDRESS_REACH) : position + 4])
        address = near[-1]
        match = shapes.SIGNATURE.match(text, position + 4) if address.endswith(("?sig=", "&sig=")) else None
        if match and "://" in address and any(mark in address for mark in shapes.SIGNATURE_MARKS):
            yield _Span(match.start(1), match.end(), 5, "signed address")
    for position in _positions(lower, "x-amz-signature="):
        match = _HEX_SIGNATURE.match(text, position + len("x-amz-signature="))
        if match:
            yield _Span(match.start(), match.end(), 5, "signed address")


_HEX_SIGNATURE = re.compile(r"[a-fA-F0-9]{64}(?![A-Za-z0-9])")


_IN_DATA = frozenset(
    ("AKIA", "ASIA", "ABIA", "ACCA", "AIza", "dapi", "eyJ", "SG.", "EAA", "LTAI", "SK", "oy2", "AKCp", "ATBB", "pat")
)
"""Anchors so short that base64 data has them by chance."""


def _joins(before: str, anchor: str) -> bool:
    """Whether the character before a token makes it the inside of a longer word or of base64 data."""
    if before.isascii() and (before.isalnum() or before == "_"):
        return True
    return before in "+/" and anchor in _IN_DATA


def _url_passwords(text: str) -> Iterator[_Span]:
    for position in _positions(text, "://"):
        match = shapes.USERINFO.match(text, position)
        if match is None or not position or not text[position - 1].isalnum():
            continue
        password = match.group(1)
        if not shapes.PLACEHOLDER.search(password) and password.casefold() not in _NO_PASSWORDS:
            yield _Span(match.start(1), match.end(1), 2, "password in a URL")


_NO_PASSWORDS = frozenset({"password", "passwd"})
"""What stands for the password in the addresses of manuals."""


def _authorizations(text: str, lower: str) -> Iterator[_Span]:
    for position in _positions(lower, "authorization"):
        match = shapes.AUTHORIZATION.match(text, position)
        if match is None:
            continue
        scheme, value = (match.group(1) or "").lower(), match.group(2)
        real = _is_basic(value) if scheme == "basic" else _looks_random(value, 8)
        if real:
            yield _Span(match.start(2), match.end(2), 3, "authorization header")
    for position in _positions(lower, "bearer"):
        match = shapes.BEARER.match(text, position)
        if match and _looks_random(match.group(1), 16):
            yield _Span(match.start(1), match.end(1), 4, "authorization header")


def _is_basic(value: str) -> bool:
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and all(32 <= byte < 127 for byte in decoded)


def _assignments(text: str, lower: str) -> Iterator[_Span]:
    reached = 0
    for word in shapes.CREDENTIAL_WORD.finditer(lower):
        if word.start() < reached:
            continue
        found = _assigned(text, word.start(), word.end())
        if found is None:
            said = _said(text, word.start(), word.end())
            if said is not None:
                yield said
                reached = said.end
            continue
        start, end, quoted, certain = found
        value = text[start:end]
        is_password = word.group() in _PASSWORD_WORDS
        if _is_real(value[:LONGEST_TESTED], is_password, certain):
            aws = len(value) == 40 and "aws" in lower[max(0, word.start() - 8) : word.start()]
            category = "password" if is_password else "AWS secret key" if aws else "secret value"
            yield _Span(start, end, 5, category)
            reached = end
        elif end - start > SHORT_VALUE and not quoted:
            # Without this, `token=token=…` would read the same stretch once for each of its words.
            following = text.find("&", start, end)
            reached = end if following < 0 else following


def _assigned(text: str, start: int, end: int) -> tuple[int, int, bool, bool] | None:
    """`(start, end, quoted, certain)` of what is assigned to the key with the word `text[start:end]`."""
    option = _option_value(text, start, end)
    if option is None:
        rest = shapes.KEY_REST.match(text, end)
        operator = shapes.OPERATOR.match(text, rest.end()) if rest else None
        if rest is None or operator is None or _is_harmless(text[start : rest.end()]):
            return None
        position, certain = operator.end(), "=" in operator.group()
    else:
        position, certain = option, True
    quoted = shapes.QUOTED.match(text, position)
    if quoted:
        begin, finish = quoted.span(quoted.lastindex or 0)
        if text[finish - 1] == "\\":  # JSON inside a string
            finish -= 1
        return (begin, finish, True, True) if finish > begin else None
    bare = shapes.BARE.match(text, position)
    if bare is None:
        return None
    # A mark at the end of `Winter2024!` is part of it, one behind a word ends the sentence.
    marks = ".,;:?)]}*\\&" if _has_digit(bare.group()) else ".,;:!?)]}*\\&"
    finish = position + len(bare.group().rstrip(marks))
    return (position, finish, False, certain) if finish > position else None


def _said(text: str, start: int, end: int) -> _Span | None:
    """A credential in a sentence, `the api key is VALUE` or `password VALUE`: the value alone has to tell."""
    rest = _WORD_REST.match(text, end)
    position = rest.end() if rest else end
    link = shapes.IS.match(text, end) or shapes.BESIDE.match(text, position)
    bare = shapes.BARE.match(text, link.end()) if link else None
    if bare is None:
        return None
    value = bare.group().rstrip(".,;:?)]}*\\")
    if len(value) < 8 or len(value) > LONGEST_TESTED or not _has_digit(value) or not any(c.isalpha() for c in value):
        return None
    if _is_stand_in(value) or shapes.CODE.search(value) or shapes.UUID.match(value) or _is_wordy(value, strict=True):
        return None
    if _ALGORITHM.match(value) or not (_is_hex(value) or _is_jumbled(value)):
        return None
    is_password = text[start:end].lower() in _PASSWORD_WORDS
    return _Span(bare.start(), bare.start() + len(value), 6, "password" if is_password else "secret value")


_WORD_REST = re.compile(r"[A-Za-z]{0,4}(?![A-Za-z0-9])")
"""The rest of a word that `CREDENTIAL_WORD` begins, such as the end of `passwords`."""


def _is_hex(value: str) -> bool:
    return len(value) in (32, 48, 64) and all(c in "0123456789abcdef" for c in value)


def _is_jumbled(value: str) -> bool:
    """Whether a value has a mark that passwords have, or changes between letters and digits as no word does."""
    if any(c in "!#$%^&*+?~=" for c in value[:-1]):
        return True
    kinds = ["d" if c.isdecimal() else "u" if c.isupper() else "l" if c.islower() else "-" for c in value]
    return sum(a != b for a, b in pairwise(kinds)) * 2 >= len(value)


def _option_value(text: str, start: int, end: int) -> int | None:
    """Where the value of a command line option `--…password VALUE` starts."""
    before = max(text.rfind(" ", max(0, start - 30), start), text.rfind("\n", max(0, start - 30), start))
    if not text.startswith("--", before + 1):
        return None
    match = shapes.OPTION.match(text, end)
    return match.end() if match else None


def _is_harmless(key: str) -> bool:
    words = shapes.KEY_WORD.findall(key)
    return bool(words) and shapes.HARMLESS_KEY.match(words[-1].lower()) is not None


def _is_real(value: str, is_password: bool, certain: bool) -> bool:
    """Whether an assigned value is a credential; `certain` for a quoted value or an `=`."""
    one_word = value.isalpha() and (value.islower() or value.istitle())
    if len(value) < SHORTEST_PASSWORD or " " in value or one_word:
        return False
    if _is_stand_in(value) or (not certain and shapes.RESOURCE_NAME.fullmatch(value)):
        return False
    if shapes.CODE.search(value) and not (is_password and certain and _mixed(value)):
        return False
    if is_password:
        return _is_password(value, certain)
    return not shapes.UUID.match(value) and _looks_random(value, 10 if certain else 12)


def _is_password(value: str, certain: bool) -> bool:
    letters = any(c.isalpha() for c in value)
    if _ALGORITHM.match(value):
        return False
    if _has_digit(value) and not set(value) & set("-_./:"):
        return letters or certain
    return letters and (any(c in "!@#$%^&*+?~=" for c in value) or not _is_words(value))


def _is_words(value: str) -> bool:
    return not _has_digit(value) or _is_wordy(value, strict=True)


_ALGORITHM = re.compile(r"(?:sha|md|base|utf|aes|rsa|hmac|argon|[bs]?crypt|pbkdf|oauth|utf-|[vp])\d", re.IGNORECASE)


def _is_stand_in(value: str) -> bool:
    return bool(shapes.PLACEHOLDER.search(value)) or len(set(value)) < 3


def _looks_random(value: str, shortest: int) -> bool:
    """Whether a value is long and mixed enough for a generated one, and neither words nor code."""
    if len(value) < shortest or " " in value or _is_stand_in(value) or shapes.CODE.search(value):
        return False
    if _has_digit(value) and any(c.isalpha() for c in value):
        return not _is_wordy(value, strict=True)
    # Letters alone: a generated value changes case far more often than words joined by capitals do.
    changes = sum(a.islower() != b.islower() for a, b in pairwise(value))
    return len(value) >= 20 and value.isascii() and changes * 3 >= len(value)


def _is_wordy(value: str, strict: bool = False) -> bool:
    """Whether a value is words joined by punctuation (`strict`: or short numbers)."""
    parts = [part for part in re.split(r"[-_./+:=@ ]", value) if part]
    if not strict:
        return all(part.isalpha() and len(part) <= 14 for part in parts)
    return all(shapes.WORD_PART.fullmatch(part) for part in parts)


def _has_digit(value: str) -> bool:
    return any(c.isdecimal() for c in value)


def _mixed(value: str) -> bool:
    return _has_digit(value) and any(c.islower() for c in value) and any(c.isupper() for c in value)
