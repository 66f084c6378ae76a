"""The commands schema, proposals, entities and conflicts, in the terminal and as JSON."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.answer_support import Answered, answer
from tests.cli_support import Answer, memdb

TEXTS = {
    "project/line.md": "Ada Wren of Corvin Works runs the line over MQTT.\n",
    "project/gate.md": "The gate speaks MQTT and Zigbee, says Ada Wren of Bree Labs.\n",
}
GROUPS = {
    "schema": ("list", "add", "describe", "disable", "enable", "delete"),
    "proposals": ("list", "approve", "dismiss", "restore"),
    "entities": ("list", "show"),
    "conflicts": ("list", "show", "resolve", "revert"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        world = Answered(tmp_path_factory.mktemp("made"), TEXTS)
        at_corvin = (("Ada Wren", "works_at", "Corvin Works"), ("Ada Wren", "speaks", "MQTT"))
        world.put(
            "project/line",
            answer(
                ("Ada Wren", "person"), ("Corvin Works", "organization"), ("MQTT", "protocol"),
                said=at_corvin, new_types={"protocol": "A wire\u200b protocol."},
            ),
        )  # fmt: skip
        world.put(
            "project/gate",
            answer(
                ("Ada Wren", "person"), ("Bree Labs", "organization"), ("MQTT", "protocol"), ("Zigbee", "vibe"),
                said=(("Ada Wren", "works_at", "Bree Labs", 0.8),),
            ),
        )  # fmt: skip
        world.store.close()
        yield world.root


@pytest.fixture
def root(made: Path, tmp_path: Path, no_model: None) -> Path:
    return Path(shutil.copytree(made, tmp_path / "root"))


def lines(result: Answer) -> list[str]:
    assert result.code == 0, result.err
    return [" ".join(line.split()) for line in result.out.splitlines()]


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in GROUPS.items() for name in names])
def test_every_command_has_help_with_an_example_and_the_place(group: str, name: str) -> None:
    shown = memdb(group, name, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert f"memdb {group} {name}" in shown.out.partition("Examples:\n")[2]
    assert "--json" in shown.out
    assert "--root" in shown.out
    assert f"\n  {name} " in memdb(group, "--help").out


def test_schema_lists_the_vocabulary(root: Path) -> None:
    listed = lines(memdb("schema", "--root", root))
    assert listed[0] == "NAME KIND STATE ORIGIN USES EVIDENCE RULE"
    assert listed[1] == "person type active system 1 2 A human being called by name, handle or full name."
    assert listed[14].startswith("works_at predicate active system 2 2")
    assert listed[14].endswith("(one object at a time)")
    assert lines(memdb("schema", "list", "--root", root)) == listed
    for words in (("schema", "--json"), ("--json", "schema", "list"), ("schema", "--json", "list")):
        entries = memdb(*words, "--root", root).json["entries"]
        assert len(entries) == 16
        assert entries[0] == {
            "kind": "type",
            "name": "person",
            "description": "A human being called by name, handle or full name.",
            "origin": "system",
            "state": "active",
            "single_letters": False,
            "single_valued": False,
            "uses": 1,
            "evidence": 2,
        }


def test_an_entry_is_added_changed_and_deleted(root: Path) -> None:
    at = ("--root", root)
    assert lines(memdb("schema", "add", "type", "Protocol", "-d", "A wire format.", *at)) == [
        "added type protocol (1 entity)"
    ]
    assert lines(memdb("schema", "describe", "type", "protocol", "-d", "Named formats.", *at)) == [
        "described type protocol (1 entity)"
    ]
    refused = memdb("schema", "delete", "type", "protocol", *at)
    assert (refused.code, refused.out) == (4, "")
    assert "hint: Disable it first: memdb schema disable type protocol" in refused.err
    assert lines(memdb("schema", "disable", "type", "protocol", *at)) == ["disabled type protocol (1 entity)"]
    entry = memdb("schema", "enable", "type", "protocol", "--json", *at).json["entry"]
    assert (entry["state"], entry["description"]) == ("active", "Named formats.")
    memdb("schema", "disable", "type", "protocol", *at)
    assert lines(memdb("schema", "delete", "type", "protocol", *at)) == ["deleted type protocol (1 entity)"]
    assert memdb("schema", "enable", "type", "protocol", *at).code == 3
    flagged = memdb("schema", "add", "predicate", "heads", "-d", "Leads it.", "--single-valued", "--json", *at)
    assert flagged.json["entry"]["single_valued"] is True
    missing = memdb("schema", "add", "type", "guild", "--json", *at)
    assert (missing.code, missing.json["error"]["code"]) == (2, "usage")


def test_proposals_are_listed_and_decided(root: Path) -> None:
    at = ("--root", root)
    assert lines(memdb("proposals", *at)) == [
        "NAME KIND STATE TEXTS EXAMPLES RULE",
        "protocol type pending 2 MQTT A wire<U+200B> protocol.",
    ]
    assert [line.split()[0] for line in lines(memdb("proposals", "--all", *at))] == [
        "NAME",
        "protocol",
        "vibe",
        "speaks",
    ]
    bad = memdb("proposals", "approve", "type", "protocol", *at)
    assert bad.code == 2
    assert "A wire<U+200B> protocol." in bad.err  # a model's rule with hidden characters is no rule yet
    done = memdb("proposals", "approve", "type", "protocol", "-d", "A wire protocol.", *at)
    assert lines(done) == ["approved type protocol (1 entity)"]
    assert lines(memdb("proposals", "dismiss", "type", "vibe", *at)) == ["dismissed type vibe"]
    shown = memdb("proposals", "list", "--state", "dismissed", "--json", *at).json["proposals"]
    assert shown == [
        {
            "kind": "type",
            "name": "vibe",
            "state": "dismissed",
            "texts": 1,
            "description": None,
            "examples": ["Zigbee"],
            "sources": ["project/gate"],
        }
    ]
    assert memdb("proposals", "approve", "type", "vibe", *at).code == 4
    assert lines(memdb("proposals", "restore", "type", "vibe", *at)) == ["restored type vibe (1 text asked for it)"]
    assert memdb("proposals", "restore", "type", "vibe", "--json", *at).json["error"]["code"] == "not_found"
    empty = memdb("proposals", *at)
    assert (empty.code, empty.out) == (0, "")
    assert "Nothing waits for a decision." in empty.err
    assert memdb("proposals", "--state", "open", *at).code == 2


def test_entities_are_listed_and_shown(root: Path) -> None:
    at = ("--root", root)
    listed = lines(memdb("entities", "--origin", "model", *at))
    assert listed[:2] == [
        "NAME TYPE MENTIONS MEMORIES DOCUMENTS RELATIONS KNOWN FROM ALIASES",
        "Ada Wren person 2 2 0 2 model",
    ]
    assert lines(memdb("entities", "list", "--type", "organization", "--sort", "name", *at))[1:] == [
        "Bree Labs organization 1 1 0 1 model",
        "Corvin Works organization 1 1 0 1 model",
    ]
    cut = memdb("entities", "--limit", "1", *at)
    assert len(lines(cut)) == 2
    assert "there are more; --limit 2" in cut.err
    shape = memdb("entities", "--limit", "1", "--json", *at).json
    assert (shape["more"], shape["entities"][0]["id"]) == (True, "entity:ada wren")
    assert memdb("entities", "--name", "xyz", *at).err == "No entity fits.\n"
    assert lines(memdb("entities", "show", "ADA wren", *at)) == [
        "Ada Wren entity:ada wren",
        "type person",
        "known from model",
        "mentioned by 2 memories, 0 documents",
        "relations",
        "Ada Wren works_at Bree Labs 0.80 project/gate",
        "Ada Wren works_at Corvin Works 0.90 project/line",
        "mentions",
        "project/gate Ada Wren model",
        "project/line Ada Wren model",
    ]
    assert memdb("entities", "show", "Ada Wren", "--json", *at).json["relations"][0]["object"] == "entity:bree labs"
    missing = memdb("entities", "show", "Ada Wrem", *at)
    assert missing.code == 3
    assert "hint: Did you mean ada wren?" in missing.err


def test_conflicts_are_listed_and_shown(root: Path) -> None:
    at = ("--root", root)
    [conflict] = memdb("conflicts", "--json", *at).json["conflicts"]
    assert lines(memdb("conflicts", *at)) == [
        "ID SUBJECT PREDICATE OBJECTS",
        f"{conflict['id']} Ada Wren works_at Bree Labs (1 text), Corvin Works (1 text)",
    ]
    assert lines(memdb("conflicts", "show", "Ada Wren", *at)) == [
        f"Ada Wren works_at {conflict['id']}",
        "Bree Labs",
        "project/gate 0.80",
        '"The gate speaks MQTT and Zigbee, says Ada Wren of Bree Labs."',
        "Corvin Works",
        "project/line 0.90",
        '"Ada Wren of Corvin Works runs the line over MQTT."',
    ]
    shown = memdb("conflicts", "show", conflict["id"], "--json", *at).json
    assert shown["sides"][0]["sources"][0]["quote"].startswith("The gate speaks")
    assert memdb("conflicts", "show", "nobody", *at).code == 3
    (root / "project/gate.md").unlink()
    assert memdb("conflicts", "list", *at).err == "No texts contradict one another.\n"


@pytest.mark.parametrize("words", [("schema",), ("proposals",), ("entities",), ("conflicts",), ("schema", "list")])
def test_without_a_store_there_is_nothing_to_list(words: tuple[str, ...], tmp_path: Path) -> None:
    answer_ = memdb(*words, "--root", tmp_path, "--json")
    assert (answer_.code, answer_.json["error"]["code"]) == (3, "not_found")
