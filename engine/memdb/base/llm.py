"""A language model behind any OpenAI-compatible endpoint: one question, one checked answer, or one clear error."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unfinished
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from urllib.parse import urlsplit

from memdb.base.llm_answers import complaint, found_object
from memdb.base.llm_faults import Mode, Reply, Wire, fault, other_wire, shown
from memdb.base.place import Place
from memdb.base.secrets import find_secrets, redact
from memdb.base.settings import setting, switched_off
from memdb.errors import LlmBadAnswer, LlmError, LlmOff, LlmRefused, LlmUnavailable, SecretFound, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

CONNECT_SECONDS = 5.0
READ_SECONDS = 90.0
"""Seconds of silence after which a request is given up; a model on a laptop needs a minute for a long text."""

DEADLINE_SECONDS = 240.0
"""Seconds that one question takes at most, with all its tries and waits."""

RETRIES = 4
"""Further tries after passing faults."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second try, doubled for each further one; a Retry-After beyond the longest ends the question."""

REASKS = 2
"""Further tries after answers of the wrong form."""

ANSWER_TOKENS = 2_000
"""Tokens that an answer may take, doubled after one that was cut off; five entities and their relations take 600."""

LONGEST_ECHO = 2_000
"""Characters of a wrong answer that the model is shown again."""

