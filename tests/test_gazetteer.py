"""Names that the store knows, found in a text: `gazetteer.find` and the rules for what may be found."""

from __future__ import annotations

import time
from collections.abc import Collection
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.domain.gazetteer import MAX_WORDS, Gazetteer, agrees, find, is_matchable, match_key, title_name, title_names


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("staging-database", "staging database"),
        ("Staging Database", "staging database"),
        ("staging_database", "staging database"),
        ("  staging  database\n", "staging database"),
        ("C", "c"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("Node.js", "node js"),
        ("St. Kilda's Head", "st kilda s head"),
        ("café", "café"),
        ("cafe\u0301", "café"),
        ("ＡＢＣ", "abc"),
        ("Straße", "strasse"),
        ("悬空引用", "悬 空 引 用"),
        ("東京 Tower", "東 京 tower"),
        ("서울역", "서 울 역"),
        ("हिन्दी", "हिन्दी"),
        ("", ""),
        (" -- ", ""),
    ],
)
def test_match_key(name: str, key: str) -> None:
    assert match_key(name) == key


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ran (film)", "Ran"),
        ("The Room (2003 film)", "The Room"),
        ("Backups [draft]", "Backups"),
        ("Backups （旧）", "Backups"),
        ("Norwood (town) river", "Norwood (town) river"),
        ("(untitled)", "(untitled)"),
        (" Vera ", "Vera"),
        ("", ""),
    ],
)
def test_title_name(title: str, name: str) -> None:
    assert title_name(title) == name


def test_a_title_whose_subject_is_a_common_word_is_known_by_the_whole() -> None:
    assert title_names("Possession (1922 film)") == ("Possession", "Possession (1922 film)")
    assert title_names("Swamp Lantern (film)") == ("Swamp Lantern",)
    assert title_names("Possession") == ("Possession",)
    assert title_names("It (a)") == ("It",)
    matches = Gazetteer(title_names("Possession (1922 film)")).find("a possession: Possession (1922 Film)")
    assert [match.key for match in matches] == ["possession 1922 film"]


@pytest.mark.parametrize(
    ("name", "matchable"),
    [
        ("Kubernetes", True),
        ("staging-database", True),
        ("deploy bot", True),
        ("C++", True),
        ("pg_hba.conf", True),
        ("IBM", True),
        ("k8s", False),
        ("x86-64", True),
        ("Vera Holt", True),
        ("The Pledge", True),
        ("Changed It", True),
        ("悬空", True),
        ("悬", False),
        ("C", False),
        ("R", False),
        ("the", False),
        ("Table", False),
        ("meetings", False),
        ("API", False),
        ("2024", False),
        ("12 30", False),
        ("of the", False),
        ("phase 2", False),
        ("", False),
        ("--", False),
        ("one two three four five six seven eight nine ten eleven", False),
    ],
)
def test_is_matchable(name: str, matchable: bool) -> None:
    assert is_matchable(name) is matchable


@pytest.mark.parametrize(
    ("name", "found", "same"),
    [
        ("Bramble", "Bramble", True),
        ("Bramble", "BRAMBLE", True),
        ("Bramble", "bramble", False),
        ("bramble", "Bramble", True),
        ("bramble", "bramble", True),
        ("IBM", "ibm", False),
        ("PostgreSQL", "postgresql", True),
        ("Staging Database", "staging-database", True),
        ("The Pledge", "the pledge", False),
        ("The Pledge", "the Pledge", True),
        ("Changed It", "Changed It", True),
        ("Changed It", "changed it", False),
        ("悬空引用", "悬空引用", True),
    ],
)
def test_upper_and_lower_case(name: str, found: str, same: bool) -> None:
    assert agrees(name, found) is same


@pytest.mark.parametrize(
    ("names", "text", "found"),
    [
        (
            ["staging-database"],
            "We use the Staging Database; its staging_database file.",
            ["Staging Database", "staging_database"],
        ),
        (["Vera", "Vera Holt", "Holt Bank"], "Vera Holt Bank and Vera met", ["Vera Holt", "Vera"]),
        (["Norwood"], "Norwoods are not Norwood's", ["Norwood"]),
        (["C++"], "C, C# and C++: only C++ counts", ["C++", "C++"]),
        (["pg_hba.conf"], "edit pg_hba.conf.", ["pg_hba.conf"]),
        (["Red Harbour"], "the Red\nHarbour, the Red-Harbour", ["Red\nHarbour", "Red-Harbour"]),
        (["Red Harbour"], "it is Red. Harbour is a town. Red\n\nHarbour! Red! Harbour", []),
        (["St Kilda"], "we saw St. Kilda", ["St. Kilda"]),
        (["Bramble"], "a bramble by Bramble", ["Bramble"]),
        (["悬空引用"], "重跑流程后悬空引用清零", ["悬空引用"]),
        (["서울"], "서울에서 만나요", ["서울"]),
        (["Łukasz Żak"], "spotkałem ŁUKASZ ŻAK", ["ŁUKASZ ŻAK"]),
        (
            ["King Eric XIV of Tarn", "Eric XIV of Tarn"],
            "He met King Eric XIV of Tarn.",
            ["King Eric XIV of Tarn", "Eric XIV of Tarn"],
        ),
        (
            ["Grand Duchess Olga Veldt", "Olga Veldt"],
            "Grand Duchess Olga Veldt",
            ["Grand Duchess Olga Veldt", "Olga Veldt"],
        ),
        (["Saint Kilda", "Kilda"], "on Saint Kilda", ["Saint Kilda"]),
        (["Prince Olga Island Club", "Olga Island"], "Prince Olga Island Club", ["Prince Olga Island Club"]),
        (["Red King Veldt", "King Veldt"], "the Red King Veldt", ["Red King Veldt"]),
        (["I Like Only You"], "I like only you, she sang in I Like Only You", ["I Like Only You"]),
        (["the", "Table", "C"], "the Table of C", []),
        (["Vera Holt"], "", []),
    ],
)
def test_names_are_found(names: list[str], text: str, found: list[str]) -> None:
    matches = Gazetteer(names).find(text)
    assert [match.name for match in matches] == found
    assert all(text[match.start : match.stop] == match.name for match in matches)


