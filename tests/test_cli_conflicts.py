"""The commands conflicts, resolve and revert, in the terminal and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_support import Answer, make, memdb

PORTS = {
    "reference__ports": "---\ncreated: 2026-01-01\n---\nThe deploy port is 8080.\n",
    "project__deploy": "---\ncreated: 2026-03-01\n---\nThe deploy port is 9090.\n",
}


@pytest.fixture
def root(tmp_path: Path, no_model: None) -> Path:
    return make(tmp_path / "root", **PORTS)


def lines(answer: Answer) -> list[str]:
    return [" ".join(line.split()) for line in answer.out.splitlines()]


def test_a_conflict_is_listed_shown_settled_and_taken_back(root: Path) -> None:
    at = ("--root", root)
    [conflict] = memdb("conflicts", "--json", *at).json["conflicts"]
    key = conflict["id"]
    assert lines(memdb("conflicts", *at)) == [
        "ID SUBJECT PREDICATE OBJECTS",
        f'{key} memories project/deploy "The deploy port is 9090.", reference/ports "The deploy port is 8080."',
    ]
    assert lines(memdb("conflicts", "show", "project/deploy", *at)) == [
        f"memories {key}",
        "project/deploy",
        '"The deploy port is 9090."',
        "reference/ports",
        '"The deploy port is 8080."',
    ]
    hits = memdb("recall", "deploy port", *at)
    assert f"in conflict, see memdb conflicts show {key}" in hits.out
    assert memdb("recall", "deploy port", "--json", *at).json["hits"][0]["conflicts"] == [key]

    done = memdb("conflicts", "resolve", key, "keep-new", "--why", "moved in March", *at)
    said = lines(done)
    assert said[0] == f"settled {key} keep-new (project/deploy replaces reference/ports)"
    decision = said[1].removeprefix("decision ")
    again = memdb("conflicts", "resolve", key, "keep-new", *at)
    assert again.code == 4
    assert f"memdb conflicts revert {decision}" in again.err
    assert memdb("conflicts", *at).err == "No texts contradict one another.\n"
    every = memdb("conflicts", "--all", "--json", *at).json
    assert every["conflicts"] == []
    assert [(one["id"], one["choice"], one["state"], one["why"]) for one in every["resolutions"]] == [
        (decision, "keep-new", "standing", "moved in March")
    ]
    assert lines(memdb("conflicts", "list", "--all", *at))[1] == (
        f"{decision} {key} keep-new standing project/deploy replaces reference/ports"
    )

    assert lines(memdb("conflicts", "revert", "reference/ports", *at))[0] == f"taken back {key} keep-new"
    assert memdb("conflicts", "revert", decision, *at).code == 4
    assert len(memdb("conflicts", "--json", *at).json["conflicts"]) == 1


def test_a_merged_text_is_read_from_standard_input(root: Path) -> None:
    text = b"The deploy port is 9090, in the lab 8080.\n"
    words = ("conflicts", "resolve", "project/deploy", "merge", "--text", "-", "--json", "--root", root)
    found = memdb(*words, stdin=text).json["resolution"]
    sides = {"kept": "project/deploy", "other": "reference/ports"}
    names = {f"{side}_name": name for side, name in sides.items()}
    assert found["effects"] == [{**sides, "effect": "replaces", "counts": True, **names}]
    assert (root / "project/deploy.md").read_bytes().endswith(b"---\n" + text)


WRONG = [
    (("resolve", "project/deploy", "best"), 2, "no choice 'best'"),
    (("resolve", "project/deploy", "keep"), 2, "--keep SIDE"),
    (("resolve", "project/deploy", "keep", "--keep", "user/x"), 2, 'between "project/deploy", "reference/ports"'),
    (("resolve", "project/deploy", "merge"), 2, "--text"),
    (("resolve", "nobody", "keep-new"), 3, "no conflict 'nobody'"),
    (("revert", "ffff"), 3, "memdb conflicts --all"),
]


@pytest.mark.parametrize(("words", "code", "said"), WRONG)
def test_what_does_not_fit_is_said(root: Path, words: tuple[str, ...], code: int, said: str) -> None:
    found = memdb("conflicts", *words, "--root", root)
    assert (found.code, found.out) == (code, "")
    assert said in found.err
