"""The file of the MCP memory server: entities with observations, and relations between them, one JSON object a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memdb.base.archives import Tree
from memdb.base.json_stream import NotJson, elements
from memdb.domain import frontmatter
from memdb.domain.importers.naming import safe_name
from memdb.domain.importers.records import CannotImport, Item, Note, is_given, text_of

LISTS = ("entities", "relations")
"""Where a JSON file instead of JSONL has them."""

_UNLINKABLE = re.compile(r"[\[\]|#^\n]")
_ENTITY = {"type", "name", "entityType", "observations"}
_RELATION = {"type", "from", "to", "relationType"}


@dataclass(slots=True)
class _Entity:
    name: str
    kinds: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


class McpMemory:
    """One note for each entity; relations are links in the note of the entity that they go out from."""

    kind = "mcp-memory"

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.left: Counter[str] = Counter()

    def items(self) -> Iterator[Item]:
        self.left = Counter()
        entities: dict[str, _Entity] = {}
        relations: list[tuple[str, str, str]] = []
        for record in self._records():
            if is_relation(record):
                relations.append((text_of(record["from"]), text_of(record.get("relationType")), text_of(record["to"])))
                self.left.update(f"relation field {key}" for key in record if key not in _RELATION)
            elif is_entity(record):
                self._take(entities, record)
            else:
                self.left["records that are no entity and no relation"] += 1
        for source, predicate, target in relations:
            if source in entities:
                entities[source].relations.append((predicate or "relates_to", target))
            else:
                self.left[f"relations of an entity that is not in the file ({source!r})"] += 1
        for entity in entities.values():
            yield self._note(entity)

    def _records(self) -> Iterator[Any]:
        with self.tree.open(self.path) as stream:
            try:
                yield from elements(stream, LISTS, self._broken)
            except NotJson as error:
                raise CannotImport(f"{self.path}: {error.message}", hint="Mend it, then run it again.") from error

    def _broken(self) -> None:
        self.left["lines that are not valid JSON"] += 1

    def _take(self, entities: dict[str, _Entity], record: dict[str, Any]) -> None:
        name = text_of(record["name"]).strip()
        entity = entities.setdefault(name, _Entity(name))
        kind = text_of(record.get("entityType")).strip()
        if kind and kind not in entity.kinds:
            entity.kinds.append(kind)
        given = record.get("observations")
        for one in given if isinstance(given, list) else [given]:
            text = text_of(one.get("content", one.get("text")) if isinstance(one, dict) else one).strip()
            if text and text not in entity.observations:
                entity.observations.append(text)
        entity.more.update({key: value for key, value in record.items() if key not in _ENTITY and is_given(value)})

    def _note(self, entity: _Entity) -> Note:
        lines = [f"- {_indented(text)}" for text in entity.observations]
        if entity.relations:
            lines += ["", "## Relations", ""] if lines else ["## Relations", ""]
            lines += [f"- {_indented(predicate)} {_link(target)}" for predicate, target in entity.relations]
        fields: dict[str, object] = {
            "name": entity.name,
            "description": ", ".join(entity.kinds),
            "tags": [re.sub(r"[\s,]+", "-", kind) for kind in entity.kinds],
            "imported_from": self.kind,
            "imported_id": entity.name,
        }
        if entity.more:
            fields["mcp_memory"] = entity.more
        data = frontmatter.render(fields, "\n".join(lines)).encode("utf-8", "replace")
        path = _UNLINKABLE.sub("-", entity.name.replace("/", "-"))
        return Note(entity.name, f"{self.path}: {entity.name}", path, data, names=(entity.name,))


def is_entity(record: Any) -> bool:
    """Whether a JSON value is an entity of this server."""
    return (
        isinstance(record, dict)
        and bool(text_of(record.get("name")).strip())
        and ("observations" in record or "entityType" in record)
    )


def is_relation(record: Any) -> bool:
    """Whether it is a relation."""
    return isinstance(record, dict) and all(text_of(record.get(key)).strip() for key in ("from", "to"))


def _indented(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\n  ")


def _link(target: str) -> str:
    """A link to an entity; of a name that no link can hold, to its file."""
    if not _UNLINKABLE.search(target):
        return f"[[{target}]]"
    shown = re.sub(r"[\[\]|\n]", " ", target)
    return f"{shown} [[{_UNLINKABLE.sub('-', safe_name(target.replace('/', '-')))}]]"