INSTALL_HINT = "Install the extra: pip install 'memdb-engine[llm]'"
_DEFAULT_ENDPOINT = "https://api.openai.com/v1"
_NO_KEY = "none"  # servers at home take any key, the client library takes no empty one


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked answer: `output` as JSON values, with what all tries together used up.

    Tokens are None where the endpoint did not count them, the cost (in the currency of the prices) also where no price
    is set. `mode` says how the form was asked for.
    """

    output: dict[str, Any]
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    attempts: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class LlmStatus:
    """Whether a model can be asked; `reason` and `hint` say why not and what to do."""

    state: Literal["on", "off"]
    model: str | None
    endpoint: str | None
    reason: str | None = None
    hint: str | None = None


def configured(where: Place) -> Llm:
    """The model of a store's settings (`llm_model`, `llm_price_input`, `llm_price_output`, `llm`), MEMDB_* before them.

    Address and key come from the environment alone: a folder that was cloned must not send the key elsewhere. Raises
    UsageError for a price that is no number.
    """
    prices = [_price(where, key) for key in ("llm_price_input", "llm_price_output")]
    return Llm(
        setting(where, "llm_model"),
        enabled=not switched_off(setting(where, "llm", "on")),
        price_input=prices[0],
        price_output=prices[1],
    )


def _price(where: Place, key: str) -> float | None:
    value = setting(where, key)
    if value is None or not value.strip():
        return None
    try:
        price = float(value)
    except ValueError:
        price = -1.0
    if not 0.0 <= price < 1e6:
        raise UsageError(f"{key} is {value!r}, which is no price.", hint="Give the price of a million tokens.")
    return price


class Llm:
    """One model at one endpoint. Creating it imports, opens and sends nothing. Safe to share between threads.

    What the endpoint turns out not to understand is remembered for the life of the object.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        enabled: bool = True,
        price_input: float | None = None,
        price_output: float | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float = READ_SECONDS,
        deadline_seconds: float = DEADLINE_SECONDS,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """None stands for MEMDB_LLM_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY; prices are per million tokens.

        `sleep` waits between tries; a `threading.Event().wait` lets a program that ends cut the wait short.
        """
        self._model = (model or os.environ.get("MEMDB_LLM_MODEL") or "").strip() or None
        self._base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or "").strip() or None
        self._key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip() or None
        self._enabled = enabled
        self._prices = (price_input, price_output)
        self._connect_seconds, self._read_seconds = connect_seconds, read_seconds
        self._deadline_seconds = deadline_seconds
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: Any = None
        self._wire = Wire()

    def __repr__(self) -> str:
        return f"Llm({self._model!r} at {self.endpoint})"

    @property
    def model(self) -> str | None:
        """The model's name, as the endpoint knows it."""
        return self._model

    @property
    def endpoint(self) -> str:
        """The address for people: without a name or password in it, and without a query."""
        try:
            parts = urlsplit(self._base_url or _DEFAULT_ENDPOINT)
        except ValueError:
            return "an address that cannot be read"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")

    @property
    def mode(self) -> Mode:
        """How the form of an answer is asked for at present."""
        return self._wire.mode

    @property
    def status(self) -> LlmStatus:
        """Whether there is a model to ask; looks at the settings only, imports and sends nothing."""
        reason, hint = self._off()
        state: Literal["on", "off"] = "off" if reason else "on"
        return LlmStatus(state, self._model, self.endpoint if self._model else None, reason, hint)

    def _off(self) -> tuple[str | None, str | None]:
        """The first reason why no model can be asked, with what to do about it."""
        url, key = self._base_url, self._key
        missing = [name for name in ("openai", "instructor") if importlib.util.find_spec(name) is None]
        checks = (
            (not self._enabled, "The language model is switched off.", "Unset MEMDB_LLM, or `llm` in the settings."),
            (
                self._model is None,
                "No language model is named.",
                "Set MEMDB_LLM_MODEL, or `llm_model` in .memdb/config.toml.",
            ),
            (
                key is None and url is None,
                "There is no API key.",
                "Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none.",
            ),
            (
                url is not None and not _is_address(url),
                "OPENAI_BASE_URL is no http address.",
                "Give it whole, as in http://127.0.0.1:8080/v1.",
            ),
            (
                key is not None and not (key.isascii() and key.isprintable()),
                "OPENAI_API_KEY holds characters that no key has.",
                "Copy it again: one line, without quotes.",
            ),
            (bool(missing), f"{' and '.join(missing)}: not installed.", INSTALL_HINT),
        )
        return next(((reason, hint) for holds, reason, hint in checks if holds), (None, None))

    def ask(self, messages: Sequence[Mapping[str, str]], schema: type[BaseModel]) -> Answer:
        """Ask one question and give the answer in the form of `schema`.

        Passing faults are waited out and answers of the wrong form asked again, both a bounded number of times and
        within the deadline. Raises SecretFound for messages with a credential in them, LlmOff, LlmRefused (final),
        LlmUnavailable (may pass) and LlmBadAnswer; each carries what was used up.
        """
        reason, hint = self._off()
        if reason is not None:
            raise LlmOff(reason, hint=hint)
        for message in messages:
            found = find_secrets(message["content"])
            if found:
                raise SecretFound(
                    f"The text for the language model holds a credential ({found[0].category}) and was not sent.",
                    hint="Take it out of the text.",
                )
        _libraries()  # before the clock starts
        return _Question(self, messages, schema).answer()

    def _instructor(self, mode: Mode) -> Any:
        """The library's client for a mode, over the one HTTP client of this object."""
        instructor, openai = _libraries()
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._key or _NO_KEY, base_url=self._base_url or _DEFAULT_ENDPOINT, max_retries=0
                )
            client = self._client
        modes = {
            "json_schema": instructor.Mode.JSON_SCHEMA,
            "json_object": instructor.Mode.JSON,
            "text": instructor.Mode.MD_JSON,
        }
        return instructor.from_openai(client, mode=modes[mode])

    def _abandon(self) -> None:
        """Close the connections, so that a request that was given up ends too."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


@dataclass(frozen=True, slots=True)
class _Wrong:
    """An answer of the wrong form: what it said and what is wrong with it."""

    content: str
    reason: str
    cut_off: bool = False


class _Question:
    """One question on its way through tries, waits and forms."""

    def __init__(self, llm: Llm, messages: Sequence[Mapping[str, str]], schema: type[BaseModel]) -> None:
        self._llm = llm
        self._messages = [dict(message) for message in messages]
        self._schema = schema
        self._wire = llm._wire
        self._tokens = ANSWER_TOKENS
        self._attempts = 0
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._end = time.monotonic() + llm._deadline_seconds

    def answer(self) -> Answer:
        try:
            output = self._tried()
        except LlmError as error:
            error.attempts, error.cost = self._attempts, self._cost
            error.input_tokens, error.output_tokens = self._input_tokens, self._output_tokens
            raise
        return Answer(output, self._input_tokens, self._output_tokens, self._cost, self._attempts, self._wire.mode)

    @property
    def _cost(self) -> float | None:
        price_input, price_output = self._llm._prices
        if self._input_tokens is None or self._output_tokens is None or price_input is None or price_output is None:
            return None
        return round((self._input_tokens * price_input + self._output_tokens * price_output) / 1e6, 9)

    def _tried(self) -> dict[str, Any]:
        messages = self._messages
        faults = wrongs = 0
        remember = True
        rejection: LlmRefused | LlmUnavailable | None = None
        while True:
            outcome = self._once(messages)
            if isinstance(outcome, dict):
                if remember:
                    self._llm._wire = self._wire
                return outcome
            if isinstance(outcome, Reply):
                wire = other_wire(self._wire, outcome)
                error = fault(outcome, model=self._llm._model or "", endpoint=self._llm.endpoint, key=self._llm._key)
                if wire is not None:
                    # The first rejection is the one to report: later ones are about the detours.
                    rejection = rejection or error
                    self._wire = wire
                    continue
                outcome = rejection if rejection is not None and isinstance(error, LlmRefused) else error
            if isinstance(outcome, LlmUnavailable):
                faults += 1
                self._wait(faults, outcome)
            elif isinstance(outcome, _Wrong):
                wrongs += 1
                if wrongs > REASKS:
                    raise LlmBadAnswer(
                        f"{self._llm._model} gave no answer of the right form in {self._attempts} tries: "
                        f"{outcome.reason}",
                        hint="A larger model, or one that supports JSON schemas, does better.",
                    )
                messages = [*self._messages, *_feedback(outcome)]
                if outcome.cut_off:
                    self._tokens *= 2
                elif wrongs == REASKS:
                    # The endpoint may ignore the schema: show it to the model in words. One slip is not remembered.
                    self._wire, remember = replace(self._wire, mode="text"), False
            else:
                raise outcome

    def _wait(self, faults: int, error: LlmUnavailable) -> None:
        """Wait before the next try, or raise the error when there is to be none."""
        wait = min(FIRST_WAIT * 2 ** (faults - 1), LONGEST_WAIT)
        wait = max(wait, error.retry_after or 0.0)
        if faults > RETRIES or wait > LONGEST_WAIT or wait >= self._end - time.monotonic():
            raise error
        self._llm._sleep(wait)

    def _once(self, messages: list[dict[str, str]]) -> dict[str, Any] | Reply | _Wrong | LlmRefused | LlmUnavailable:
        """One request; its answer, or what became of it."""
        left = self._end - time.monotonic()
        if left <= 0:
            self._give_up()
        self._attempts += 1
        future: Future[Any] = Future()
        # Read timeouts do not end an answer that drips, and none ends a name that does not resolve.
        threading.Thread(target=self._request, args=(messages, left, future), daemon=True, name="memdb-llm").start()
        try:
            completion, problem = future.result(timeout=left)
        except Unfinished:
            self._llm._abandon()
            self._give_up()
        if isinstance(problem, LlmUnavailable | Reply):
            return problem
        return self._read(completion, problem)

    def _give_up(self) -> NoReturn:
        raise LlmUnavailable(
            f"{self._llm.endpoint} gave no answer within {self._llm._deadline_seconds:g} seconds.",
            hint="It is tried again by the next `memdb index`.",
        )

    def _request(self, messages: list[dict[str, str]], left: float, future: Future[Any]) -> None:
        try:
            future.set_result(self._sent(messages, left))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, which raises it
            future.set_exception(error)

    def _sent(self, messages: list[dict[str, str]], left: float) -> tuple[Any, Any]:
        """The completion, and what is wrong with it (an exception of the parser, a Reply, a passing fault) or None."""
        llm = self._llm
        _, openai = _libraries()
        from instructor.core.exceptions import (  # noqa: PLC0415
            IncompleteOutputException,
            InstructorRetryException,
        )

        options: dict[str, Any] = {"model": llm._model, "messages": messages}
        if self._wire.temperature:
            options["temperature"] = 0
        if self._wire.limit:
            options[self._wire.limit] = self._tokens
        timeout = openai.Timeout(min(llm._read_seconds, left), connect=min(llm._connect_seconds, left))
        try:
            _, completion = llm._instructor(self._wire.mode).create_with_completion(
                response_model=self._schema, max_retries=0, timeout=timeout, **options
            )
        except IncompleteOutputException as incomplete:
            return incomplete.last_completion, incomplete
        except InstructorRetryException as failed:
            cause = failed.__cause__
            if isinstance(cause, openai.APIStatusError):
                return None, _reply(cause)
            if isinstance(cause, openai.APIError):
                words = "does not answer in time" if isinstance(cause, openai.APITimeoutError) else "cannot be reached"
                reason = shown(str(cause.__cause__ or cause), llm._key)
                return None, LlmUnavailable(
                    f"{llm.endpoint} {words} ({reason}).", hint="Check OPENAI_BASE_URL and that the server runs."
                )
            return failed.last_completion, cause or failed
        return completion, None

    def _read(self, completion: Any, problem: Any) -> dict[str, Any] | _Wrong | LlmRefused:
        """The answer in a completion; where the library's reading failed, a JSON object that stands in its text."""
        self._count(getattr(completion, "usage", None))
        choice = next(iter(getattr(completion, "choices", None) or ()), None)
        message = getattr(choice, "message", None)
        content = getattr(message, "content", None) or ""
        output = found_object(content, self._schema)
        if output is not None:
            return output
        if getattr(message, "refusal", None) or getattr(choice, "finish_reason", None) == "content_filter":
            return LlmRefused(f"{self._llm._model} declines to answer about this text.", kind="content")
        if getattr(choice, "finish_reason", None) == "length":
            return _Wrong(content, f"the answer was cut off after {self._tokens} tokens", cut_off=True)
        if choice is None:
            return _Wrong("", "the reply is no chat completion")
        if not content.strip():
            return _Wrong("", "the answer is empty")
        return _Wrong(content, complaint(problem, self._llm._key))

    def _count(self, usage: Any) -> None:
        self._input_tokens = _sum(self._input_tokens, getattr(usage, "prompt_tokens", None))
        self._output_tokens = _sum(self._output_tokens, getattr(usage, "completion_tokens", None))


