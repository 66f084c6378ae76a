"""A store that uses every feature, around texts whose words stand nowhere else, and a search of its bytes for them."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memdb.base import files
from memdb.domain import history
from memdb.services.documents import snapshots
from memdb.store import Store
from tests.answer_support import answer
from tests.fake_embedder import FakeEmbedder

MEMORY = "feedback/xylophone-plan"
ADDRESS = "https://gossamer.example/pages/gossamer.html"
UPLOAD = "mandolin.md"

WORDS = {
    "memory": ("quokkas", "zanzibar", "obsidian", "periwinkle", "marzipan", "quillon", "vastra", "brontide"),
    "document": ("sphagnum", "tessellate", "ormolu", "galligaskin"),
    "upload": ("mandolin", "farthingale", "thaumaturge"),
    "page": ("gossamer", "clepsydra", "halcyonic"),
}
"""By what holds them: words that stand in it, or were made of it, and in nothing else of the store."""

SAID = {
    "memory": answer(
        ("Quillon Vastra", "person"),
        ("Brontide", "tool"),
        ("Lantern", "project"),
        said=(("Quillon Vastra", "works_on", "Lantern"), ("Lantern", "uses", "Brontide")),
    ),
    "document": answer(
        ("Ormolu Works", "organization"), ("Lantern", "project"), said=(("Lantern", "part_of", "Ormolu Works"),)
    ),
    "upload": answer(("Farthingale", "tool")),
    "page": answer(("Clepsydra", "tool")),
}
"""What a model says of each."""


@dataclass
class Full:
    """The store, what its texts' vectors are made of, and where it lies."""

    store: Store
    embedder: FakeEmbedder
    docs: Path
    texts: dict[str, list[str]] = field(default_factory=dict)  # by part: the texts that were embedded
    hashes: dict[str, set[str]] = field(default_factory=dict)  # by part: sha256 of texts and files, in hex

    @property
    def root(self) -> Path:
        return self.store.place.root

    def needles(self, part: str) -> dict[str, bytes]:
        """What must be in no file once a part is forgotten, by a name: words, pieces of vectors, bits, hashes."""
        found = {f"word {word}": word.encode() for word in WORDS[part]}
        for number, text in enumerate(self.texts[part]):
            vector = self.embedder._vector(text)
            # SQLite may cut a long value at the edge of a page: a piece of it is as telling.
            for at in (0, 900, 1800):
                found[f"vector {number} from byte {at}"] = vector.tobytes()[at : at + 48]
            bits = np.packbits(vector > 0, bitorder="little").tobytes()
            found[f"bits {number}"] = bits[:32]
        for number, one in enumerate(sorted(self.hashes[part])):
            found[f"sha256 {number}"] = one.encode()
            found[f"sha256 {number}, as bytes"] = bytes.fromhex(one)
        return found


def traces(root: Path, needles: dict[str, bytes]) -> set[tuple[str, str]]:
    """Which of some bytes are in which file below a folder, in any case of letters, also inside of zips."""
    wanted = {name: needle.lower() for name, needle in needles.items()}
    return {
        (place, name)
        for place, data in _contents(root)
        for lower in [data.lower()]
        for name, needle in wanted.items()
        if needle in lower
    }


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(root.rglob("*")):
        yield f"the name of {file.relative_to(root)}", file.name.encode("utf-8", "surrogateescape")
        if not file.is_file():
            continue
        data = file.read_bytes()
        place = str(file.relative_to(root))
        yield place, data
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                for entry in archive.namelist():
                    yield f"{place}!{entry}", entry.encode() + archive.read(entry)
        else:
            for packed in _inflated(data):
                yield f"{place} (inflated)", packed


