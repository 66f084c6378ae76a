"""What Claude's export has beside conversations: what Claude remembers of a person, and projects with their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memdb.base.archives import Tree
from memdb.base.json_stream import NotJson, elements
from memdb.domain import frontmatter
from memdb.domain.importers.records import CannotImport, Note, is_given, iso_time, text_of

FILES = ("memories.json", "projects.json")

_PROJECT = {"uuid", "name", "description", "prompt_template", "created_at", "updated_at", "docs"}
_QUIET = {"creator", "is_private", "is_starter_project", "account_uuid"}


def notes(tree: Tree, left: Counter[str]) -> Iterator[Note]:
    """A note for each memory, project and text of a project. Raises CannotImport."""
    for path in (path for path in FILES if path in tree.entries):
        with tree.open(path) as stream:
            try:
                for record in elements(stream, ("projects", "memories")):
                    if isinstance(record, dict):
                        yield from _memories(record, path) if path == FILES[0] else _project(record, path, left)
            except NotJson as error:
                raise CannotImport(f"{path}: {error.message}", hint="Export it again, or unpack it anew.") from error


def _memories(record: dict[str, Any], path: str) -> Iterator[Note]:
    told = text_of(record.get("conversations_memory")).strip()
    if told:
        yield _note("memory", f"{path}: memory", "claude/memory", {"name": "What Claude remembers"}, told, type="user")
    of_projects = record.get("project_memories")
    for project, text in of_projects.items() if isinstance(of_projects, dict) else ():
        if text_of(text).strip():
            name = {"name": f"What Claude remembers of project {project[:8]}"}
            id_, wanted = f"memory/{project}", f"claude/memory of {project[:8]}"
            yield _note(id_, f"{path}: {id_}", wanted, name, text_of(text), type="project")


def _project(record: dict[str, Any], path: str, left: Counter[str]) -> Iterator[Note]:
    id_, name = text_of(record.get("uuid")), text_of(record.get("name")).strip() or "untitled"
    left.update(f"project field {key}" for key in record if key not in _PROJECT | _QUIET and is_given(record[key]))
    place = f"{path}: {name}"
    times = {"created": iso_time(record.get("created_at")), "modified": iso_time(record.get("updated_at"))}
    text = "\n\n".join(filter(None, (text_of(record.get(key)).strip() for key in ("description", "prompt_template"))))
    if text:
        yield _note(
            id_ or name, place, f"claude/{name.replace('/', '-')}", {"name": name, **times}, text, type="project"
        )
    docs = record.get("docs")
    for number, doc in enumerate(docs if isinstance(docs, list) else [], start=1):
        content = text_of(doc.get("content")).strip() if isinstance(doc, dict) else ""
        if content:
            file = text_of(doc.get("filename")).strip() or f"text {number}"
            fields = {"name": file, "created": iso_time(doc.get("created_at")), "project": name}
            wanted = f"claude/{name.replace('/', '-')}/{file.replace('/', '-').removesuffix('.md')}"
            yield _note(text_of(doc.get("uuid")) or f"{id_}/{file}", f"{place}: {file}", wanted, fields, content)


def _note(
    id_: str, place: str, path: str, fields: Mapping[str, str | None], text: str, *, type: str | None = None
) -> Note:
    about = {**fields, "imported_from": "claude", "imported_id": id_}
    return Note(id_, place, path, frontmatter.render(about, text).encode("utf-8", "replace"), type)
