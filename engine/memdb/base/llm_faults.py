"""What went wrong at a language model's endpoint: final, passing, or a request that has to be put differently."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from memdb.base.secrets import redact
from memdb.errors import LlmRefused, LlmUnavailable

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""How the form of the answer is asked for, best first."""

LONGEST_DETAIL = 200
"""Characters of an endpoint's own words that an error repeats."""


@dataclass(frozen=True, slots=True)
class Wire:
    """How a request is put to one endpoint; what it does not understand is left out."""

    mode: Mode = "json_schema"
    temperature: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of an endpoint that is no success: status, headers in lower case, and its error as one text.

    `code` has the error's code and type, where the body names them.
    """

    status: int
    headers: Mapping[str, str]
    code: str
    text: str


_SPENT_CODE = re.compile(r"insufficient_quota|billing|insufficient_(?:credits?|balance|funds)|payment_required|credit")
_SPENT_TEXT = re.compile(
    r"insufficient_quota|insufficient (?:credit|balance|fund)|credit balance|out of credits|billing hard limit"
    r"|billing_hard_limit|account is not active|payment required|spending limit"
)
_TOO_LONG = re.compile(r"context.{0,3}length|context window|context size|too many tokens|prompt is too long|too large")
_FORM = re.compile(r"response_format|json_schema|json_object|json mode|structured.output|grammar|guided|schema")
_PASSING = frozenset({408, 409, 425, 429})
_UNPUTTABLE = frozenset({400, 415, 422, 500, 501})


def is_spent(reply: Reply) -> bool:
    """Whether the account has no credit or quota left; a rate limit that names a quota is none of that."""
    if reply.status == 402:
        return True
    if reply.status not in (400, 403, 429):
        return False
    return bool(_SPENT_CODE.search(reply.code.lower()) or _SPENT_TEXT.search(reply.text.lower()))


def other_wire(wire: Wire, reply: Reply) -> Wire | None:
    """How to put the same request so that the endpoint may understand it, or None.

    An endpoint without JSON schemas often says no more than "bad request": then the next form is tried too.
    """
    if reply.status not in _UNPUTTABLE or is_spent(reply):
        return None
    text = reply.text.lower()
    if wire.limit and ("max_tokens" in text or "max_completion_tokens" in text):
        other = "max_completion_tokens" in text and wire.limit == "max_tokens"
        return replace(wire, limit="max_completion_tokens" if other else None)
    if wire.temperature and "temperature" in text:
        return replace(wire, temperature=False)
    following = MODES[MODES.index(wire.mode) + 1 :]
    if not following or _TOO_LONG.search(text):
        return None
    if _FORM.search(text) or reply.status in (400, 415, 422):
        return replace(wire, mode=following[0])
    return None


def fault(reply: Reply, *, model: str, endpoint: str, key: str | None) -> LlmRefused | LlmUnavailable:
    """The error that a reply stands for. The API key is in none of its texts."""
    detail = shown(reply.text, key)
    status = reply.status
    if is_spent(reply):
        return LlmRefused(
            f"{endpoint} refuses: no credit or quota is left ({detail}).",
            kind="spend",
            hint="Check the plan and the billing there; indexing goes on where it stopped.",
        )
    if status in (401, 403):
        # What the endpoint says here often repeats a part of the key.
        return LlmRefused(
            f"{endpoint} does not accept the API key (HTTP {status}).",
            kind="key",
            hint="Check OPENAI_API_KEY, that it belongs to OPENAI_BASE_URL, and that it may use the model.",
        )
    if status == 404 or "model_not_found" in reply.code:
        return LlmRefused(
            f"{endpoint} has no model {model!r} (HTTP {status}: {detail}).",
            kind="model",
            hint="Check MEMDB_LLM_MODEL and OPENAI_BASE_URL, which ends in /v1 for most endpoints.",
        )
    if status in _PASSING or status >= 500:
        return LlmUnavailable(
            f"{endpoint} answers HTTP {status}: {detail}.",
            hint="It is tried again by the next `memdb index`.",
            retry_after=retry_after(reply.headers),
        )
    return LlmRefused(
        f"{endpoint} rejects the request (HTTP {status}: {detail}).",
        kind="request",
        hint="The text may be too long for the model, or the model may lack what was asked of it.",
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds to wait that the headers name, as a number or as an HTTP date (RFC 9110, 10.2.3); never negative."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * factor
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - (time.time() if now is None else now))
    except (ValueError, OverflowError, OSError):
        return None


def shown(text: str, key: str | None) -> str:
    """An endpoint's words for an error: one line, short, without the key or any other credential."""
    if key:
        text = text.replace(key, "[key]")
    line = " ".join(redact(text[: 10 * LONGEST_DETAIL]).split()).rstrip(".")
    return line[:LONGEST_DETAIL] or "no reason given"