def _sum(total: int | None, more: object) -> int | None:
    if not isinstance(more, int) or isinstance(more, bool) or more < 0:
        return total
    return (total or 0) + more


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _feedback(wrong: _Wrong) -> list[dict[str, str]]:
    if wrong.cut_off:
        request = "Your answer was too long and was cut off. Answer again, with fewer items and no repetition."
    else:
        request = (
            f"Your answer has the wrong form: {wrong.reason}. Answer again, with the JSON object and nothing else."
        )
    return [
        # A credential that the model made up or read somewhere is not sent back.
        {"role": "assistant", "content": redact(wrong.content[:LONGEST_ECHO]).strip() or "{}"},
        {"role": "user", "content": redact(request)},
    ]


def _reply(error: Any) -> Reply:
    """What an endpoint said, whatever shape its error has."""
    body: dict[str, Any] = error.body if isinstance(error.body, dict) else {}
    inner: dict[str, Any] = body["error"] if isinstance(body.get("error"), dict) else body
    code = " ".join(str(inner.get(name)) for name in ("code", "type") if inner.get(name) is not None)
    message = inner.get("message") or inner.get("detail") or error.body or ""
    text = message if isinstance(message, str) else json.dumps(message, default=str)
    headers = {str(name).lower(): str(value) for name, value in error.response.headers.items()}
    return Reply(int(error.status_code), headers, code, text)


def _libraries() -> tuple[Any, Any]:
    """instructor and openai, imported on first use: together they take two seconds."""
    import instructor  # noqa: PLC0415
    import openai  # noqa: PLC0415

    # instructor logs every failed try as an error, with the endpoint's words; here it becomes one error of ours.
    logger = logging.getLogger("instructor")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
    return instructor, openai
