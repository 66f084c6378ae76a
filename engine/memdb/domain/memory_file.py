"""Read a memory from the bytes of its file: text, secrets, frontmatter, links."""

from __future__ import annotations

import json

from memdb.base import secrets as secret_finder
from memdb.base import text as texts
from memdb.domain import frontmatter, markdown
from memdb.domain.frontmatter import Problem
from memdb.domain.memories import Link, Memory, clean_type, split_path


def read_memory(path: str, data: bytes) -> Memory:
    """The memory in a file's bytes. Raises UndecodableText where they are no text; every other flaw is a problem."""
    whole = texts.plain(texts.decode(data).text)
    problems: list[Problem] = []
    found = secret_finder.find_secrets(whole)
    for secret in found:
        problems.append(
            Problem(secret.line, f"looks like a credential ({secret.category}): redacted and not embedded; "
                    f"{secret_finder.advice(secret.category)}")
        )  # fmt: skip
    if found:
        whole = secret_finder.redact(whole)
    parsed = frontmatter.parse(whole)
    folder_type, rest = split_path(path)
    kind = folder_type or clean_type(parsed.type)
    stem = rest.rpartition("/")[2]
    return Memory(
        path=path,
        key=f"{kind}/{rest}",
        type=kind,
        name=parsed.name or stem,
        title=parsed.h1,
        description=parsed.description,
        tags=parsed.tags,
        aliases=parsed.aliases,
        head=whole[: len(whole) - len(parsed.body)] if parsed.body else whole,
        body=parsed.body,
        body_line=parsed.body_line,
        frontmatter=json.dumps(parsed.frontmatter, ensure_ascii=False, sort_keys=False),
        created=parsed.created,
        modified=parsed.modified,
        happened_at=parsed.happened_at,
        valid_from=parsed.valid_from,
        valid_to=parsed.valid_to,
        links=_links(parsed),
        has_secret=bool(found),
        problems=(*parsed.problems, *problems),
    )


def _links(parsed: frontmatter.MemoryText) -> tuple[Link, ...]:
    written = [
        Link("wikilink", link.raw, link.written, link.heading, link.block, link.label, link.embed, link.line)
        for link in markdown.wiki_links(parsed.body, parsed.body_line)
        if link.target
    ]
    replaced = [Link("supersedes", target, target, None, None, None, False, None) for target in parsed.supersedes]
    return (*written, *replaced)
