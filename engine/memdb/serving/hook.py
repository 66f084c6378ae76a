"""What an agent's hook is asked on each prompt, and how it is answered: read tolerantly, print a block or nothing.

Agents run a command for each prompt with a JSON object on its standard input. Claude Code and Codex add what it prints
to the prompt; Gemini wants it in a JSON object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memdb.serving.light import FOLDERS, SECONDS, first, number, setting

if TYPE_CHECKING:
    from memdb.base.place import Place
    from memdb.store import Store

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
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    event = first(said, EVENTS)
    source = str(said.get("source") or said.get("trigger") or "")
    lost = event in ("PreCompact", "PreCompress") or (event == "SessionStart" and source in NEW_CONTEXT)
    prompt = "" if lost or "Session" in (event or "") else _prompt(said)
    return Question(prompt[:QUESTION_CHARACTERS].strip(), first(said, SESSIONS), first(said, FOLDERS), event, lost)


def answer(store: Store, question: Question, *, budget: int = BYTES, sync_first: bool = True) -> str:
    """The block for a question, or nothing. Asks the model only where it is loaded: loading takes longer than waiting.

    `sync_first` is False where somebody follows the files anyway. Raises MemdbError.
    """
    if question.lost and question.session is not None:
        store.end_session(question.session)
    if not question.prompt:
        return ""
    from memdb.services.recall.recall import ARMS  # noqa: PLC0415 (the client of a warm process needs no recall)

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
    from memdb.errors import MemdbError  # noqa: PLC0415

    try:
        start = Path(folder) if folder and Path(folder).is_dir() else Path.cwd()
        named = None if os.environ.get("MEMDB_STORE") else os.environ.get("MEMDB_ROOT")
        root = Path(named).expanduser() if named else None if os.environ.get("MEMDB_STORE") else nearest(start)
        if root is None:
            from memdb.base import settings  # noqa: PLC0415 (it costs more than all the rest)

            root = settings.find_root(start)
        return root if (root / FOLDER / "config.toml").is_file() else None
    except (OSError, ValueError, RuntimeError, MemdbError):
        return None


def budget(place: Place) -> int:
    """The bytes that a block may have by the settings."""
    return int(number(setting(str(place.config), "hook_bytes"), 0.0, 1e9) or BYTES)


__all__ = [
    "BYTES",
    "SECONDS",
    "Question",
    "answer",
    "budget",
    "printed",
    "read",
    "setting",
    "store_of",
]
