"""What every service works on: the place, the database, the journal and the embedder of one open store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from memdb.base import database_file, files, settings
from memdb.base.embedding import Embedder
from memdb.base.journal import Journal, Record
from memdb.base.place import FOLDER, Place
from memdb.base.storage import Damaged, Database
from memdb.domain import history, remains
from memdb.errors import StoreUnreadable
from memdb.services.salvage import Salvage

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done and how much there is."""


def silent(_what: str, _done: int, _total: int) -> None:
    """The progress of someone who does not look."""


def several(paths: Sequence[Path | str] | Path | str) -> Sequence[Path | str]:
    """Some paths, or one alone: its letters are no paths, and one of them is often a dot, which is a folder."""
    return [paths] if isinstance(paths, str | Path) else paths


class Context:
    """An open store. The database is opened on first use and opened anew when another process swapped the file."""

    def __init__(self, place: Place, embedder: Embedder | None = None) -> None:
        settings.require(place)
        self.place = place
        self.journal = Journal(place.journal, settings.writer_id(place))
        self.damage: str | None = None
        self.broken_tokenizer: str | None = None  # the model whose tokenizer turned out not to work
        self.salvage: Salvage | None = None  # while a rebuild is at work: the database that it replaces
        self._embedder = embedder
        self._database: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._pinned = False

    @property
    def embedder(self) -> Embedder:
        """The store's embedder; nothing is loaded until it embeds."""
        if self._embedder is None:
            off = settings.switched_off(settings.setting(self.place, "embedder", "on"))
            model = settings.setting(self.place, "model")
            if model is not None and settings.switched_off(model):
                off, model = True, None
            self._embedder = Embedder(model or None, enabled=not off)
        return self._embedder

    def set_embedder(self, embedder: Embedder | None) -> None:
        """Use another embedder, or, with None, the one that the settings name."""
        self._embedder = embedder

    @property
    def database(self) -> Database:
        """The open database. Raises Damaged where it needs a rebuild; see `services.rebuilding.heal`."""
        if self._database is not None and self._was_swapped(self._database):
            self.close()
        if self._database is None:
            foreign_check(self.place)
            self._database = Database(self.place.database, before_write=self.place.withdraw_note)
            self._identity = file_identity(self.place.database)
        return self._database

    def _was_swapped(self, opened: Database) -> bool:
        if self._pinned or opened.connection.in_transaction:
            return False
        # With the whole folder gone (a disk that was pulled), the open file is all there is to answer from.
        return self._identity != file_identity(self.place.database) and self.place.home.is_dir()

    def use(self, database: Database) -> None:
        """Work on this database until `close`; a rebuild does, on the file that it builds aside."""
        self._database = database
        self._pinned = True

    @property
    def is_aside(self) -> bool:
        """Whether a rebuild works on a database that nobody else has: no one waits for the end of a transaction."""
        return self._pinned

    @property
    def wrote(self) -> bool:
        """Whether anything was written since the database was opened."""
        return self._database is not None and self._database.connection.total_changes() > 0

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        if self._database is not None:
            self._database.close()
            self._database = None
        self._pinned = False

    def append(self, *records: Record) -> list[Record]:
        """Journal records, then show them in the tables, inside the caller's transaction; returns them as journaled.

        The caller holds the writer lock.
        """
        if not records:
            return []
        behind = self.journal_is_ahead()
        if behind:
            self._cut_torn_line()
        stamped = self.journal.append(*records)
        if behind:
            # A process that was killed between journal and database left records that only a replay shows.
            self.replay_journal()
            return stamped
        additions = None
        for record in stamped:
            if record["kind"] in ("add", "remove") and not history.is_snapshot(record["path"]):
                additions = history.with_addition(self._additions() if additions is None else additions, record)
            else:
                self._apply(record)
        if additions is not None:
            set_additions(self.database, additions)
        self.set_journal_state(self.journal.state())
        return stamped

    def _apply(self, record: Record) -> None:
        from memdb.services.entities import curation_tables  # noqa: PLC0415 (seldom used)

        run = self.database.connection.execute
        if record["kind"] == "rename":
            moves = json.dumps(record["moves"])
            run(
                "update memory_version set memory_key = (select value from json_each(:moves) where key = memory_key)"
                " where memory_key in (select key from json_each(:moves))",
                {"moves": moves},
            )
            curation_tables.move(self.database, record["moves"])
            run(
                "update or replace memory_birth set memory_key = (select value from json_each(:moves)"
                " where key = memory_key) where memory_key in (select key from json_each(:moves))",
                {"moves": moves},
            )
            past_texts().rename(self.database, record["moves"].values())
        elif record["kind"] == "clusters":
            anchors = json.loads(self.database.meta("cluster_anchors") or "{}")
            for key in record["gone"]:
                anchors.pop(key, None)
            anchors.update(record["set"])
            self.database.set_meta("cluster_anchors", json.dumps(anchors, sort_keys=True))
        elif record["kind"] == "extraction":
            insert_extractions(self.database, [record])
        elif record["kind"] == "created":
            insert_births(self.database, {record["id"]: [record["t"]]})
        elif record["kind"] == "judgement":
            insert_judgements(self.database, [record])
        elif record["kind"] in history.DECISIONS:
            curation_tables.add(self.database, [record])
        elif record["kind"] == "snapshot":
            insert_snapshots(self.database, [history.snapshot_of(record)])
        elif record["kind"] == "remove":
            run("delete from snapshot where path = ?", (record["path"],))
        else:
            past = history.replay([record])
            past_texts().insert(self.database, past.versions)
            insert_tombstones(self.database, past.tombstones)

    def _additions(self) -> dict[str, bool]:
        return {path: bool(excluded) for path, excluded in self.database.rows("select * from addition")}

    def journal_is_ahead(self) -> bool:
        """Whether the journal has more, or other, lines than the tables show."""
        return self.journal_state() != self.journal.state()

    def journal_state(self) -> dict[str, int]:
        """How far each journal file is shown in the tables, in bytes."""
        return {str(name): int(size) for name, size in json.loads(self.database.meta("journal") or "{}").items()}

    def set_journal_state(self, state: dict[str, int]) -> None:
        self.database.set_meta("journal", json.dumps(state, sort_keys=True))

    def replay_journal(self) -> None:
        """Show the whole journal in the tables again, inside the caller's transaction.

        The caller holds the writer lock. Texts that were forgotten and came back with another machine's journal leave
        it for good. Damaged lines are brought back where the tables still show what they said.
        """
        from memdb.services.entities import curation_tables  # noqa: PLC0415 (seldom used)
        from memdb.services.health import mending  # noqa: PLC0415

        self._cut_torn_line()
        if self.journal.damaged():
            mending.mend(self)
        records = self.journal.read(history.KINDS)
        if remains.remains(records):
            self.journal.rewrite(remains.remains)
            self.database.set_meta("scrub", "forgotten")
            records = self.journal.read(history.KINDS)
        state = self.journal.state()
        past = history.replay(records)
        run = self.database.connection.execute
        known = set(self.database.rows("select key_sha256, at from tombstone"))
        fresh = {mark for mark, at in past.tombstones.items() if (mark, at) not in known}
        if fresh and self.database.value("select 1 from source"):
            # Of these, a text that is still in the tables is not a past to keep once its file is gone.
            self.set_forgotten(self.forgotten() | fresh)
            self.database.set_meta("scrub", "forgotten")
        run("delete from tombstone")
        past_texts().keep(self.database, past.versions)
        insert_tombstones(self.database, past.tombstones)
        run("delete from memory_birth")
        insert_births(self.database, past.births)
        keep_judgements(self.database, past.judgements)
        set_additions(self.database, past.additions)
        keep_extractions(self.database, past.extractions)
        curation_tables.show(self.database, past.decisions)
        run("delete from snapshot")
        insert_snapshots(self.database, past.snapshots.values())
        for digest in past.unwanted:
            with suppress(OSError):  # a file that another program has open goes with the next replay
                files.remove(*self.place.snapshot_files(digest))
        self.database.set_meta("cluster_anchors", json.dumps(past.anchors, sort_keys=True))
        self.database.set_meta("clusters_stale", "1")
        run("delete from problem where code = 'journal'")
        for name, line in self.journal.damaged():
            run(
                "insert into problem (path, line, code, reason) values (?, ?, 'journal', ?)",
                (f"{FOLDER}/journal/{name}", line, "a line of the journal cannot be read and is passed over"),
            )
        self.set_journal_state(state)

    def _cut_torn_line(self) -> None:
        """Cut off the half of a line that a killed process left in this machine's journal.

        Where tables were made of a longer file, a line that counted was damaged: it stays, to be found and mended.
        """
        if self.database.meta("journal") is not None:
            self.journal.cut_torn(self.journal_state().get(self.journal.file.name, 0))

    def show_decisions(self) -> None:
        """Show the decisions that the tables have anew, inside the caller's transaction: the system's part changed."""
        from memdb.services.entities import curation_tables  # noqa: PLC0415 (seldom used)

        curation_tables.add(self.database, [])

    def forgotten(self) -> set[str]:
        """The marks of memories that the journal says are forgotten and that the tables may still have."""
        return set(json.loads(self.database.meta("forgotten") or "[]"))

    def set_forgotten(self, marks: set[str]) -> None:
        self.database.set_meta("forgotten", json.dumps(sorted(marks)) if marks else None)


