"""Shapes of words that are no prose: hosts, files, versions, words joined by signs, words with inner capitals."""

from __future__ import annotations

import re

from memdb.domain.names_words import is_common

# Endings of files that people name in prose.
_EXTENSIONS_WORDS = """
a aac apk asm asp aspx avi avif awk bak bash bat bib bin bmp bz2 c cc cer cert cfg class cljs cmake cmd conf config
cpp cr crt cs csproj css csv cxx d dart db deb desktop dll doc docx dmg dockerfile dot edn eml env eps epub erl ex exe
exs feature flac fs gif go gradle graphql gz h haml hpp hs htm html ico ics ini ino ipynb iso jar java jpeg jpg js
json jsonl jsx key kt kts less lib lisp lock log lua m m4 mak map md mdx mjs mk mkv ml mm mov mp3 mp4 mpg msi mts nim
nix node o obj odt ogg old org ova parquet patch pch pcap pdb pdf pem php pid pkl pl plist png po pp ppt pptx prefab
proj prop properties proto ps1 psd pub py pyc pyi pyx r rar rb rc rdf rkt rmd rpm rs rst rtf sass scala scm scss
service sh sln so socket sock sql sqlite sqlite3 srt svelte svg swift tar tex tf tfvars tgz tif tiff timer toml tpl ts
tsv tsx ttf txt vb vbs vcf vhd vim vue war wasm wav webm webp whl wmv woff woff2 xaml xcodeproj xhtml xls xlsm xlsx
xml xsd xsl xslt yaml yml zig zip zsh framework
"""
EXTENSIONS = frozenset(_EXTENSIONS_WORDS.split())
"""Endings of files that people name in prose, without the dot."""

# Ends of host names that are written without a scheme.
_TOP_LEVELS_WORDS = """
com net org io dev app ai edu gov mil co cloud tech info biz me tv xyz eu us uk de fr pl es it nl se no fi dk ch at be
cz ru ua jp cn kr in br au ca nz za mx internal intranet local localhost localdomain lan corp home example test
invalid arpa onion svc
"""
_TOP_LEVELS = frozenset(_TOP_LEVELS_WORDS.split())

LANGUAGES = frozenset({"c++", "c#", "f#", ".net", "asp.net", "node.js"})
"""Names with signs in them that mean one technology, folded."""

_DATA = re.compile(r"[0-9a-f]{7,}|[0-9a-f]{4,}(?:-[0-9a-f]{4,})+", re.I)
_VERSION = re.compile(r"[vV]?\d[\d.]*[a-z]?\d*")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_LETTERS_THEN_DIGITS = re.compile(r"[A-Za-z]{2,}\d{1,4}[A-Za-z]{0,2}")
_QUARTER = re.compile(r"(?:Q|H|FY|CY|P|v|V|No|Ch|Fig|Vol|pp)\d{1,4}")
_DECADE = re.compile(r"\d{2,4}s")
# A name with its version: python3.11, jQuery-1.11.1, bge-small-en-v1.5.
_RELEASE = re.compile(r"[A-Za-z]{2,}(?:-[A-Za-z]+)*-?v?\d+(?:\.\d+){1,4}(?:-[A-Za-z0-9]+)*")
_DOT_FILE_ENDS = ("rc", "ignore", "env", "profile", "attributes", "keep", "config")
# Longer words without a space are encoded data.
_LONGEST = 64


def is_identifier(word: str) -> bool:
    """True when a word's shape says that it is no word of prose: `pg_hba.conf`, `fastAPI`, `llama-3-8b`, `C++`."""
    bare = word.removesuffix("()")
    if bare.isalpha() and bare[1:].islower():
        return bare != word and len(bare) > 2
    if not 2 <= len(bare) <= _LONGEST or is_data(bare):
        return False
    return (bare != word and len(bare) > 2) or any(has_shape(bare) for has_shape in _SHAPES)


def is_data(word: str) -> bool:
    """True for hashes, ids and version numbers, which name no thing."""
    return _DATA.fullmatch(word) is not None or _VERSION.fullmatch(word) is not None


def is_file(name: str) -> bool:
    """True for a file's name with an ending that is known."""
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem) and ending.lower() in EXTENSIONS


def _is_scoped(word: str) -> bool:
    return "::" in word


def _has_signs(word: str) -> bool:
    return word.lower() in LANGUAGES or (word.endswith(("++", "#")) and len(word) <= 4 and word.rstrip("+#").isalpha())


def _is_snake(word: str) -> bool:
    return "_" in word.strip("_") and any(letter.isalpha() for letter in word)


def _is_release(word: str) -> bool:
    return _RELEASE.fullmatch(word) is not None


def _is_camel(word: str) -> bool:
    if len(word) < 4 or not word.isalnum() or _PLURAL_ACRONYM.fullmatch(word):
        return False
    return _CAMEL.search(word) is not None and sum(letter.islower() for letter in word) >= 2


def _is_dotted(word: str) -> bool:
    parts = word.lstrip(".").split(".")
    if not all(parts):
        return False
    if word.startswith("."):
        return len(parts) == 1 and parts[0].endswith(_DOT_FILE_ENDS)
    if len(parts) < 2 or any(part.isdigit() or _DATA.fullmatch(part) for part in parts):
        return False
    if all(len(part) <= 2 for part in parts):
        return False
    return _is_address(word, parts) or _is_member(word, parts)


def _is_address(word: str, parts: list[str]) -> bool:
    """True for a file, a host or a module: the last or the number of its parts says so."""
    last = parts[-1].lower()
    if len(parts[-2]) < 2:
        return False
    return last in EXTENSIONS or (word.islower() and (last in _TOP_LEVELS or len(parts) > 2))


def _is_member(word: str, parts: list[str]) -> bool:
    """True for something of an object or a module: "txScope.Complete", not "done.Then", which lacks a space."""
    if word.islower():
        return not all(is_common(part) for part in parts)
    if any(_is_camel(part) or "_" in part for part in parts):
        return True
    return word[0].isupper() and not any(len(part) < 3 or is_common(part.lower()) for part in (parts[0], parts[-1]))


def _has_number(word: str) -> bool:
    if "." in word or not any(letter.isdigit() for letter in word):
        return False
    parts = word.split("-")
    if _QUARTER.fullmatch(word) or not word[0].isalpha():
        return False
    if len(parts) == 1:
        return _LETTERS_THEN_DIGITS.fullmatch(word) is not None or _is_camel(word)
    if any(_DATA.fullmatch(part) or _DECADE.fullmatch(part) for part in parts):
        return False
    return (len(parts[0]) >= 2 or len(parts) > 2) and not all(part.isdigit() or is_common(part) for part in parts)


_SHAPES = (_is_camel, _is_snake, _has_signs, _is_scoped, _is_release, _is_dotted, _has_number)