def _inflated(data: bytes) -> Iterable[bytes]:
    for head in (b"\x1f\x8b\x08", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        at = data.find(head)
        while at >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj(wbits=47).decompress(data[at:])
            at = data.find(head, at + 1)


def full_store(where: Path) -> Full:
    """A store in `where/root` beside the documents of `where/docs`, with every feature used on the texts of `WORDS`."""
    root, docs = where / "root", where / "docs"
    embedder = FakeEmbedder(window=24)
    _write(root, _others() | {"feedback/first.md": FIRST})
    _write(docs, {"moss.md": MOSS, "other.md": "# Other\n\nThe Lantern is lit at dusk.\n"})
    store = Store.init(root, embedder=embedder)
    made = Full(store, embedder, docs)
    store.sync()
    _memory(made)
    _documents(made)
    _model(made)
    _decisions(made)
    _around(made)
    for part in WORDS:
        made.hashes[part] = {*made.hashes.get(part, ()), *(_sha256(text) for text in made.texts[part])}
    return made


FIRST = "---\ntags: [marzipan]\naliases: [xylophone]\n---\nThe xylophone plays, quokkas listen.\n"
SAVED = "Zanzibar is far. Quillon Vastra keeps the Lantern on Brontide there. " * 8
EDITED = (
    "Periwinkle is a colour, zanzibar a place. Quillon Vastra keeps the Lantern on Brontide. The "
    "harbour port is 5432.\n"
)
MOSS = (
    "# Sphagnum\n\nTo tessellate takes patience at Ormolu Works.\n\n## Galligaskin\n\nThe "
    "Lantern is a part of Ormolu Works.\n"
)
MOSS_BEFORE = MOSS.replace("patience", "sphagnum and patience")
TOLD = "# Mandolin\n\nA farthingale is worn by the thaumaturge.\n"
PAGE = (
    "<html><head><title>Gossamer</title></head><body><h1>Gossamer</h1><p>The clepsydra is "
    "halcyonic today.</p></body></html>"
)


def _others() -> dict[str, str]:
    topics = ["tea", "coffee", "juice", "milk", "water", "soda", "cider"]
    found = {
        f"user/other{number}.md": f"# Other {number}\n\nText {number} on {topic}; the Lantern again.\n"
        for number, topic in enumerate(topics)
    }
    return found | {
        "user/port.md": "The harbour port is 6543.\n",
        "user/keeper.md": "Ines keeps the Lantern on Lathe.\n",
    }


def _write(root: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")


def _sha256(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def _memory(made: Full) -> None:
    """The memory is renamed, saved, restated, edited outside, brought back and linked to."""
    store, root = made.store, made.root
    (root / "feedback/first.md").rename(root / f"{MEMORY}.md")
    store.sync()
    store.save(MEMORY, SAVED, description="obsidian", fields={"mood": "zanzibar"})
    store.save("feedback/again", SAVED.replace("far.", "far,"))
    store.restore(MEMORY, 1)
    (root / f"{MEMORY}.md").write_text(EDITED, encoding="utf-8", newline="\n")
    store.sync()
    store.save("reference/pointer", "See the plan.\n", tags=["style"])
    # A link has the name of the memory in the text of another one, which is that one's.
    store.relate("reference/pointer", MEMORY)
    made.texts["memory"] = [text for text in made.embedder.read if _has(text, "memory")]
    made.hashes["memory"] = {_sha256(text) for text in (FIRST, SAVED, EDITED)}
    made.hashes["memory"] |= {
        digest for (digest,) in _rows(made, "select sha256 from memory_version where memory_key = ?", MEMORY)
    }


def _documents(made: Full) -> None:
    store, docs = made.store, made.docs
    _write(docs, {"moss.md": MOSS_BEFORE})
    store.add([docs])
    _write(docs, {"moss.md": MOSS})
    store.sync()
    store.add_text(UPLOAD, TOLD)
    page = snapshots.Page(ADDRESS, PAGE.encode(), ".html", ADDRESS, "text/html")
    store._run(lambda context: snapshots.keep(context, page))
    store.sync()
    for path in (f"upload://{UPLOAD}", ADDRESS):
        store._run(partial(snapshots.opened_copy, path=path))
    for part in ("document", "upload", "page"):
        made.texts[part] = [text for text in made.embedder.read if _has(text, part)]
    made.hashes |= {
        "document": {_sha256(MOSS), _sha256(MOSS_BEFORE)},
        "upload": {_sha256(TOLD)},
        "page": {_sha256(PAGE)},
    }


def _has(text: str, part: str) -> bool:
    return any(word in text.casefold() for word in WORDS[part])


def _rows(made: Full, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    return made.store._run(lambda context: context.database.rows(statement, values))


def _model(made: Full) -> None:
    """Answers, verdicts, a run with its log, a failure, a claim: what asking a model leaves."""
    store = made.store
    keys = {part: [key for (key,) in _rows(made, STATED[part])] if part != "memory" else [MEMORY] for part in WORDS} | {
        "other": ["user/keeper"]
    }
    said = SAID | {"other": answer(("Lantern", "project"), ("Lathe", "tool"), said=(("Lantern", "uses", "Lathe"),))}

    def tell(context: Any) -> None:
        with files.writer(context.place), context.database.write() as connection:
            for part, known in keys.items():
                for key in known:
                    digest = context.database.value(TEXT_OF, (key,))
                    if part in WORDS:
                        made.hashes[part].add(digest)
                    context.append(history.extraction_record(key, digest, "0" * 64, "m", said[part], cost=0.5))
                    connection.execute(
                        "insert into failure values (?, ?, 'm', 1, ?)",
                        (digest, "1" * 64, f"the answer has no {WORDS.get(part, ['x'])[0]}"),
                    )
            pair = (MEMORY, "user/port")
            digests = tuple(context.database.value(TEXT_OF, (key,)) for key in pair)
            quotes = ("zanzibar a place", "The harbour port is 6543")
            context.append(history.judgement_record(pair, digests, "0" * 64, "m", "contradicts", quotes=quotes))
            connection.execute(
                "insert into run (id, kind, state, started_at, message) values (1, 'index', 'failed', '2026-01-01', ?)",
                (f"{MEMORY}: the endpoint failed",),
            )
            for part, known in keys.items():
                for key in known:
                    connection.execute(
                        "insert into run_event (run_id, at, node, kind, message) values (1, '2026-01-01', ?, 'held', "
                        "?)",
                        (key, f"{' '.join(WORDS.get(part, ()))} is no type"),
                    )
            digest = context.database.value(TEXT_OF, (MEMORY,))
            connection.execute("insert into claim values (?, 1, 0)", (digest,))

    store._run(tell)
    store.sync()


STATED = {
    "document": "select node.key from chunk join node on node.id = chunk.id where text like '%Ormolu%'",
    "upload": "select node.key from chunk join node on node.id = chunk.id where text like '%farthingale%'",
    "page": "select node.key from chunk join node on node.id = chunk.id where text like '%clepsydra%'",
}
TEXT_OF = (
    "select coalesce(memory.text_sha256, chunk.text_sha256) from node left join memory on memory.id = node.id"
    " left join chunk on chunk.id = node.id where key = ?"
)


def _decisions(made: Full) -> None:
    """Names are corrected, merged, deleted, told apart; conflicts are settled: all of them name what the texts name."""
    store = made.store
    store.entities.rename("Quillon Vastra", "Quillon V.", why="zanzibar says so")
    store.entities.retype("Quillon V.", "organization")
    store.entities.distinct("Brontide", "Lathe", why="brontide is another")
    store.entities.merge("Brontide", "Lathe", why="brontide after all")
    store.undo(store.log(limit=1)[0].id, why="brontide stays")
    store.entities.delete("Farthingale", why="worn by the thaumaturge")
    store.entities.rename("Clepsydra", "Clepsydra Clock")
    store.entities.rename("Ormolu Works", "Ormolu")
    store.entities.rename("Lantern", "The Lantern", why="so it is called")
    for conflict in store.conflicts.list():
        if any(MEMORY in (source.id for source in side.sources) for side in conflict.sides):
            store.conflicts.resolve(conflict.id, "keep-both", why="zanzibar and the harbour")
    store.sync()


def _around(made: Full) -> None:
    """What asking, moving and saving copies leaves: session stashes, backups, exports, files of other machines."""
    store = made.store
    for part, words in WORDS.items():
        store.prompt_block(store.recall(" ".join(words)), 100_000, session=f"session {part}")
    store.backup()
    home = store.place.home
    for name in ("memory.db.rebuild", "memory.db.rebuild-wal", "journal/.memdb-x.tmp", "local/.memdb-y.tmp"):
        (home / name).write_text(json.dumps(WORDS), encoding="utf-8")
