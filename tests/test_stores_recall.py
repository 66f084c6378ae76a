"""A recall over several stores: each answers alone, one list comes of it, and what is wrong with one harms no other."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memdb as package
from memdb.base import named
from memdb.base.place import Place
from memdb.errors import NotFound, UsageError
from memdb.services.recall.answers import Arm, Filters, Hit, Recall
from memdb.services.recall.merging import UNLIKE, combined, merge
from memdb.serving.server import Server
from memdb.store import Store
from memdb.stores import Stores, open_all
from tests.cli_support import make, memdb, write
from tests.fake_embedder import FakeEmbedder

WORK = {
    "user__kettle": "---\ndescription: The kettle at work\n---\nThe kettle of the office is red.\n",
    "project__deploy": "We deploy on Tuesdays by the script ship.\n",
}
HOME = {
    "user__kettle": "The kettle of the kitchen is blue, and small.\n",
    "reference__boiler": "The boiler is serviced in May.\n",
}


@pytest.fixture
def two(tmp_path: Path, no_model: None) -> Path:
    """Two named stores, work and home, in a folder; both have a user/kettle."""
    for name, files in (("work", WORK), ("home", HOME)):
        named.add(name, make(tmp_path / name, **files))
    return tmp_path


def pairs(answer: Recall) -> list[tuple[str | None, str]]:
    return [(hit.store, hit.id) for hit in answer.hits]


# Merging


def hit(key: str, score: float) -> Hit:
    return Hit(key, "memory", score, key, "user", "", f"{key}.md", (), {}, score, (), (), False)


def answer(*hits: tuple[str, float], model: str | None = None, notes: tuple[str, ...] = ()) -> Recall:
    vector = Arm("on", len(hits), None, model) if model else Arm("off", 0, "Embeddings are switched off.")
    return Recall("q", [hit(*one) for one in hits], {"vector": vector}, notes=list(notes))


@pytest.mark.parametrize(
    ("answers", "limit", "merged", "by"),
    [
        ({}, 8, "", "scores"),
        ({"b": answer(), "a": answer()}, 8, "", "scores"),
        ({"b": answer(("x", 0.9), ("y", 0.2)), "a": answer(("z", 0.5))}, 8, "b:x a:z b:y", "scores"),
        ({"b": answer(("x", 0.9), ("y", 0.2)), "a": answer(("z", 0.5))}, 2, "b:x a:z", "scores"),
        # Equal scores: the stores by name, and in each its own order.
        ({"b": answer(("p", 0.5), ("q", 0.5)), "a": answer(("r", 0.5), ("s", 0.5))}, 8, "a:r a:s b:p b:q", "scores"),
        # A store's own order stands, also where its scores do not fall.
        ({"a": answer(("x", 0.3), ("y", 0.9)), "b": answer(("z", 0.5))}, 8, "b:z a:x a:y", "scores"),
        ({"a": answer(("x", 0.3), model="m"), "b": answer(("z", 0.5), model="m")}, 8, "b:z a:x", "scores"),
        ({"a": answer(("x", 0.1), ("y", 0.1), model="m"), "b": answer(("z", 0.9))}, 8, "a:x b:z a:y", "ranks"),
        ({"a": answer(("x", 0.1), model="m"), "b": answer(("z", 0.9), model="n")}, 8, "a:x b:z", "ranks"),
        # Who has no hits does not decide how those of others are merged.
        (
            {"a": answer(("x", 0.1), model="m"), "b": answer(("z", 0.9), model="m"), "c": answer()}, 8,
            "b:z a:x", "scores",
        ),
    ],
)  # fmt: skip
def test_one_list_comes_of_several(answers: dict[str, Recall], limit: int, merged: str, by: str) -> None:
    hits, how = merge(answers, limit)
    assert " ".join(f"{hit.store}:{hit.id}" for hit in hits) == merged
    assert how == by


SCORES = st.lists(st.sampled_from([0.1, 0.3, 0.3, 0.9]), max_size=5)
LISTS = st.dictionaries(st.sampled_from("abcd"), st.tuples(SCORES, st.sampled_from([None, "m", "n"])))


@hypothesis.settings(deadline=None, max_examples=60, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@given(LISTS, st.integers(1, 12))
def test_a_stores_part_is_its_own_list_whatever_is_beside_it(
    lists: dict[str, tuple[list[float], str | None]], limit: int
) -> None:
    answers = {
        name: answer(*((f"{name}{place}", score) for place, score in enumerate(scores)), model=model)
        for name, (scores, model) in lists.items()
    }
    merged, _ = merge(answers, limit)
    assert len(merged) == min(limit, sum(len(one.hits) for one in answers.values()))
    for name, one in answers.items():
        part = [hit.id for hit in merged if hit.store == name]
        assert part == [hit.id for hit in one.hits][: len(part)]
    assert merge(dict(reversed(answers.items())), limit)[0] == merged


def test_an_answer_says_what_it_is_made_of() -> None:
    found = combined(
        "q",
        {"b": answer(("x", 0.9), model="m", notes=("1 text is not embedded yet.",)), "a": answer(("z", 0.5))},
        {"c": ("busy", "Another process holds it.")},
        {"a": "/a", "b": "/b", "c": "/c"},
        8,
    )
    assert found.notes == [
        "c: Another process holds it.",
        "a: the vector arm is off: Embeddings are switched off.",
        "b: 1 text is not embedded yet.",
        UNLIKE,
    ]
    assert [(one.store, one.path, one.error, one.hits) for one in found.stores] == [
        ("a", "/a", None, 1),
        ("b", "/b", None, 1),
        ("c", "/c", "busy", 0),
    ]
    assert found.arms["vector"] == Arm("on", 1, None, "m")


# Stores


def test_hits_say_which_store_they_are_of(two: Path) -> None:
    with open_all() as stores:
        found = stores.recall("kettle")
        assert {pair for pair in pairs(found)} == {("work", "user/kettle"), ("home", "user/kettle")}
        assert found.merged_by == "scores"
        block = stores.prompt_block(found)
        assert "- [user/kettle] The kettle at work (store work)\n\n  The kettle of the office is red.\n" in block
        assert "- [user/kettle] kettle (store home)\n\n  The kettle of the kitchen is blue, and small.\n" in block
        assert pairs(stores.recall("kettle", stores=["WORK"])) == [("work", "user/kettle")]
        assert pairs(stores.recall("kettle", limit=1)) == pairs(found)[:1]
        assert stores.prompt_block(stores.recall("kettle"), 10) == ""


def test_a_stores_ranking_does_not_change_with_the_others(tmp_path: Path) -> None:
    model = FakeEmbedder()
    texts = {
        f"user__n{number}": f"The lamp of room {number} is green since {number + 3} May.\n" for number in range(12)
    }
    for name, files in (("work", WORK | texts), ("home", HOME), ("lab", texts)):
        with Store.init(write(tmp_path / name, **files), embedder=model) as store:
            store.sync()
        named.add(name, tmp_path / name)

    def make_store(place: Place) -> Store:
        return Store(place, model)

    alone = {}
    for name in ("work", "home", "lab"):
        with Store(named.find(name).place, model) as store:
            alone[name] = store.recall("which lamp is green since May", limit=100).hits
    assert alone["lab"]
    for names in (["work"], ["lab", "work"], ["home", "lab", "work"]):
        with Stores({name: named.find(name).place for name in names}, make=make_store) as stores:
            found = stores.recall("which lamp is green since May", limit=100)
        for name in names:
            assert [replace(hit, store=None) for hit in found.hits if hit.store == name] == alone[name]


def test_stores_of_different_models_take_turns_and_it_is_said(tmp_path: Path) -> None:
    models = {"a": FakeEmbedder("one@1"), "b": FakeEmbedder("two@1"), "c": FakeEmbedder("one@1")}
    for name, model in models.items():
        root = write(tmp_path / name, user__one=f"The lamp is green in {name}.\n", user__two="The lamp is off.\n")
        with Store.init(root, embedder=model) as store:
            store.sync()
        named.add(name, root)

    def make_store(place: Place) -> Store:
        return Store(place, models[place.root.name])

    with Stores({name: named.find(name).place for name in models}, make=make_store) as stores:
        found = stores.recall("green lamp")
        assert [pair[0] for pair in pairs(found)] == ["a", "b", "c", "a", "b", "c"]
        assert (found.merged_by, found.notes[-1]) == ("ranks", UNLIKE)
        alike = stores.recall("green lamp", stores=["a", "c"])
        assert (alike.merged_by, alike.notes) == ("scores", [])


def test_what_is_wrong_with_one_store_harms_no_other(two: Path) -> None:
    for name in ("gone", "damaged", "broken", "replaced"):
        named.add(name, make(two / name, **HOME))
    (two / "gone").rename(two / "elsewhere")
    (two / "damaged/.memdb/memory.db").write_bytes(b"no database" * 1000)
    (two / "broken/.memdb/config.toml").write_text("id = \n", encoding="utf-8")
    (two / "replaced").rename(two / "away")
    make(two / "replaced", **WORK)
    with open_all() as stores:
        found = stores.recall("kettle")
    # The damaged one is built anew from its files; the others are said.
    assert sorted(pairs(found)) == [(name, "user/kettle") for name in ("damaged", "home", "work")]
    assert {one.store: one.error for one in found.stores} == {
        "broken": "unreadable",
        "damaged": None,
        "gone": "not_found",
        "home": None,
        "replaced": "not_found",
        "work": None,
    }
    said = " | ".join(found.notes)
    for part in ("damaged: The database was rebuilt", "gone: There is no store any more", "replaced: Another store"):
        assert part in said


def test_a_store_that_went_since_it_answered_is_left_out_of_the_block_and_named(two: Path) -> None:
    with open_all() as stores:
        found = stores.recall("kettle")
        assert found.notes == []
    (two / "home").rename(two / "home-gone")
    with open_all() as stores:
        block = stores.prompt_block(found)
        assert "(store work)" in block
        assert "(store home)" not in block
        [note] = found.notes
        assert note.startswith("home: its texts are left out of the block. There is no store any more")


def test_with_no_store_left_nothing_is_raised(two: Path) -> None:
    for name in ("work", "home"):
        (two / name).rename(two / f"{name}-gone")
    with open_all() as stores:
        found = stores.recall("kettle")
        assert (found.hits, found.empty_because, len(found.notes)) == ([], "no_store", 2)
        assert stores.prompt_block(found) == ""


def test_what_fits_no_store_is_raised(two: Path) -> None:
    with open_all() as stores:
        with pytest.raises(UsageError):
            stores.recall("kettle", limit=0)
        with pytest.raises(UsageError):
            stores.recall("kettle", filters=Filters(since="never"))
        with pytest.raises(NotFound):
            stores.recall("kettle", stores=["nowhere"])
    with pytest.raises(NotFound) as error:
        open_all(["work", "nowhere"])
    assert error.value.hint == "There are home, work."


def test_filters_hold_in_each_store_and_an_unknown_document_is_a_note(two: Path) -> None:
    guide = two / "guide.txt"
    guide.write_text("The kettle is descaled with vinegar.\n", encoding="utf-8")
    with Store(named.find("home").place) as store:
        store.add([guide])
    with open_all() as stores:
        found = stores.recall("kettle", filters=Filters(document=str(guide)))
        assert pairs(found) == [("home", f"document:{guide.as_posix()}#1")]
        assert [one.error for one in found.stores] == [None, "not_found"]
        assert pairs(stores.recall("kettle boiler", filters=Filters(types=("reference",)))) == [
            ("home", "reference/boiler")
        ]


def test_folders_and_names_may_be_mixed(two: Path) -> None:
    make(two / "lab/notes", **HOME)
    make(two / "flat/notes", **HOME)
    with open_all(["work", two / "lab/notes", two / "flat/notes", two / "work", str(two / "home")]) as stores:
        assert stores.names == ("work", "notes", str(two / "flat/notes"), "home")
        assert {store for store, _ in pairs(stores.recall("kettle", limit=20))} == set(stores.names)


def test_a_name_that_is_given_meanwhile_takes_no_folder_over(two: Path) -> None:
    make(two / "notes", user__lamp="The lamp is green.\n")
    with open_all([two / "notes", "work"]) as stores:
        named.add("notes", two / "home")
        assert pairs(stores.recall("lamp kettle", stores=["notes"])) == [("notes", "user/lamp")]


def test_a_store_with_two_names_is_asked_once(two: Path) -> None:
    named.add("also-work", two / "work")
    with open_all() as stores:
        assert stores.names == ("also-work", "home")
    with open_all(["work", "also-work"]) as stores:
        assert stores.names == ("work",)


def test_without_named_stores_all_of_them_are_none() -> None:
    with pytest.raises(NotFound) as error:
        open_all()
    assert "memdb stores add" in str(error.value.hint)


def test_the_package_has_it(two: Path) -> None:
    with package.open_all(["work"]) as stores, stores.use("work") as store:
        assert isinstance(stores, package.Stores)
        assert [memory.id for memory in store.list()] == ["user/kettle", "project/deploy"]


# The command


def test_the_table_has_a_column_of_stores(two: Path) -> None:
    lines = memdb("recall", "kettle", "--store", "work", "--store", "home").out.splitlines()
    assert sorted(re.split("  +", line)[1:3] for line in lines) == [["home", "user/kettle"], ["work", "user/kettle"]]
    assert memdb("recall", "kettle", "--all-stores").out.splitlines() == lines
    # One store by its name is a recall like any other.
    assert memdb("recall", "kettle", "--store", "work") == memdb("recall", "kettle", "--root", two / "work")


def test_json_and_prompt_name_the_store(two: Path) -> None:
    found = memdb("recall", "kettle", "--all-stores", "--json").json
    assert {hit["store"] for hit in found["hits"]} == {"work", "home"}
    assert (found["merged_by"], [one["store"] for one in found["stores"]]) == ("scores", ["home", "work"])
    assert memdb("recall", "kettle", "--store", "work", "--json").json["hits"][0]["store"] is None
    block = memdb("recall", "kettle", "--all-stores", "--format", "prompt").out
    assert block.count("(store work)") == block.count("(store home)") == 1
    missing = memdb("recall", "moon", "--all-stores", "--json").json
    assert missing["empty_because"] == "arm_off"
    assert missing["empty_message"].startswith("Nothing found. home: ")


def test_a_missing_store_is_a_remark_and_the_exit_code_is_0(two: Path) -> None:
    (two / "home").rename(two / "gone")
    answer = memdb("recall", "kettle", "--all-stores")
    assert (answer.code, "work  user/kettle" in answer.out) == (0, True)
    assert "note: home: There is no store any more at" in answer.err


@pytest.fixture
def warm_work(two: Path) -> Iterator[Server]:
    server = Server(named.find("work").place)
    server.start()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(30)
    server.close()


def test_warm_processes_are_asked_and_answer_the_same(two: Path, warm_work: Server) -> None:
    words = ("recall", "kettle deploy", "--all-stores", "--json")
    asked = memdb(*words)
    assert warm_work.answered == 1
    warm_work.place.served.rename(two / "aside.json")
    alone = memdb(*words)
    (two / "aside.json").rename(warm_work.place.served)
    assert (asked.code, json.loads(asked.out)) == (0, json.loads(alone.out))
    assert warm_work.answered == 1
