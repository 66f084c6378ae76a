"""Problems in a review: files that do not parse, links with several targets, texts that the language model fails on.

Nothing here is decided: a file is edited, or what failed is tried again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from memdb.errors import UsageError
from memdb.services.context import Context
from memdb.services.extraction.extraction_plans import MOST_TRIES
from memdb.services.review.review_items import Choice, Done, Line, ReviewItem, Source, item_id, parts_of

KIND = "problem"

FAILING = item_id(KIND, "index", "failing")
"""The one item for all texts that failed too often: their cause is mostly one endpoint."""

MOST_SHOWN = 5
"""Failing texts that are named: enough to see what they have in common."""

ADVICE = {
    "content": "Its body is indexed all the same; correct the frontmatter.",
    "unreadable": "It is not in the index. Correct the file, or its permissions, and run `memdb sync`.",
    "duplicate_id": "Both are in the index. Rename one, or give it another `name`.",
    "document": "The document is not in the index. `memdb remove` stops mirroring it.",
    "addition": "`memdb add` takes another path; `memdb remove` forgets this one.",
    "journal": "Run `memdb doctor --fix`; what it cannot bring back, version control has, where it keeps the journal.",
    "walk": "Correct it in the folder, and run `memdb sync`.",
}
"""What to do beside an edit, by the code of the problem."""

MEANT = "Write the id of the one that is meant, such as [[type/name]]."

IN_FILES = """select problem.path, line, code, reason, node.key
from problem
left join source on source.path = problem.path
left join memory on memory.source_id = source.id
left join node on node.id = memory.id
where ?1 is null or problem.path = ?1
order by problem.path, line, code, reason"""

AMBIGUOUS = """select source.path, link.line, raw, target, candidates, node.key
from link
join memory on memory.id = link.memory_id
join node on node.id = memory.id
join source on source.id = memory.source_id
where link.status = 'ambiguous' and (?1 is null or source.path = ?1)
order by source.path, link.line, raw"""


def items(context: Context) -> Iterator[ReviewItem]:
    """The files with problems or ambiguous links, by path, then what the language model failed on."""
    yield from _of_files(context, None)
    failing = _failing(context)
    if failing is not None:
        yield failing


def _of_files(context: Context, path: str | None) -> Iterator[ReviewItem]:
    """One item for each file: it is one edit."""
    wrong: dict[str, list[tuple[int, str, tuple[Line, ...]]]] = defaultdict(list)  # by path: line, what, detail
    memories: set[str] = set()
    for file, line, code, reason, key in context.database.rows(IN_FILES, (path,)):
        advice = (Line("hint", ADVICE[code]),) if code in ADVICE else ()
        wrong[file].append((line or 0, str(reason), advice))
        memories.update([file] if key else [])
    for file, line, raw, target, candidates, _ in context.database.rows(AMBIGUOUS, (path,)):
        found = json.loads(candidates or "[]")
        named = (*(Line("source", one) for one in found), Line("hint", MEANT))
        wrong[file].append((line or 0, f"{raw or target} can mean {len(found)} memories", named))
        memories.add(file)
    for file in sorted(wrong, key=lambda one: item_id(KIND, one)):
        yield _of_file(file, sorted(wrong[file], key=lambda one: one[:2]), file in memories)


def _of_file(path: str, wrong: list[tuple[int, str, tuple[Line, ...]]], is_memory: bool) -> ReviewItem:
    detail: list[Line] = []
    for line, what, more in wrong:
        said = Line("fact", f"line {line}: {what}" if line else what)
        if said in detail:
            continue  # two equal links on one line are one thing to correct
        # Advice that holds for several stands behind the last of them.
        detail = [one for one in detail if one.role != "hint" or one not in more]
        detail += [said, *more]
    line, what, _ = wrong[0]
    place = f"{path} line {line}" if line else path
    count = sum(one.role == "fact" for one in detail)
    return ReviewItem(
        item_id(KIND, path),
        KIND,
        f"{place}: {what}" if count == 1 else f"{path} has {count} problems",
        tuple(detail),
        (Choice("e", "edit", "open the file in your editor", here=False),) if is_memory else (),
        file=path if is_memory else None,
    )


def _failing(context: Context) -> ReviewItem | None:
    rows = context.database.rows(
        "select node.key, failure.reason from failure"
        " join (select id, text_sha256 from memory union all select id, text_sha256 from chunk) as text"
        " using (text_sha256) join node on node.id = text.id where times >= ? order by node.key, failure.reason",
        (MOST_TRIES,),
    )
    if not rows:
        return None
    reasons = {key: reason for key, reason in reversed(rows)}
    texts = sorted(reasons)
    detail = [line for key in texts[:MOST_SHOWN] for line in (Line("source", key), Line("fact", reasons[key]))]
    if len(texts) > MOST_SHOWN:
        detail.append(Line("fact", f"and {len(texts) - MOST_SHOWN} more"))
    detail.append(Line("hint", "`memdb runs` says why; `memdb index --rebuild` tries them again."))
    return ReviewItem(
        FAILING,
        KIND,
        f"The language model failed on {len(texts)} {'text' if len(texts) == 1 else 'texts'} too often",
        tuple(detail),
        (),
    )


def find(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """A problem by its key."""
    if f"{KIND}:{key}" == FAILING:
        return _failing(context)
    [path] = parts_of(key)[:1]
    return next(_of_files(context, path), None)


def answer(_context: Context, key: str, _choice: Choice, _text: str | None, _why: str | None) -> Done:
    """No problem is settled by an answer: raises UsageError."""
    raise UsageError(f"{KIND}:{key} is settled by an edit, not by an answer.", hint="Its detail says what to do.")


SOURCE = Source(KIND, items, find, answer)
