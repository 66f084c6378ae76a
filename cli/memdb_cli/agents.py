"""The agents that run a command for each prompt, and the setting that makes them run memdb's."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memdb_cli
from memdb.errors import NotFound, Refused, StoreUnreadable
from memdb_cli import json_edit
from memdb_cli.json_edit import Node

MARGIN = 3.0
"""Seconds that an agent waits longer than memdb answers: the hook ends by itself, the agent never has to end it."""

_OURS = re.compile(r"memdb(_cli)?\b.*\bhook run\b")


@dataclass(frozen=True, slots=True)
class Agent:
    """Where an agent keeps its hooks, and how it wants them. `matchers` has each event with the cases it is limited to.

    The first event is that of a prompt; at the others the agent has lost what it was given.
    """

    name: str
    title: str
    folder: str
    variable: str | None  # names another folder in place of the one in the home folder
    user_file: str
    project_file: str
    matchers: dict[str, str | None]
    milliseconds: bool = False  # the unit of its timeout, else seconds
    note: str | None = None

    def file(self, project: Path | None) -> Path:
        """Its settings of this user, or of a project."""
        if project is not None:
            return project / self.folder / self.project_file
        named = os.environ.get(self.variable) if self.variable else None
        return (Path(named).expanduser() if named else Path.home() / self.folder) / self.user_file

    def handler(self, command: str, seconds: float) -> dict[str, Any]:
        """The entry that runs a command."""
        wait = seconds + MARGIN
        timeout = round(wait * 1000) if self.milliseconds else max(1, round(wait))
        return {"type": "command", "command": command, "timeout": timeout}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            ".claude",
            "CLAUDE_CONFIG_DIR",
            "settings.json",
            "settings.local.json",
            {"UserPromptSubmit": None, "SessionStart": "clear|compact"},
        ),
        Agent(
            "codex",
            "Codex",
            ".codex",
            "CODEX_HOME",
            "hooks.json",
            "hooks.json",
            {"UserPromptSubmit": None, "SessionStart": "clear"},
            note="Codex runs hooks where its config.toml has `hooks = true` under [features].",
        ),
        Agent(
            "gemini",
            "Gemini CLI",
            ".gemini",
            None,
            "settings.json",
            "settings.json",
            {"BeforeAgent": None, "SessionStart": "clear", "PreCompress": None},
            milliseconds=True,
        ),
    )
}


def agent(name: str) -> Agent:
    """An agent by its name. Raises NotFound."""
    found = AGENTS.get(name.strip().lower().replace("_", "-").replace(" ", "-"))
    if found is None:
        raise NotFound(f"memdb knows no agent {name!r}.", hint=f"It knows {', '.join(AGENTS)}.")
    return found


def command(root: Path | None, database: Path | None, serve: bool, store: str | None = None) -> str:
    """The command line of the hook, with this Python by its full path: an agent may have another search path.

    It runs the file where memdb begins, without looking for other packages (`-S`), which halves the time. Of a `store`
    with a name it has the folder too, where its warm process is asked first; if it was moved, the name leads to it.
    """
    words = [sys.executable, "-S", str(Path(memdb_cli.__file__).with_name("start.py")), "hook", "run"]
    if root is not None:
        words += ["--root", str(root)]
    if store is not None:
        words += ["--store", store]
    if database is not None:
        words += ["--db", str(database)]
    if serve:
        words.append("--serve")
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


@dataclass(frozen=True, slots=True)
class Settings:
    """An agent's settings as they are: the bytes, None where there is no file, and the text."""

    file: Path
    data: bytes | None
    text: str

    def encoded(self, text: str) -> bytes:
        """Another text in the encoding of these settings."""
        bom = b"\xef\xbb\xbf" if self.data is not None and self.data.startswith(b"\xef\xbb\xbf") else b""
        return bom + text.encode("utf-8")


