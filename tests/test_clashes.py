"""Which sentences of two memories cannot both be true, as far as rules can tell: tables of pairs that do and do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from memdb.domain.clashes import claims_in, disagree, siblings

CLASH: list[tuple[str, str]] = [
    # numbers
    ("The staging database listens on port 5432.", "The staging database listens on port 5433."),
    ("The deploy port is 8080.", "The deploy port is 9090."),
    ("The deploy port is `8080`.", "The deploy port is 9090."),
    ("Sessions expire after 30 minutes.", "Sessions expire after 45 minutes."),
    ("Sessions expire after 30 minutes.", "Sessions expire after 2 hours."),
    ("Uploads are limited to 10 MB.", "Uploads are limited to 1 GB."),
    ("The API allows 1,000 requests a minute.", "The API allows 100 requests a minute."),
    ("The build cache holds three days.", "The build cache holds 5 days."),
    ("- The retry queue keeps 5 jobs.", "The retry queue keeps **7** jobs."),
    ("The team uses Opus 4.7 for review.", "The team uses Opus 4.8 for review."),
    ("The service runs on Python 3.11.", "The service runs on Python 3.12."),
    ("Backups are kept for 30 days.", "Backups are kept for 90 days."),
    ("Invoice numbers: prefix INV and 6 digits", "Invoice numbers: prefix INV and 8 digits"),
    ("The licence costs €40 per seat.", "The licence costs €55 per seat."),
    ("Reserve 20% of the disk for snapshots.", "Reserve 25% of the disk for snapshots."),
    ("Use a 3-node cluster for staging.", "Use a 5-node cluster for staging."),
    # days, dates, times
    ("Deploys run on Fridays.", "Deploys run on Mondays."),
    ("The weekly review meeting is on Tuesday at 10:00.", "The weekly review meeting is on Thursday at 10:00."),
    ("The standup call starts at 9:30.", "The standup call starts at 10:00."),
    ("The contract with Lindqvist ends in March.", "The contract with Lindqvist ends in April."),
    ("The beta of Quillon ships on 2026-03-01.", "The beta of Quillon ships on 2026-04-01."),
    ("Anna Tolvanen was born in 1990.", "Anna Tolvanen was born in 1991."),
    # negation
    ("Use tabs for indentation.", "Don't use tabs for indentation."),
    ("Use tabs for indentation.", "Avoid tabs for indentation."),
    ("The exporter supports nested tables.", "The exporter does not support nested tables."),
    ("The exporter supports nested tables.", "The exporter doesn’t support nested tables."),
    ("The worker can write to the archive.", "The worker cannot write to the archive."),
    ("The worker can write to the archive.", "The worker can no longer write to the archive."),
    ("Always squash commits before merging.", "Never squash commits before merging."),
    ("Tables are preferred for comparisons.", "Tables are not preferred for comparisons."),
    ("There is a limit on uploads by guests.", "There is no limit on uploads by guests."),
    # opposites
    ("Telemetry of the agent is enabled.", "Telemetry of the agent is disabled."),
    ("Telemetry of the agent is enabled.", "Telemetry of the agent is not enabled."),
    ("Enable compression for the export job.", "Disable compression for the export job."),
    ("The firewall allows inbound ICMP.", "The firewall denies inbound ICMP."),
    ("Migrations run before the deploy.", "Migrations run after the deploy."),
    ("Debug logging is turned on.", "Debug logging is turned off."),
    ("The reviewer field is required.", "The reviewer field is optional."),
    ("The design repository is public.", "The design repository is private."),
    ("Nested transactions are supported.", "Nested transactions are unsupported."),
    # what something is
    ("The default branch is main.", "The default branch is trunk."),
    ("The staging database is PostgreSQL.", "The staging database is MySQL."),
    ("The owner of the billing service is Mirela Dovrak.", "The owner of the billing service is Tomas Reyl."),
    ("Preferred editor: Vim", "Preferred editor: Emacs"),
]

STAND: list[tuple[str, str]] = [
    # the same
    ("The deploy port is 8080.", "The deploy port is 8080."),
    ("The deploy port is 8080.", "**The deploy port is now `8080`.**"),
    ("Sessions expire after 60 seconds.", "Sessions expire after 1 minute."),
    ("The API allows 1,000 requests a minute.", "The API allows 1000 requests a minute."),
    ("The build cache holds three days.", "The build cache holds 3 days."),
    ("Telemetry of the agent is enabled.", "Telemetry of the agent is not disabled."),
    ("Always squash commits before merging.", "Squash commits before merging."),
    # one says it more exactly
    ("The service runs on Python 3.", "The service runs on Python 3.12."),
    ("The beta of Quillon ships on 2026-03.", "The beta of Quillon ships on 2026-03-01."),
    ("The staging database is PostgreSQL.", "The staging database is PostgreSQL Sixteen."),
    # of different things
    ("Server 12 has 64 GB of memory.", "Server 13 has 64 GB of memory."),
    ("Opus 4.7 has a large context.", "Opus 4.8 has a large context."),
    ("Issue #12 blocks the release.", "Issue #13 blocks the release."),
    ("The fix is in step 3 of the runbook.", "The fix is in step 4 of the runbook."),
    ("Public endpoints are limited by address.", "Private endpoints are limited by address."),
    ("The staging database listens on port 5432.", "The production database listens on port 5433."),
    ("The router supports public endpoints.", "The router supports private endpoints."),
    ("The start button is green.", "The stop button is green."),
    ("Anna leads the search team.", "Anna leads the export team."),
    ("The project uses PostgreSQL.", "The project uses MySQL."),
    ("The build is slow.", "The build is flaky."),
    ("The staging database is slow.", "The staging database is PostgreSQL."),
    ("The default branch is protected.", "The default branch is main."),
    ("The museum was established in 1924.", "The museum was established in 1919."),
    # what happened
    ("The nightly build failed on 2026-05-01.", "The nightly build failed on 2026-05-02."),
    ("The nightly build took 14 minutes.", "The nightly build took 15 minutes."),
    ("We moved 3 services to the new cluster.", "We moved 5 services to the new cluster."),
    ("Added 12 tests for the exporter.", "Added 14 tests for the exporter."),
    # what speaks of something before, is unsure, asked, or an example
    ("It listens on port 5432 of the host.", "It listens on port 5433 of the host."),
    ("Then the worker waits 5 seconds.", "Then the worker waits 9 seconds."),
    ("The deploy port might be 8080.", "The deploy port might be 9090."),
    ("Is the deploy port 8080?", "Is the deploy port 9090?"),
    ("Set a port, e.g. 8080 for the proxy.", "Set a port, e.g. 9090 for the proxy."),
    # lists, logs, code, tables, quotes
    ("1. The deploy port is 8080.", "1. The deploy port is 9090."),
    ("- [ ] The deploy port is 8080.", "- [x] The deploy port is 9090."),
    ("2026-05-01: The deploy port is 8080.", "2026-05-02: The deploy port is 9090."),
    ("## Changelog\n\nThe deploy port is 8080.", "## Changelog\n\nThe deploy port is 9090."),
    ("## 2026-05-01\n\nThe deploy port is 8080.", "## 2026-05-09\n\nThe deploy port is 9090."),
    ("```\nThe deploy port is 8080.\n```", "```\nThe deploy port is 9090.\n```"),
    ("    The deploy port is 8080.", "    The deploy port is 9090."),
    ("| The deploy port is 8080. |", "| The deploy port is 9090. |"),
    ("> The deploy port is 8080.", "> The deploy port is 9090."),
    ("<!-- The deploy port is 8080. -->", "<!-- The deploy port is 9090. -->"),
    # too little is said
    ("Timeout: 30", "Timeout: 60"),
    ("Port is 8080.", "Port is 9090."),
    ("Version 2.", "Version 3."),
    ("Not now.", "Now."),
    ("", "The deploy port is 9090."),
    # more than one thing differs
    ("The pool holds 5 workers for 30 minutes.", "The pool holds 7 workers for 45 minutes."),
    ("Use spaces, not tabs, in the exporter.", "Use tabs, not spaces, in the exporter."),
    # headings tell of two worlds
    ("## Staging\n\nThe deploy port is 8080.", "## Production\n\nThe deploy port is 9090."),
    # both in one text: a list of variants
    ("The deploy port is 8080. The deploy port is 8081.", "The deploy port is 9090."),
]


def clashes(a: str, b: str, names: tuple[str, str] = ("one", "other")) -> bool:
    left = {claim.form: claim.value for claim in claims_in(names[0], "", a)}
    right = {claim.form: claim.value for claim in claims_in(names[1], "", b)}
    return any(disagree(left[form], right[form]) for form in left.keys() & right.keys())


@pytest.mark.parametrize(("a", "b"), CLASH)
def test_a_pair_that_clashes(a: str, b: str) -> None:
    assert clashes(a, b)
    assert clashes(b, a)


@pytest.mark.parametrize(("a", "b"), STAND)
def test_a_pair_that_can_stand(a: str, b: str) -> None:
    assert not clashes(a, b)
    assert not clashes(b, a)


def test_what_a_claim_is() -> None:
    [number, polarity] = claims_in("ports", "", "Notes. The deploy port is now `8080`!")
    assert (number.value, number.quote) == ("number 8080", "The deploy port is now `8080`!")
    assert polarity.value == "polarity "
    assert -(2**63) <= number.form < 2**63
    assert claims_in("ports", "The deploy port is 8080.", "")[0].form == number.form


def test_what_holds_at_different_times_does_not_meet() -> None:
    text = "The deploy port is 8080."
    forms = {
        claims_in("a", "", text, when)[0].form
        for when in ((), (None, None), ("2026-01-01", None), ("2026-02-01", None))
    }
    assert len(forms) == 3
    assert claims_in("2026-05-07 standup", "", text) == []
    assert claims_in("project_x_2026_05_07", "", text) == []


NAMES = [
    ("HighLoadWarning85", "HighLoadWarning95", True),
    ("CephPoolCriticallyFull", "CephPoolNearlyFull", True),
    ("staging-db-host", "production-db-host", True),
    ("deploy-ports", "deploy-notes", False),
    ("ports", "deploy", False),
    ("deploy-ports", "deploy-ports-old", False),
]


@pytest.mark.parametrize(("a", "b", "expected"), NAMES)
def test_names_of_two_of_a_kind(a: str, b: str, expected: bool) -> None:
    assert siblings(a, b) is siblings(b, a) is expected


VALUES = [
    ("number 3", "number 3.11", False),
    ("number 3", "number 4", True),
    ("number 3", "day friday", False),
    ("time 9:30", "time 10:00", True),
    ("is vim", "is emacs", True),
    ("is postgresql", "is postgresql sixteen", False),
    ("polarity ", "polarity not 1", True),
    ("polarity +", "polarity +", False),
]


@pytest.mark.parametrize(("a", "b", "expected"), VALUES)
def test_which_values_disagree(a: str, b: str, expected: bool) -> None:
    assert disagree(a, b) is disagree(b, a) is expected


@given(some.text(alphabet=some.sampled_from("Tab `*_[]()|#>-:=.,!?\n01% é端\u200b"), max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    claims = claims_in("x", text, text)
    assert len({claim.form for claim in claims}) == len(claims)


@given(some.sampled_from([a for a, _ in CLASH]), some.sampled_from([a for a, _ in CLASH]))
def test_a_text_never_clashes_with_itself(a: str, b: str) -> None:
    assert not clashes(f"{a}\n\n{b}", f"{a}\n\n{b}")
