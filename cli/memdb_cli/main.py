"""Run the program: one place for streams, errors, exit codes and interruptions."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import typer
from typer.main import get_command

from memdb.errors import MemdbError, NotWritable, UsageError
from memdb_cli import screen
from memdb_cli.app import app

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells count."""

# click's own errors, by whichever name this typer has them: it carried click along from some release on.
PARSE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and kind.__name__ == "ClickException"
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run `memdb` with these words, by default the process's own, and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    screen.prepare_streams()
    try:
        code = _invoke(words)
        screen.flush()
        return code
    except screen.OutputLost as lost:
        if lost.reason is None:
            return _drop_output(0)
        screen.note(f"error: standard output cannot be written: {lost.reason}")
        return _drop_output(NotWritable.exit_code)


def _invoke(words: list[str]) -> int:
    as_json = wants_json(words)
    command = get_command(app)
    if "_MEMDB_COMPLETE" in os.environ:
        command.main(args=words, prog_name="memdb")  # answers the shell and exits
    try:
        with command.make_context("memdb", words) as context:
            command.invoke(context)
        return 0
    except typer.Exit as stop:
        return stop.exit_code
    except MemdbError as error:
        return _report(error, as_json)
    except PARSE_ERROR as error:
        return _report(_usage_error(error), as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _report(_Interrupted(), as_json)
    except screen.OutputLost:
        raise
    except BrokenPipeError as error:
        raise screen.OutputLost from error
    except Exception as error:  # noqa: BLE001 (the last resort: a person gets a sentence, not a traceback)
        if os.environ.get("MEMDB_DEBUG"):
            import traceback

            traceback.print_exc()
        return _report(_Unexpected(error), as_json)


class _Interrupted(MemdbError):
    """Ctrl-C."""

    code, exit_code = "interrupted", INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted; the work done so far is kept", hint="The same command goes on from there.")


class _Unexpected(MemdbError):
    """A fault of memdb itself."""

    code = "unexpected"

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"unexpected {type(error).__name__}: {error}",
            hint="This is a fault of memdb. Please report it, with what MEMDB_DEBUG=1 prints.",
        )


def wants_json(words: Sequence[str]) -> bool:
    """Whether the words ask for JSON, known before they are parsed: an error in them is JSON too."""
    options = list(words[: words.index("--")] if "--" in words else words)
    pairs = itertools.pairwise(options)
    return "--json" in options or "--format=json" in options or ("--format", "json") in pairs


def _usage_error(error: Exception) -> UsageError:
    """click's error in our shape."""
    message = " ".join(str(getattr(error, "format_message", lambda: error)()).split()).replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    hint = f"See `{context.command_path} --help`." if context is not None else "See `memdb --help`."
    return UsageError(message, hint=hint)


def _report(error: MemdbError, as_json: bool) -> int:
    from memdb.base.secrets import redact_error

    redact_error(error)
    if as_json:
        screen.as_json({"error": error.as_dict()})
    else:
        screen.note(f"error: {' '.join(error.message.split())}")
        if error.hint:
            screen.note(f"hint: {' '.join(error.hint.split())}")
    return error.exit_code


def _drop_output(code: int) -> int:
    """Let nothing complain at exit about a standard output that takes no more; returns the exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
