"""A review as a file: one line for each item, `skip` in front until an answer takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from memdb.errors import MemdbError, UsageError
from memdb_cli import review_screen, screen

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.review.review_items import Answered, Choice, ReviewItem

SKIP = "skip"

WIDTH = 100
"""Columns of the comments: the file is the same whatever the terminal."""

HEAD = """\
# {count}. Write an answer in place of `skip` where you have one; what is skipped or deleted waits on.
# Behind the id stands the text of an answer that takes one, on the same line.
# Nothing is done before every line is right. Lines that begin with # are passed over.
"""


@dataclass(frozen=True, slots=True)
class Order:
    """A line that answers: its number from 1, the item as it was, the choice, and the text behind it."""

    line: int
    item: ReviewItem
    choice: Choice
    text: str | None


@dataclass(slots=True)
class Outcome:
    """What came of a file: answers by line, and errors by line."""

    answered: list[tuple[int, Answered]] = field(default_factory=list)
    failed: list[tuple[int, ReviewItem, MemdbError]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As `{answered: [{line, item, choice, said, decision}], failed: [{line, item, error}]}`."""
        return {
            "answered": [{"line": line, **asdict(answered)} for line, answered in self.answered],
            "failed": [{"line": line, "item": item.id, "error": e.as_dict()} for line, item, e in self.failed],
        }


def written(items: Sequence[ReviewItem]) -> str:
    """The file for some items, each with its detail and its answers in comments."""
    parts = [HEAD.format(count=f"{screen.counted(len(items), 'item')} to review")]
    for item in items:
        said = [f"# {item.kind}: {screen.cell(item.title)}"]
        for parts_of_line in review_screen.detail(item.detail, WIDTH):
            said.append("# " + "".join(text for text, _ in parts_of_line))
        said += [f"#   {answer}" for answer in map(_told, item.choices) if answer]
        parts.append("\n".join([*said, f"{SKIP} {item.id}", ""]))
    return "\n".join(parts)


def _told(choice: Choice) -> str | None:
    if not choice.here:
        return None
    text = "" if choice.asks is None else " ID TEXT" if choice.required else " ID [TEXT]"
    return f"{choice.name}{text}: {screen.cell(choice.does)}"


def read(text: str, items: Sequence[ReviewItem]) -> list[Order]:
    """What a file wants done. Raises UsageError that names every line which is not right."""
    known = {item.id: item for item in items}
    orders: list[Order] = []
    wrong: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.removeprefix("\ufeff").split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            order = _order(number, words, known)
            if words[1] in seen:
                raise UsageError(f"{words[1]} stands on line {seen[words[1]]} already")
            seen[words[1]] = number
        except UsageError as error:
            wrong.append(f"line {number}: {error.message.rstrip('.')}{f' ({error.hint})' if error.hint else ''}")
            continue
        orders += [order] if order else []
    if wrong:
        raise UsageError(f"{'; '.join(wrong)}. Nothing was done.")
    return orders


def _order(number: int, words: Sequence[str], known: dict[str, ReviewItem]) -> Order | None:
    if len(words) < 2:
        raise UsageError(f"{screen.cell(words[0])!r} stands alone", hint="a line is an answer and an id")
    verb, name, text = words[0], words[1], words[2].strip() if len(words) > 2 else None
    item = known.get(name)
    if item is None:
        raise UsageError(f"no item {screen.cell(name)!r} waits")
    if verb == SKIP:
        return None
    choice = item.choice(verb)
    if not choice.here:
        raise UsageError(f"{verb!r} is for the terminal, not for a file")
    if text and choice.asks is None:
        raise UsageError(f"the answer {choice.name!r} takes no text")
    if choice.required and not text:
        raise UsageError(f"the answer {choice.name!r} needs a text behind the id", hint=choice.asks)
    return Order(number, item, choice, text)


def apply(store: Store, orders: Sequence[Order], why: str | None) -> Outcome:
    """Carry out each order by itself: one that fails keeps no other back."""
    outcome = Outcome()
    for order in orders:
        try:
            answered = store.review.answer(order.item.id, order.choice.name, text=order.text, why=why, seen=order.item)
        except MemdbError as error:
            outcome.failed.append((order.line, order.item, error))
        else:
            outcome.answered.append((order.line, answered))
    return outcome


def left(text: str, outcome: Outcome) -> str:
    """The file after it was applied: what was done is a comment, what failed has its error above it."""
    done = {line: answered.said for line, answered in outcome.answered}
    failed = {line: error.message for line, _, error in outcome.failed}
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        if number in failed:
            lines.append(f"# error: {screen.cell(failed[number])}")
        lines.append(f"# done: {screen.cell(done[number])}" if number in done else line)
    return "\n".join(lines)