def read(file: Path) -> Settings:
    """An agent's settings. Raises StoreUnreadable, and Refused where they are no JSON object."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Settings(file, None, "{}\n")
    except OSError as error:
        raise StoreUnreadable(f"{file} cannot be read: {error.strerror or error}.") from error
    try:
        text = data.decode("utf-8-sig")
        whole = json_edit.parse(text if text.strip() else "{}\n")
        if not isinstance(whole.value, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"{file} is not read as JSON ({error}); it was not changed.",
            hint="Mend it, or add the hook by hand: `memdb hook install --json --dry-run` prints it.",
        ) from error
    return Settings(file, data, text if text.strip() else "{}\n")


def handlers(text: str) -> list[tuple[str, Node]]:
    """memdb's entries in an agent's settings, each with its event."""
    hooks = json_edit.parse(text).member("hooks")
    found = []
    for event in hooks.children if hooks is not None and isinstance(hooks.value, dict) else []:
        for group in event.children:
            entries = group.member("hooks") if isinstance(group.value, dict) else None
            for entry in entries.children if entries is not None else []:
                if _is_ours(entry.value):
                    found.append((str(event.key), entry))
    return found


def _is_ours(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("command"), str) and bool(_OURS.search(value["command"]))


def installed(text: str, which: Agent, line: str, seconds: float) -> str:
    """The settings with memdb's hooks as they should be; unchanged where they are so already. Raises Refused."""
    wanted = which.handler(line, seconds)
    have: set[str] = set()
    for event in [event for event, _ in handlers(text) if event in which.matchers]:
        if event in have:
            continue
        have.add(event)
        for key, value in wanted.items():
            entry = next(node for name, node in handlers(text) if name == event)
            old = entry.member(key)
            if old is None:
                text = json_edit.append(text, entry, value, key)
            elif old.value != value:
                text = json_edit.replaced(text, old, value)
    for event, matcher in which.matchers.items():
        if event not in have:
            group = ({} if matcher is None else {"matcher": matcher}) | {"hooks": [wanted]}
            text = _added(text, event, group)
    return text


def _added(text: str, event: str, group: dict[str, Any]) -> str:
    whole = json_edit.parse(text)
    hooks = whole.member("hooks")
    if hooks is None:
        return json_edit.append(text, whole, {event: [group]}, "hooks")
    if not isinstance(hooks.value, dict):
        raise Refused("The settings have `hooks` that are no object; they were not changed.")
    groups = hooks.member(event)
    if groups is None:
        return json_edit.append(text, hooks, [group], event)
    if not isinstance(groups.value, list):
        raise Refused(f"The settings have `hooks.{event}` that is no list; they were not changed.")
    return json_edit.append(text, groups, group)


def removed(text: str) -> str:
    """The settings without memdb's hooks, and without the lists that held nothing else."""
    while handlers(text):
        text = _without_one(text)
    return text


def _without_one(text: str) -> str:
    """The settings without one entry, and what it leaves empty."""
    whole = json_edit.parse(text)
    hooks = whole.member("hooks")
    assert hooks is not None
    for event in hooks.children:
        for group in event.children:
            entries = group.member("hooks") if isinstance(group.value, dict) else None
            for entry in entries.children if entries is not None else []:
                if not _is_ours(entry.value) or entries is None:
                    continue
                for container, child in ((whole, hooks), (hooks, event), (event, group), (entries, entry)):
                    # The outermost that holds nothing else: what memdb made goes as a whole.
                    if _holds_one(child, entry):
                        return json_edit.without(text, container, child)
    raise AssertionError("there is no entry of memdb")


def _holds_one(node: Node, entry: Node) -> bool:
    """Whether nothing but an entry is in a value, its matcher aside."""
    if node is entry:
        return True
    inner = [child for child in node.children if child.key != "matcher"]
    return len(inner) == 1 and _holds_one(inner[0], entry)


def described(which: Agent, project: Path | None) -> dict[str, Any]:
    """What there is of memdb in an agent's settings."""
    file = which.file(project)
    try:
        ours = handlers(read(file).text)
        problem = None
    except (Refused, StoreUnreadable) as error:
        ours, problem = [], error.message
    return {
        "agent": which.name,
        "file": str(file),
        "installed": {event for event, _ in ours} >= set(which.matchers),
        "events": [event for event, _ in ours],
        "command": ours[0][1].value["command"] if ours else None,
        "problem": problem,
    }


def as_entry(which: Agent, line: str, seconds: float) -> str:
    """The hooks as JSON, to be added by hand."""
    return json.dumps(json.loads(installed("{}", which, line, seconds)), indent=2)