def past_texts() -> ModuleType:
    """What writes earlier texts and their words; it brings the parsers of files."""
    from memdb.services.index import version_words  # noqa: PLC0415

    return version_words


def insert_tombstones(database: Database, tombstones: Mapping[str, str]) -> None:
    """Insert the marks of what was forgotten."""
    database.connection.executemany("insert or replace into tombstone values (?, ?)", list(tombstones.items()))


def insert_births(database: Database, births: Mapping[str, Iterable[str]]) -> None:
    """Insert the times at which memories came to be."""
    database.connection.executemany(
        "insert or ignore into memory_birth values (?, ?)", [(key, at) for key, times in births.items() for at in times]
    )


def keep_judgements(database: Database, records: Sequence[Record]) -> None:
    """Make the judgements those of the journal; what stays the same is not touched: nothing follows from it anew."""
    named = ("text_sha256", "other_sha256", "prompt_sha256", "model")
    latest = {tuple(one[name] for name in named): one for one in records}
    have = set(database.rows("select text_sha256, other_sha256, prompt_sha256, model, at from judgement"))
    database.connection.executemany(
        "delete from judgement"
        " where text_sha256 = ? and other_sha256 = ? and prompt_sha256 = ? and model = ? and at = ?",
        sorted(have - {(*key, one["t"]) for key, one in latest.items()}),
    )
    insert_judgements(database, [one for key, one in latest.items() if (*key, one["t"]) not in have])


