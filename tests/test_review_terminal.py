"""`memdb review` as a person meets it: the real command in a pseudo terminal, driven key by key."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memdb.store import Store
from tests.answer_support import Answered, answer
from tests.test_proposals import GATE, LINE, TEXTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are a thing of Unix"),
]

RUNS_OVER = "2 texts ask for the predicate runs_over"
PROTOCOL = "2 texts ask for the type protocol"
BROKEN = "project/broken.md has 3 problems"
RULE = "The subject runs by the object."
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

SECONDS = 15
"""A slow machine draws an item well within this."""


class Screen:
    """A terminal that the command runs in; keys are sent once the command waits for one."""

    def __init__(self, child: Any) -> None:
        self.child = child

    def sees(self, *texts: str) -> str:
        """Wait until each text was drawn, in this order, and the command waits for a key; what was drawn since."""
        drawn = ""
        for text in texts:
            self.child.expect_exact(text)
            drawn += self.child.before + self.child.after
        self.child.expect(r"\r\n(\x1b\[[0-9;]*m)*> ")
        drawn += self.child.before
        # Keys that come before the terminal is in raw mode are dropped, by design.
        assert self.child.waitnoecho(SECONDS)
        return ESCAPES.sub("", drawn)

    def press(self, key: str) -> None:
        self.child.send(key)

    def ends(self, code: int) -> str:
        """Wait for the end of the command with this exit code; what it drew last."""
        import pexpect

        self.child.expect(pexpect.EOF)
        drawn = ESCAPES.sub("", self.child.before)
        self.child.close()
        assert self.child.exitstatus == code, drawn
        return drawn


Open = Callable[..., Screen]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    made = Answered(
        tmp_path / "root", TEXTS | {"project/broken.md": "---\ntitle: Foo: bar\ntags: [#x]\nname: [\n---\nA lantern.\n"}
    )
    made.put("project/line", LINE)
    made.put("project/gate", GATE)
    made.store.close()
    return made.root


@pytest.fixture
def terminal() -> Iterator[Open]:
    import pexpect

    children: list[Any] = []

    def start(root: Path, *words: str, columns: int = 80, rows: int = 40, **environment: str) -> Screen:
        # Whoever runs the tests may have told a width of theirs.
        around = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        child = pexpect.spawn(
            sys.executable,
            ["-m", "memdb_cli", "--root", str(root), "review", *words],
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(rows, columns),
            env={**around, "TERM": "xterm-256color", "MEMDB_EMBEDDER": "off", **environment},
        )
        children.append(child)
        return Screen(child)

    yield start
    for child in children:
        child.close(force=True)


def waiting(root: Path) -> list[str]:
    with Store.init(root) as store:
        return [item.title for item in store.review.list()]


def test_one_key_answers_and_the_next_item_comes(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    drawn = screen.sees(f"1 of 3{' ·'} proposal", RUNS_OVER, "s skip  b back  u undo  v view all  ? help  q quit")
    assert "Ada Wren runs_over MQTT" in drawn
    screen.press("d")
    screen.sees("dismissed the predicate runs_over", "undo: memdb undo ", "2 of 3", PROTOCOL)
    screen.press("a")
    screen.sees("approved the type protocol", "3 of 3", BROKEN)
    screen.press("s")
    last = screen.ends(0)
    assert "2 answered, 1 skipped" in last
    assert len(re.findall(r"undo: memdb undo [0-9a-f]{10}", last)) == 2
    assert waiting(world) == [BROKEN]


def test_answers_are_taken_back_one_by_one(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    screen.press("u")
    screen.sees("Nothing was answered so far.")
    screen.press("d")
    screen.sees(PROTOCOL)
    screen.press("a")
    screen.sees(BROKEN)
    screen.press("u")
    screen.sees("taken back: approved the type protocol", "2 of 3", PROTOCOL)
    screen.press("u")
    screen.sees("taken back: dismissed the predicate runs_over", "1 of 3", RUNS_OVER)
    screen.press("q")
    assert "0 answered, 3 not looked at" in screen.ends(0)
    assert waiting(world) == [RUNS_OVER, PROTOCOL, BROKEN]


def test_skip_and_back(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    screen.press("b")
    screen.sees("This is the first.")
    screen.press("s")
    screen.sees(PROTOCOL)
    screen.press("d")
    screen.sees(BROKEN)
    screen.press("b")
    screen.sees("1 of 3", RUNS_OVER)  # what was answered is passed over
    screen.press("s")
    screen.sees("waits no more: 2 texts ask for the type protocol", BROKEN)
    screen.press("q")
    assert "1 answered, 1 skipped, 1 not looked at" in screen.ends(0)


def test_keys_that_do_nothing_change_nothing(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    for key, said in (("z", "does nothing here"), ("\x1b[A", "? lists them"), ("\r", "? lists them"), ("é", "does no")):
        screen.press(key)
        screen.sees(said)
    screen.press("?")
    assert "take back the last answer" in screen.sees("memdb undo ID.")
    screen.press("\x04")
    assert "0 answered" in screen.ends(0)
    assert waiting(world) == [RUNS_OVER, PROTOCOL, BROKEN]


def test_a_text_is_asked_for(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    screen.press("a")
    screen.child.expect_exact("Its rule")
    screen.child.expect("> ")
    screen.child.sendline("")
    screen.sees("Nothing was answered: it needs a text.")
    screen.press("a")
    screen.child.expect_exact("Its rule")
    screen.child.expect("> ")
    screen.child.sendline(RULE)
    screen.sees("approved the predicate runs_over", PROTOCOL)
    screen.press("q")
    screen.ends(0)
    with Store.init(world) as store:
        assert RULE in [entry.description for entry in store.schema.list()]


def test_what_is_refused_is_said_and_the_queue_goes_on(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    screen.press("a")
    screen.child.expect_exact("Its rule")
    screen.child.expect("> ")
    screen.child.sendline("\u200bx")
    screen.sees("error: The description has hidden characters.", "<U+200B>", RUNS_OVER)
    with Store.init(world) as store:
        store.proposals.dismiss("predicate", "runs_over")
    screen.press("d")
    screen.sees("waits for nobody (any more)", "waits no more", "2 of 3", PROTOCOL)
    screen.press("q")
    screen.ends(0)


def test_interrupting_keeps_what_was_decided(world: Path, terminal: Open) -> None:
    screen = terminal(world)
    screen.sees(RUNS_OVER)
    screen.press("d")
    screen.sees(PROTOCOL)
    screen.press("\x03")
    last = screen.ends(130)
    assert "1 answered, 2 not looked at" in last
    assert "undo: memdb undo " in last
    assert waiting(world) == [PROTOCOL, BROKEN]


def test_a_file_is_mended_in_the_editor(world: Path, terminal: Open, tmp_path: Path) -> None:
    script = tmp_path / "editor.py"
    script.write_text("import sys\nopen(sys.argv[1], 'w').write('A lantern.\\n')\n", encoding="utf-8")
    screen = terminal(world, "--kind", "problem", EDITOR=f"{sys.executable} {script}")
    screen.sees("1 of 1", BROKEN)
    screen.press("e")
    assert "waits no more" in screen.ends(0)
    assert (world / "project/broken.md").read_text("utf-8") == "A lantern.\n"
    assert waiting(world) == [RUNS_OVER, PROTOCOL]


def test_memories_are_merged_in_the_editor_and_parted_again(tmp_path: Path, terminal: Open) -> None:
    texts = {
        "project/deploy-day.md": "---\ncreated: 2026-01-05\n---\nDeploys happen on Monday.\n",
        "project/deploy-weekday.md": "---\ncreated: 2026-02-05\n---\nDeploys happen on Thursday.\n",
    }
    made = Answered(tmp_path / "root", texts)
    made.store.close()
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "file, note = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).with_name('second')\n"
        "if note.exists():\n"
        "    file.write_text(file.read_text('utf-8').replace('.\\n\\nDeploys happen on', ' and'), 'utf-8')\n"
        "note.touch()\n",
        encoding="utf-8",
    )
    screen = terminal(made.root, EDITOR=f"{sys.executable} {script}")
    screen.sees("project/deploy-day and project/deploy-weekday cannot both be right", '"Deploys happen on Thursday."')
    screen.press("m")
    screen.sees("Nothing was answered: it needs a text.")  # the draft as it was
    screen.press("m")
    last = screen.ends(0)
    assert "merged into project/deploy-weekday" in last
    [undo] = re.findall(r"memdb undo ([0-9a-f]{10})\s*$", last)
    kept = made.root / "project/deploy-weekday.md"
    assert kept.read_text("utf-8").endswith("---\nDeploys happen on Monday and Thursday.\n")
    assert waiting(made.root) == []
    with Store.init(made.root) as store:
        store.undo(undo)
    assert kept.read_text("utf-8") == texts["project/deploy-weekday.md"]
    assert len(waiting(made.root)) == 1


@pytest.mark.parametrize(
    ("columns", "environment"),
    [(80, {}), (50, {}), (34, {"NO_COLOR": "1"}), (50, {"TERM": "dumb"})],
    ids=["80", "50", "34 without colours", "50 dumb"],
)
def test_hidden_characters_are_shown_and_nothing_is_obeyed(
    tmp_path: Path, terminal: Open, columns: int, environment: dict[str, str]
) -> None:
    evil = "[bold]Vi\u200bbe\u202e[/bold]"
    made = Answered(tmp_path / "root", {"project/a.md": f"{evil} one.\n", "project/b.md": f"{evil} two.\n"})
    rule = "A \x1b[2Jmood\u2066 that " + "lasts " * 12
    for key in ("project/a", "project/b"):
        made.put(key, answer((evil, "mood"), new_types={"mood": rule}))
    made.store.close()
    screen = terminal(made.root, columns=columns, **environment)
    drawn = screen.sees("1 of 1", "q quit")
    flat = " ".join(drawn.split())
    assert "<U+2066>" in flat
    assert not set(drawn) & {"\x1b", "\u200b", "\u202e", "\u2066"}
    assert all(len(line) <= columns for line in drawn.splitlines())
    screen.press("q")
    screen.ends(0)


def test_a_long_item_is_cut_until_it_is_asked_for(tmp_path: Path, terminal: Open) -> None:
    links = "".join(f"See [[my_note]] at {place}.\n" for place in range(30))
    texts = {"reference/my-note.md": "1\n", "reference/My Note.md": "2\n", "project/many.md": links}
    made = Answered(tmp_path / "root", texts)
    made.store.close()
    screen = terminal(made.root, rows=24)
    drawn = screen.sees("project/many.md has 30 problems", "more: press v", "q quit")
    assert "line 30:" not in drawn
    screen.press("v")
    assert "line 30:" in screen.sees("project/many.md has 30 problems", "q quit")
    screen.press("q")
    screen.ends(0)
