"""demo: a newcomer's first minute, on a small folder of sample memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import NotWritable, Refused
from memdb_cli import screen, shapes
from memdb_cli.app import section
from memdb_cli.options import AsJson, notes

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from memdb import Store
    from memdb.services.files.sync import SyncReport

commands = section()

SAMPLES = "demo_memories"
"""The folder in this package that holds the sample files."""

QUESTIONS = (
    ("found by what it says", "how should I lay out a comparison of options"),
    ("found through a link", "what was the outage in March about"),
    ("an old note gives way to the one that replaced it", "which database does staging use"),
)
"""What each recall shows, and its question."""

SHOWN = 3
"""Hits of each recall: enough for one direct hit and what hangs on it."""


@commands.command(
    epilog=notes("memdb demo", "memdb demo --keep ~/memdb-demo", exits="4 when the folder of --keep is not empty.")
)
def demo(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Write the sample here. [default: a temporary folder]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a small sample folder, index it and show three recalls. Works with and without a model."""
    from importlib import resources

    from memdb import Store

    root = _folder(keep)
    written = _copy(resources.files("memdb_cli").joinpath(SAMPLES), root)
    # The database lies in the sample's own folder, whatever the environment says.
    with Store.init(root, db=root / ".memdb" / "memory.db") as store:
        with screen.progress() as progress:
            report = store.sync(progress=progress)
        if as_json:
            answers = [shapes.recall(store.recall(question, limit=SHOWN)) for _, question in QUESTIONS]
            embedder = store.stats()["embedder"]
            screen.as_json(
                {
                    "root": str(root),
                    "embedder": embedder,
                    "sync": shapes.sync_report(report),
                    "recalls": answers,
                }
            )
        else:
            _present(store, root, written, report)


def _present(store: Store, root: Path, written: int, report: SyncReport) -> None:
    from memdb_cli.commands.folder import quoted
    from memdb_cli.hits import print_answer

    embedder = store.stats()["embedder"]
    screen.lines([[(f"{written} sample memories are in {root}", "")]])
    if embedder["state"] == "off":
        screen.lines([[("Indexed without a model: recall uses keywords and the graph.", "yellow")]])
    else:
        screen.lines(
            [[(f"Indexed with {embedder['model']}: {screen.counted(report.embedded, 'text')} embedded, offline.", "")]]
        )
    for title, question in QUESTIONS:
        screen.lines([[("", "")], [(f"# {title}", "dim")], [(f'$ memdb recall "{question}"', "bold")]])
        # What there is to remark, that an arm is off, stands above once for all.
        print_answer(store.recall(question, limit=SHOWN), quiet=True)
    here = f"memdb --root {quoted(root)}"
    screen.lines(
        [
            [("", "")],
            [("Try next:", "bold")],
            [(f'  {here} recall "who do I call when a page is down" --explain', "")],
            [(f"  {here} show staging-database", "")],
            [("  memdb init FOLDER     makes a folder of your own a store", "")],
        ]
    )


def _folder(keep: Path | None) -> Path:
    """An empty folder. Raises Refused where the named one holds something."""
    import tempfile

    if keep is None:
        return Path(tempfile.mkdtemp(prefix="memdb-demo-")).resolve()
    folder = keep.expanduser().resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(
            f"{folder} is not an empty folder.",
            hint="Name a new folder; the sample never mixes with files of yours.",
        )
    return folder


def _copy(source: Traversable, target: Path) -> int:
    """Copy the sample files and return how many they are. Raises NotWritable."""
    count = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        for entry in sorted(source.iterdir(), key=lambda one: one.name):
            if entry.is_dir():
                count += _copy(entry, target / entry.name)
            elif entry.name.endswith(".md"):
                (target / entry.name).write_bytes(entry.read_bytes())
                count += 1
    except OSError as error:
        raise NotWritable(
            f"{target} cannot be written: {error.strerror or error}.", hint="Name another with --keep."
        ) from error
    return count
