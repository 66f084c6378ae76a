"""Every limit of the README's table: at it an input is taken whole, one above it is refused or cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memdb.store import Store
from tests import limits
from tests.limits import LIMITS, Limit

REFUSING = ("refused", "refused whole", "listed as a problem, not indexed", "read line by line, listed as a problem")


def numbers(value: int) -> set[str]:
    """The ways in which messages write a number."""
    return {
        f"{value}", f"{value:,}", f"{value / 1_000_000:g} MB", f"{value // 1_000_000} MB",
        f"{value // 1_000_000} million",
        f"{value / 1_000_000:.1f} MB", f"{value // 2**20} MiB", f"{value // 2**30} GiB",
    }  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS, ids=[limit.what.replace(" ", "-") for limit in LIMITS])
def test_at_the_limit_and_one_above(
    limit: Limit, make_store: Callable[..., Store], no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store({"user/a.md": "A\n"})
    value = limit.small or limit.value
    if limit.small is not None:
        monkeypatch.setattr(limit.module, limit.constant, value)
    assert limit.probe(store, value) is None
    said = limit.probe(store, value + 1)
    assert said is not None
    if limit.above in REFUSING or "said so" in limit.above:
        assert any(number in said for number in numbers(value)), said


def test_the_readme_has_the_table() -> None:
    page = limits.README.read_text(encoding="utf-8")
    assert limits.table() in page
    assert limits.in_readme(page) == page


def test_each_constant_stands_once() -> None:
    named = [limit.name for limit in LIMITS if limit.what != "a text that is saved as a memory"]
    assert len(named) == len(set(named))
    assert all(limits.constant(name) > 0 for name in named)
