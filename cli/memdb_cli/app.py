"""The program: its root options and its help. A command's module is imported when the command is called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_group

from memdb.errors import UsageError
from memdb_cli.options import AsJson, Database, Root, Store, exit_code_list, notes, with_store


class Entry(NamedTuple):
    """A command in the root help: the module that has it, and the first sentence of its own help."""

    module: str
    summary: str


SECTIONS: dict[str, dict[str, Entry]] = {
    "Start": {
        "demo": Entry("demo", "Write a small sample folder, index it and show three recalls."),
        "init": Entry("folder", "Make a folder a store."),
        "sync": Entry("folder", "Bring the index up to the files."),
    },
    "Recall": {
        "recall": Entry("ask", "Find what answers a question, and why it was found."),
        "cascade": Entry("ask", "Walk the graph alone, from nodes with given scores."),
        "show": Entry("look", "Show one memory, document or chunk with all that is around it."),
        "list": Entry("look", "List the memories of the index, by type and name."),
        "links": Entry("look", "List links as written, with what became of each."),
        "graph": Entry("graph", "List the edges between the most connected nodes, or around one."),
        "history": Entry("look", "List, show or compare earlier texts of a memory."),
    },
    "Write": {
        "save": Entry("write", "Make a memory, or change one."),
        "edit": Entry("write", "Edit a memory in $VISUAL or $EDITOR, or by options."),
        "restore": Entry("write", "Bring an earlier text of a memory back."),
        "forget": Entry("write", "Delete a memory or document for good."),
    },
    "Documents": {
        "add": Entry("documents", "Mirror files and folders: their text is recalled, with citations."),
        "documents": Entry("documents", "List the documents of the store."),
        "chunks": Entry("documents", "List the chunks of a document, with their places."),
        "open": Entry("documents", "Open a document with the program that the system has for it."),
        "remove": Entry("documents", "Stop mirroring a document, file, folder or page."),
    },
    "Entities": {
        "index": Entry("index", "Ask a language model what the texts mention that it has not read."),
        "auto-index": Entry("index", "Have what is written indexed without being asked to, or not."),
        "runs": Entry("runs", "List the runs of the language model, with what they cost."),
        "entities": Entry("entities", "List, show or correct the named things that texts mention."),
        "schema": Entry("schema", "List or change the types of entities and the predicates between them."),
        "proposals": Entry("proposals", "List or decide on types and predicates that models want."),
        "conflicts": Entry("conflicts", "List, show or settle what contradicts what."),
        "log": Entry("log", "List what people decided, the newest first: of entities, the vocabulary and conflicts."),
        "undo": Entry("log", "Take a decision back."),
        "confirm": Entry("log", "Say that a decision holds: one that is held takes effect."),
        "review": Entry(
            "review", "Go through all that waits for you: conflicts, suggested merges, proposals, problems."
        ),
    },
    "Agents": {
        "hook": Entry("hook", "Give an agent what belongs to each of its prompts."),
        "mcp": Entry("serve", "Serve the store, or several, to an agent by the Model Context Protocol."),
        "serve": Entry("serve", "Keep a store open and warm, so that hooks and recalls are answered at once."),
        "ui": Entry("ui", "See and edit the store in the browser."),
        "watch": Entry("serve", "Follow the files: what changes is indexed a moment later."),
    },
    "Move": {
        "import": Entry("transfer", "Take over notes, memories and conversations from other tools."),
        "export": Entry("transfer", "Write the store to a folder, a JSONL file or a zip."),
        "backup": Entry("transfer", "Write a checked zip of the whole store while others use it."),
        "restore-backup": Entry("transfer", "Bring a store back from a backup."),
    },
    "Look after": {
        "stats": Entry("health", "Show counts, folder, database and model."),
        "eval": Entry("evaluate", "Measure how well the store answers questions with known answers."),
        "doctor": Entry("health", "Check everything, and say what to do where a check fails."),
        "digest": Entry("health", "Print one sha256 over what the store says."),
        "rebuild": Entry("folder", "Build the database anew from the files and the journal."),
        "reembed": Entry("folder", "Embed what waits under the store's model."),
        "model": Entry("model", "List, use, fetch and find embedding models."),
        "stores": Entry("stores", "List the stores that have a name, or change their names."),
    },
}
"""Every command, under the heading that it has in the help."""

GROUPS = ("model", "runs", "entities", "schema", "proposals", "conflicts", "review", "hook", "stores")
"""Commands with commands of their own, each the whole of its module."""

COMMANDS = {name: entry for commands in SECTIONS.values() for name, entry in commands.items()}


@cache
def _group(module: str) -> TyperGroup:
    return get_group(import_module(f"memdb_cli.commands.{module}").commands)


class Program(TyperGroup):
    """The root command. It builds a command when it is called: building all takes longer than their work."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the sections."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        group = _group(entry.module)
        with_store(group, next(parameter for parameter in self.params if parameter.name == "store"))
        return group if cmd_name in GROUPS else group.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the words begin with. Raises UsageError, with the names that come near."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=2)
            raise UsageError(
                f"There is no command {args[0]!r}.",
                hint=f"Did you mean {' or '.join(near)}?" if near else "`memdb --help` lists them.",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list for each section."""
        column = max(len(name) for name in COMMANDS)
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(column), entry.summary) for name, entry in commands.items()])


CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def section() -> typer.Typer:
    """What a module of commands adds its commands to."""
    # rich's help and tracebacks would cost more than the program itself.
    return typer.Typer(
        rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, context_settings=CONTEXT
    )


app = typer.Typer(
    name="memdb",
    cls=Program,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _version(asked: bool) -> None:
    if asked:
        from memdb import __version__

        typer.echo(f"memdb {__version__}")
        raise typer.Exit()


@app.callback(
    invoke_without_command=True,
    epilog="\n\n".join(
        (
            notes("memdb demo", "memdb init notes", 'memdb --root notes recall "how do we deploy"'),
            exit_code_list(),
        )
    ),
)
def program(
    context: typer.Context,
    *,
    store: Store = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The long-term memory of an AI agent: a folder of Markdown files, recalled offline with reasons.

    --store, --root, --db and --json may stand before or after the command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