def test_known_is_asked_once_for_few_keys() -> None:
    asked: list[Collection[str]] = []

    def known(keys: Collection[str]) -> Collection[str]:
        asked.append(keys)
        return {"vera holt"} & set(keys)

    text = "we met Vera Holt by the river and talked about the long winter " * 5
    assert [match.key for match in find(text, known)] == ["vera holt"] * 5
    assert len(asked) == 1
    assert len(asked[0]) <= MAX_WORDS * len(text.split())


def test_starts_prunes_what_known_is_asked() -> None:
    asked: set[str] = set()

    def known(keys: Collection[str]) -> Collection[str]:
        asked.update(keys)
        return {"vera holt"} & set(keys)

    matches = find("we met Vera Holt by the river", known, lambda words: {"vera": 2})
    assert [match.key for match in matches] == ["vera holt"]
    assert asked == {"vera", "vera holt"}


def test_names_across_the_batches_of_a_long_text_are_found() -> None:
    gazetteer = Gazetteer(["Vera Maria Holt"])
    for words in range(4090, 4100):
        text = "x " * words + "Vera Maria Holt went"
        assert [match.start for match in gazetteer.find(text)] == [2 * words]


def test_a_name_added_later_is_found() -> None:
    gazetteer = Gazetteer()
    assert gazetteer.find("we met Vera Holt") == ()
    assert gazetteer.add("Vera Holt") is True
    assert gazetteer.add("the") is False
    assert [match.key for match in gazetteer.find("we met Vera Holt")] == ["vera holt"]


@pytest.mark.parametrize("names", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_hundred_thousand_names_and_a_long_text(names: int) -> None:
    gazetteer = Gazetteer(f"Zorqa{number} Blatt{number % 977}" for number in range(names))
    text = "the Zorqa17 Blatt17 of the Zorqa river, " * 5_000
    began = time.process_time()
    assert len(gazetteer.find(text)) == 5_000
    assert time.process_time() - began < 15


_WORDS = st.sampled_from(
    [
        "Vera",
        "Holt",
        "vera-holt",
        "C++",
        "C#",
        "悬空",
        "引用",
        "Bank",
        "of",
        ".",
        ", ",
        "\n\n",
        " ",
        "-",
        "é",
        "e\u0301",
        "ß",
    ]
)
_TEXTS = st.one_of(st.text(max_size=120), st.lists(_WORDS, max_size=30).map("".join))
_NAMES = st.lists(st.one_of(st.lists(_WORDS, min_size=1, max_size=4).map(" ".join), st.text(max_size=12)), max_size=8)


@given(_NAMES, _TEXTS)
def test_matches_stand_where_they_say_and_do_not_overlap(names: list[str], text: str) -> None:
    keys = {match_key(name) for name in names} - {""}
    matches = find(text, keys.__and__)
    for match in matches:
        assert text[match.start : match.stop] == match.name
        assert match.key in keys
        assert match_key(match.name) == match.key
    assert all(before.stop <= after.start for before, after in pairwise(matches))
    assert find(text, keys.__and__) == matches


@given(_NAMES, _TEXTS)
def test_the_longest_name_wins(names: list[str], text: str) -> None:
    keys = {match_key(name) for name in names} - {""}
    for match in find(text, keys.__and__):
        for key in keys:
            if key.startswith(f"{match.key} "):
                alone = find(text[match.start :], {key}.__and__)
                assert not alone or alone[0].start > 0


@given(_NAMES, _TEXTS)
def test_starts_changes_no_answer(names: list[str], text: str) -> None:
    keys = {match_key(name) for name in names} - {""}
    reach: dict[str, int] = {}
    for key in keys:
        first = key.split(" ")[0]
        reach[first] = max(reach.get(first, 0), len(key.split(" ")))
    assert find(text, keys.__and__, lambda words: reach) == find(text, keys.__and__)


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd", "Zs", "Pd"]), max_size=60))
def test_a_key_is_the_key_of_itself(name: str) -> None:
    assert match_key(match_key(name)) == match_key(name)


@given(st.text(max_size=60))
def test_a_matchable_name_is_found_in_itself(name: str) -> None:
    if is_matchable(name):
        key = match_key(name)
        assert agrees(name, name)
        found = find(name, {key}.__and__)
        assert found == () or found[0].key == key
