"""What an agent's hook is asked on each prompt, and how it is answered: read tolerantly, print a block or nothing.

Agents run a command for each prompt with a JSON object on its standard input. Claude Code and Codex add what it prints
to the prompt; Gemini wants it in a JSON object.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from memdb.store import Store

SECONDS = 2.0
"""Within which a hook answers, unless the setting `hook_seconds` says otherwise: a person waits for it."""

BYTES = 4096
"""Of the block, unless the setting `hook_bytes` says otherwise."""

WAIT = 0.3
"""Seconds that a hook waits for another writer before it answers from the index as it is."""

QUESTION_CHARACTERS = 20_000
"""Of a prompt that are looked at: a pasted log is not read to its end for every hook."""

COLD_ARMS = ("keyword", "entity")
"""The arms that need no model."""

PROMPTS = ("prompt", "user_prompt", "userPrompt", "message", "text", "query", "input", "content")
SESSIONS = ("session_id", "sessionId", "session", "conversation_id", "conversationId", "thread_id", "threadId")
FOLDERS = ("cwd", "working_directory", "workspace", "workspace_root", "workspace_roots")
EVENTS = ("hook_event_name", "hookEventName", "event", "event_name")

IN_JSON = ("BeforeAgent",)
"""Events whose agent reads JSON from the hook's standard output."""

NEW_CONTEXT = ("clear", "compact")
"""Sources of a session start after which the agent has lost what it was given."""


class Question(NamedTuple):
    """What a hook was told; `prompt` is empty where there is nothing to look up."""

    prompt: str
    session: str | None
    folder: str | None
    event: str | None
    lost: bool = False  # the agent's context was emptied


def read(data: bytes) -> Question | None:
    """The question in what an agent wrote; None where it is no JSON object."""
    try:
        said = json.loads(data.decode("utf-8-sig", "replace"))
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    event = _first(said, EVENTS)
    source = str(said.get("source") or said.get("trigger") or "")
    lost = event in ("PreCompact", "PreCompress") or (event == "SessionStart" and source in NEW_CONTEXT)
    prompt = "" if lost or "Session" in (event or "") else _prompt(said)
    return Question(prompt[:QUESTION_CHARACTERS].strip(), _first(said, SESSIONS), _first(said, FOLDERS), event, lost)


def answer(store: Store, question: Question, *, budget: int = BYTES, sync_first: bool = True) -> str:
    """The block for a question, or nothing. Asks the model only where it is loaded: loading takes longer than waiting.

    `sync_first` is False where somebody follows the files anyway. Raises MemdbError.
    """
    if question.lost and question.session is not None:
        store.end_session(question.session)
    if not question.prompt:
        return ""
    from memdb.services.recall import ARMS  # noqa: PLC0415 (the client of a warm process needs no recall)

    found = store.recall(question.prompt, arms=ARMS if store.is_warm else COLD_ARMS, sync_first=sync_first, wait=WAIT)
    return store.prompt_block(found, budget, session=question.session)


def printed(question: Question, block: str) -> str:
    """The block as the agent of this event reads it."""
    if not block:
        return ""
    if question.event in IN_JSON:
        said = {"hookSpecificOutput": {"hookEventName": question.event, "additionalContext": block}}
        return json.dumps(said) + "\n"
    return block + "\n"


def _first(said: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, list) and value:  # several workspaces: the first
            value = value[0]
        if isinstance(value, str) and value.strip():
            return value
    return None


def _prompt(said: Mapping[str, Any]) -> str:
    """The prompt, under any of its names, plain or as the parts of a message."""
    for name in PROMPTS:
        value = said.get(name)
        if isinstance(value, Mapping):
            value = _prompt(value)
        elif isinstance(value, list):
            parts = [
                part if isinstance(part, str) else part.get("text") for part in value if isinstance(part, str | dict)
            ]
            value = "\n".join(part for part in parts if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return value
    return ""


def store_of(folder: str | None) -> Path | None:
    """The root of the store that a hook run in some folder means: the nearest one upward, else the user's own.

    None where there is none: a hook makes no store.
    """
    from memdb.base.place import FOLDER, nearest  # noqa: PLC0415

    try:
        start = Path(folder) if folder and Path(folder).is_dir() else Path.cwd()
        named = os.environ.get("MEMDB_ROOT")
        root = Path(named).expanduser() if named else nearest(start)
        if root is None:
            from memdb.base import settings  # noqa: PLC0415 (it costs more than all the rest)

            root = settings.find_root(start)
        return root if (root / FOLDER / "config.toml").is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def setting(config: Path, key: str) -> str | None:
    """A setting, read without a TOML parser: memdb writes each on a line of its own."""
    named = os.environ.get(f"MEMDB_{key.upper()}")
    if named is not None:
        return named
    try:
        found = re.search(
            rf'^{key}\s*=\s*"?([^"\n]*)', config.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
        )
    except OSError:
        return None
    return found[1].strip() if found else None
