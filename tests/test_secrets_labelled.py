"""The detectors on a labelled list: nothing missed, and nothing flagged that is no credential."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.base.secrets import find_secrets, redact
from tests.bench.faults import secrets as bench
from tests.labelled_secrets import Labelled, innocents, secrets


def test_the_list_is_wide() -> None:
    listed, others = secrets(), innocents()
    assert len(listed) >= 300
    assert len({one.kind for one in listed}) >= 80
    assert len({one.text for one in listed}) == len(listed)
    assert len({one.text for one in others}) >= 300


def test_it_is_the_same_in_every_run() -> None:
    assert secrets() == secrets()
    assert innocents() == innocents()


@pytest.mark.parametrize("kind", sorted({one.kind for one in secrets()}))
def test_every_credential_is_found_whole_and_redacted(kind: str) -> None:
    for one in secrets():
        if one.kind == kind:
            found = [one.text[secret.start : secret.end] for secret in find_secrets(one.text)]
            assert any(str(one.secret) in stretch for stretch in found), one.text
            assert str(one.secret) not in redact(one.text)


@pytest.mark.parametrize("kind", sorted({one.kind for one in innocents()}))
def test_no_innocent_text_is_flagged(kind: str) -> None:
    flagged = [one.text for one in innocents() if one.kind == kind and find_secrets(one.text)]
    assert flagged == []


@pytest.mark.parametrize("hide", ["\u200b", "\u2060", "\u00ad"])
def test_a_hidden_character_inside_hides_nothing(hide: str) -> None:
    plain = [
        one
        for one in secrets()
        if one.secret and len(one.secret) < 200 and "\n" not in one.text and " " not in one.secret
    ]
    missed = [
        one.kind
        for one in plain
        if not find_secrets(one.text.replace(str(one.secret), f"{one.secret[:5]}{hide}{one.secret[5:]}"))  # type: ignore[index]
    ]
    assert missed == []


def test_a_detector_that_misses_and_one_that_flags_all_are_told_apart() -> None:
    with_secret = [Labelled("a", "key abc", "abc"), Labelled("b", "key abd", "abd")]
    without = [Labelled("c", "tea", None)]
    missed, flagged, _ = bench._measured(lambda texts: [[] for _ in texts], with_secret, without)
    assert (len(missed), len(flagged)) == (2, 0)
    missed, flagged, _ = bench._measured(lambda texts: [[text] for text in texts], with_secret, without)
    assert (len(missed), len(flagged)) == (0, 1)


def test_the_readme_has_these_figures() -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    listed, others = secrets(), innocents()
    kinds = len({one.kind for one in listed})
    assert (
        f"Of {len(listed)} made-up credentials of {kinds} kinds {len(listed)} are caught, of {len(others)} innocent"
        in page
    )


def test_the_readme_has_the_figures_of_the_library() -> None:
    pytest.importorskip("detect_secrets")
    from detect_secrets.settings import default_settings

    with default_settings():
        missed, flagged, _ = bench._measured(bench.library, secrets(), innocents())
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"detect-secrets 1.5: {len(secrets()) - len(missed)} and {len(flagged)})" in page
