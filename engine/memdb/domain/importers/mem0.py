"""What mem0 exports: a JSON list of memories, or an object with that list under `results` or `memories`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from memdb.base.archives import Tree
from memdb.base.json_stream import NotJson, elements
from memdb.base.text import sha256_text
from memdb.domain import frontmatter
from memdb.domain.importers.naming import slug
from memdb.domain.importers.records import CannotImport, Item, Note, is_given, iso_time, text_of

LISTS = ("results", "memories", "data")
"""Where an object has the memories."""

TEXTS = ("memory", "text", "data", "content")
"""Where a record has its text, the first that is there: platform, older library, vector store, others."""

PEOPLE = ("user_id", "agent_id", "run_id", "app_id")
"""Of whom a memory is; kept under the same names."""

_TIMES = {"created_at": "created", "updated_at": "modified", "expiration_date": "valid_to"}


class Mem0:
    """One note for each memory, called by its first words."""

    kind = "mem0"

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.left: Counter[str] = Counter()

    def items(self) -> Iterator[Item]:
        self.left = Counter()
        number = 0
        with self.tree.open(self.path) as stream:
            try:
                for record in elements(stream, LISTS):
                    for one in _unfolded(record):
                        number += 1
                        if is_memory(one):
                            yield self._note(one, number)
                        else:
                            self.left["records without a text"] += 1
            except NotJson as error:
                raise CannotImport(f"{self.path}: {error.message}", hint="Export it again.") from error

    def _note(self, record: dict[str, Any], number: int) -> Note:
        text = _text(record).strip()
        payload = record.get("payload")
        if isinstance(payload, dict):
            record = {**payload, **{key: value for key, value in record.items() if key != "payload"}}
        id_ = text_of(record.get("id")) or text_of(record.get("hash")) or sha256_text(text)[:16]
        fields: dict[str, object] = {"tags": _tags(record)}
        for key, name in _TIMES.items():
            fields[name] = iso_time(record.get(key))
        fields |= {"imported_from": self.kind, "imported_id": id_}
        fields |= {key: text_of(record.get(key)) for key in PEOPLE}
        texts = [key for key in TEXTS if text_of(record.get(key)).strip() == text]
        used = {"id", "categories", *_TIMES, *PEOPLE, *texts}
        more = {key: value for key, value in record.items() if key not in used and is_given(value)}
        if more:
            fields["mem0"] = more
        data = frontmatter.render(fields, text).encode("utf-8", "replace")
        return Note(id_, f"{self.path}: record {number}", slug(text), data)


def is_memory(record: Any) -> bool:
    """Whether a JSON value is a memory of mem0: it has a text, and an id or a name of whom it is."""
    return isinstance(record, dict) and bool(_text(record).strip())


def _text(record: dict[str, Any]) -> str:
    for holder in (record, record.get("payload")):
        if isinstance(holder, dict):
            for key in TEXTS:
                if isinstance(holder.get(key), str) and holder[key].strip():
                    return text_of(holder[key])
    return ""


def _tags(record: dict[str, Any]) -> list[str]:
    given = record.get("categories")
    names = given if isinstance(given, list) else [given]
    return [text_of(name).strip().replace(" ", "-") for name in names if text_of(name).strip()]


def _unfolded(record: Any) -> Iterator[Any]:
    """A record, or those of an object that holds the list deeper."""
    if isinstance(record, dict) and not _text(record):
        for key in LISTS:
            if isinstance(record.get(key), list | dict):
                inner = record[key]
                for one in inner if isinstance(inner, list) else [inner]:
                    yield from _unfolded(one)
                return
    yield record
