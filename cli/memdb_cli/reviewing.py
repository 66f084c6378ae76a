"""The review at a terminal: one item at a time, one key each, each answer taken back by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memdb.errors import MemdbError, NotFound
from memdb_cli import keys, review_screen, screen
from memdb_cli.review_screen import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memdb import Store
    from memdb.services.review.review_items import Answered, Choice, ReviewItem


PROMPT = "> "


class Session:
    """One person's way through the queue; `run` returns when they are through or have enough."""

    def __init__(self, store: Store, items: Sequence[ReviewItem], why: str | None = None) -> None:
        self.store = store
        self.items = items
        self.why = why
        self.place = 0
        self.answers: list[tuple[int, Answered]] = []
        self.skipped: set[int] = set()
        self.gone: set[int] = set()
        self.common: dict[str, Callable[[ReviewItem], bool]] = {
            "s": self._skip,
            "b": self._back,
            "u": self._undo,
            "v": self._whole,
            "?": self._help,
        }

    def run(self) -> None:
        """Go through the items, then say what was decided. Raises KeyboardInterrupt at Ctrl-C, after that too."""
        try:
            while self.place < len(self.items) and self._one():
                pass
        finally:
            self._summary()

    def _one(self) -> bool:
        """Show the item whose turn it is and do what the person wants; False where that is to stop."""
        try:
            item = self._now(self.place)
        except NotFound:
            self.gone.add(self.place)
            self._say(f"waits no more: {self.items[self.place].title}", "dim")
            self.place += 1
            return True
        self.skipped.discard(self.place)
        review_screen.item(item, self.place + 1, len(self.items))
        while True:
            key = self._key()
            if key in ("q", keys.END):
                self._echo("quit")
                return False
            if self._press(key, item):
                return True

    def _now(self, place: int) -> ReviewItem:
        """An item as it is now. Raises NotFound where it waits no more."""
        return self.store.review.show(self.items[place].id, seen=self.items[place])

    def _press(self, key: str, item: ReviewItem) -> bool:
        """Do what a key says; True where an item is to be shown next, False where this one waits for another key."""
        choice = next((choice for choice in item.choices if choice.key == key), None)
        if choice is not None:
            return self._choose(item, choice)
        if key in self.common:
            return self.common[key](item)
        self._say("That key does nothing here; ? says what does." if key.strip() else "One key answers; ? lists them.")
        return False

    def _key(self) -> str:
        screen.write(PROMPT)
        return keys.pressed()

    def _echo(self, name: str) -> None:
        screen.lines([[(name, "bold")]])

    def _say(self, text: str, style: str = "") -> None:
        screen.lines([[(line, style)] for line in wrapped(screen.cell(text), review_screen.columns())])

    def _skip(self, _item: ReviewItem) -> bool:
        self._echo("skip")
        self.skipped.add(self.place)
        self.place += 1
        return True

    def _whole(self, item: ReviewItem) -> bool:
        self._echo("view all")
        review_screen.item(item, self.place + 1, len(self.items), whole=True)
        return False

    def _help(self, item: ReviewItem) -> bool:
        self._echo("help")
        review_screen.help_text(item)
        return False

    def _back(self, _item: ReviewItem) -> bool:
        """Go to the nearest item before this one that still waits; False where there is none."""
        for place in range(self.place - 1, -1, -1):
            try:
                self._now(place)
            except NotFound:
                continue
            self._echo("back")
            self.place = place
            return True
        self._say("Nothing before this waits; u takes the last answer back." if self.answers else "This is the first.")
        return False

    def _undo(self, _item: ReviewItem) -> bool:
        """Take the last answer back and go to its item; False where there is none."""
        if not self.answers:
            self._say("Nothing was answered so far.")
            return False
        place, answered = self.answers[-1]
        self._echo("undo")
        try:
            self.store.review.undo(answered)
        except MemdbError as error:
            self._fault(error)
            return False
        self.answers.pop()
        self._say(f"taken back: {answered.said}", "yellow")
        self.place = place
        return True

    def _choose(self, item: ReviewItem, choice: Choice) -> bool:
        """Answer the item; True where the next one, or this one anew, is to be shown."""
        self._echo(choice.name)
        if not choice.here:
            return self._edit(item)
        try:
            text = self._text(choice) if choice.asks else None
            if choice.required and text is None:
                self._say("Nothing was answered: it needs a text.")
                return False
            answered = self.store.review.answer(item.id, choice.name, text=text, why=self.why, seen=item)
        except MemdbError as error:
            self._fault(error)
            return True
        self.answers.append((self.place, answered))
        review_screen.answered(answered)
        self.place += 1
        return True

    def _text(self, choice: Choice) -> str | None:
        if "\n" in choice.draft:
            from memdb_cli.editor import edit_text

            # A draft that is left as it is says nothing yet.
            edited = edit_text(choice.name, choice.draft)
            return None if edited == choice.draft else edited.strip("\n") + "\n" if edited.strip() else None
        if choice.draft:
            self._say(f"now: {choice.draft}", "dim")
        self._say(f"{choice.asks}:" if choice.required else f"{choice.asks} (or nothing):")
        return keys.line(PROMPT)

    def _edit(self, item: ReviewItem) -> bool:
        """Open the item's file in the person's editor; the item is shown again if it still stands."""
        from memdb_cli.editor import edit_file

        try:
            saved = edit_file(self.store, self.store.show(str(item.file)))
        except MemdbError as error:
            self._fault(error)
            return False
        self._say(f"{'saved' if saved.changed else 'unchanged:'} {saved.file}", "green" if saved.changed else "")
        return saved.changed

    def _fault(self, error: MemdbError) -> None:
        self._say(f"error: {error.message}", "red")
        if error.hint:
            self._say(f"hint: {error.hint}")

    def _summary(self) -> None:
        """Say what was decided, with what takes each back."""
        done = {place for place, _ in self.answers}
        left = len(self.items) - len(done | self.skipped | self.gone)
        counts = [f"{len(self.answers)} answered"]
        counts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        counts += [f"{left} not looked at"] if left else []
        screen.lines([[("", "")], [(", ".join(counts), "bold")]])
        for _, answered in self.answers:
            review_screen.answered(answered)