def insert_judgements(database: Database, records: Iterable[Record]) -> None:
    """Insert what models said of pairs of texts; asked twice for the same, the later one counts."""
    database.connection.executemany(
        "insert or replace into judgement (text_sha256, other_sha256, prompt_sha256, model, at, verdict, quote,"
        " other_quote, input_tokens, output_tokens, cost) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                record["text_sha256"],
                record["other_sha256"],
                record["prompt_sha256"],
                record["model"],
                record["t"],
                record["verdict"],
                *(record.get("quotes") or (None, None)),
                record.get("input_tokens"),
                record.get("output_tokens"),
                record.get("cost"),
            )
            for record in records
        ],
    )


def insert_extractions(database: Database, records: Iterable[Record]) -> None:
    """Insert outputs of models; asked twice for the same, the later one counts."""
    database.connection.executemany(
        "insert or replace into extraction (text_sha256, prompt_sha256, model, at, output, refused, input_tokens,"
        " output_tokens, cost) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                record["text_sha256"],
                record["prompt_sha256"],
                record["model"],
                record["t"],
                json.dumps(record["output"], ensure_ascii=False),
                json.dumps(record.get("refused", [])),
                record.get("input_tokens"),
                record.get("output_tokens"),
                record.get("cost"),
            )
            for record in records
        ],
    )


def keep_extractions(database: Database, records: Sequence[Record]) -> None:
    """Make the ledger that of the journal; what stays the same is not touched, so that no text is read again for it."""
    have = set(database.rows("select text_sha256, prompt_sha256, model, at from extraction"))
    latest = {(one["text_sha256"], one["prompt_sha256"], one["model"]): one for one in records}
    gone = have - {(*key, one["t"]) for key, one in latest.items()}
    if gone:
        # What stood by an output that is gone is read again, without it.
        database.connection.executemany(
            "insert or replace into extract_waiting select id, 'read' from (select id, text_sha256 from memory"
            " union all select id, text_sha256 from chunk) where text_sha256 = ?",
            [(key[0],) for key in sorted(gone)],
        )
        database.connection.executemany(
            "delete from extraction where text_sha256 = ? and prompt_sha256 = ? and model = ? and at = ?", sorted(gone)
        )
    insert_extractions(database, [one for key, one in latest.items() if (*key, one["t"]) not in have])


def set_additions(database: Database, additions: dict[str, bool]) -> None:
    """Write what was added and what of it is excluded."""
    database.connection.execute("delete from addition")
    database.connection.executemany("insert into addition values (?, ?)", [(p, int(x)) for p, x in additions.items()])


def insert_snapshots(database: Database, snapshots: Iterable[history.Snapshot]) -> None:
    """Write what was fetched or uploaded, in place of what the same paths had."""
    database.connection.executemany(
        "insert or replace into snapshot (path, link, sha256, suffix, content_type, fetched_at)"
        " values (?, ?, ?, ?, ?, ?)",
        [(s.path, s.link, s.sha256, s.suffix, s.content_type, s.fetched_at) for s in snapshots],
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and file number: changes when another file takes the name."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


SQLITE_HEADER = b"SQLite format 3\x00"


def foreign_check(place: Place) -> None:
    """Raise rather than touch a file that was named with --db and is no memdb database."""
    if place.database.is_relative_to(place.home) or not place.database.is_file():
        return
    try:
        header = database_file.head(place.database, 72)
    except OSError as error:
        raise StoreUnreadable(f"{place.database} cannot be read: {error.strerror}") from error
    if header and not header.startswith(SQLITE_HEADER):
        raise StoreUnreadable(
            f"{place.database} is no SQLite file, and memdb does not replace it.", hint="Name another file with --db."
        )


__all__ = ["Context", "Damaged", "Progress", "silent"]
