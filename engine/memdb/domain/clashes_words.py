"""The words by which `clashes` tells what a sentence claims: opposites, negations, verbs, days, units."""

from __future__ import annotations

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DROPPED = _words(
    """
    a an the any now currently presently still already just also please only do does did really simply
    """
)
"""Words that change nothing in what a sentence claims, or, like `only` and `now`, nothing that two could agree on."""

NEGATIONS = _words("not no never cannot n't nor")

ADVERB_OPPOSITES = (("always", "never"), ("automatically", "manually"), ("synchronously", "asynchronously"))

VERB_OPPOSITES = (
    ("enable", "disable"),
    ("allow", "deny", "forbid", "disallow", "prohibit"),
    ("accept", "reject"),
    ("include", "exclude"),
    ("like", "dislike", "hate"),
    ("trust", "distrust"),
    ("encourage", "discourage"),
)
"""Of each, the first is contrary to all others. They count as the verb of a sentence, in any of its forms."""

ADJECTIVE_OPPOSITES = (
    ("enabled", "disabled"),
    ("on", "off"),
    ("true", "false"),
    ("allowed", "denied", "forbidden", "disallowed", "prohibited"),
    ("permitted", "prohibited"),
    ("accepted", "rejected"),
    ("included", "excluded"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("public", "private"),
    ("open", "closed"),
    ("active", "inactive"),
    ("online", "offline"),
    ("synchronous", "asynchronous"),
    ("automatic", "manual"),
    ("internal", "external"),
    ("ascending", "descending"),
    ("blocking", "non-blocking"),
    ("case-sensitive", "case-insensitive"),
    ("read-only", "writable"),
    ("mutable", "immutable"),
    ("thread-safe", "thread-unsafe"),
    ("safe", "unsafe"),
    ("stable", "unstable"),
    ("alive", "dead"),
    ("married", "single"),
)
"""They count where they say what something is, not which of several things is meant (`public endpoints`)."""

PREPOSITION_OPPOSITES = (("before", "after"), ("with", "without"), ("inside", "outside"), ("above", "below"))


def _sides(groups: Sequence[tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """By word: the name of its group, and `+` for the first of it or `-` for the others."""
    return {
        word: ("/".join(group), "-" if place else "+") for group in reversed(groups) for place, word in enumerate(group)
    }


ADVERB_SIDES = _sides(ADVERB_OPPOSITES)
ADJECTIVE_SIDES = _sides(ADJECTIVE_OPPOSITES)
PREPOSITION_SIDES = _sides(PREPOSITION_OPPOSITES)
VERB_SIDES = _sides(VERB_OPPOSITES)
OPPOSED = frozenset({*ADVERB_SIDES, *ADJECTIVE_SIDES, *PREPOSITION_SIDES})

SWITCHED = _words("turned switched turn switch set stay default to")
"""Behind one of these, at the end, `on` and `off` say what something is."""

PREFIXES = ("un", "non-")
PREFIXED_ENDS = ("ed", "able", "ible", "stable", "safe")
"""`unsupported` is contrary to `supported`; `unit` and `until` are contrary to nothing."""

AUXILIARIES = _words(
    """
    is are be am been being has have must should shall will can cannot may needs need gets get stays stay
    remains remain keeps keep
    """
)

COPULAS = _words("is are equals means")

VERBS = AUXILIARIES | _words(
    """
    accept add allow apply arrive ask assume avoid begin belong bill bind block build cache call cap charge
    check close come commit configure connect contain cost create default deliver deny depend deploy disable
    discard drop email enable encrypt end enforce equal exclude exist expect expire export fail fetch finish
    fit flush follow forbid format give go handle happen hash hate hold host import include install introduce
    invoke keep know last launch lead leave like limit link list listen live load lock log love make manage
    map mean meet merge mount move own park pass pay pin poll prefer print produce provide publish push put
    raise ramp read receive refresh reject release reload remember remove render renew replace reply report
    require reserve reset resolve respond restart retry return review rotate round route run save schedule
    send serve set ship shut sign sleep span speak split stand start stay stop store stream sum support switch
    sync tag take talk target test throttle throw time travel treat truncate turn update upgrade use validate
    verify visit wait wake want warn weigh work wrap write
    """
)
"""What stands behind one of them is said of the subject; what stands before says which subject is meant."""

PAST = _words(
    """
    was were had did went got made said took came saw found met gave began ran wrote became left kept held
    built sent thought told felt brought bought caught taught chose broke spoke drove ate fell grew knew lost
    paid rose sold shipped hit
    """
)
ONCE = _words("born founded established married acquired died")
"""What happens once: two dates of it cannot both be right. Of other things past, both can."""

NOT_PAST = _words(
    """
    need seed feed speed indeed embed exceed proceed succeed bleed breed weed shed bed red
    """
)

BACKWARD = _words(
    """
    it they he she this that these those here there its their his her him them such both another other others
    then otherwise else but instead so thus therefore hence however meanwhile afterwards same former latter
    and or nor which who whose what why how
    """
)
"""A sentence that begins with one of these speaks of what stood before it."""

UNSURE = _words(
    """
    would could might maybe perhaps probably e.g example examples suppose say imagine approximately roughly
    """
)

COUNTED = _words(
    """
    step phase stage part chapter section page figure table line lines item issue pr ticket bug task case
    example option rule point question day week sprint iteration round level lesson exercise commit build test
    tests scenario note appendix q no number nr layer tier wave milestone version-id story epic node server
    host worker shard replica agent instance id finding fix gap attempt run pass batch slide row column cell
    bit byte exit error code http
    """
)
"""A number behind one of these says which one is meant."""

UNIQUE = _words(
    """
    default defaults primary preferred favourite favorite main current official own owner maintainer lead name
    nickname surname timezone time-zone language birthday branch editor shell capital ceo cto boss manager
    headquarters
    """
)
"""What is one of these is one thing at a time, whatever it is called."""

PLACES = _words(
    """
    staging production prod dev development test testing qa local localhost ci beta alpha canary preview
    sandbox demo legacy old new previous next current windows linux macos mac ios android web mobile desktop
    backend frontend client server admin guest internal external eu us asia emea north south east west free
    paid pro enterprise example archive draft english german french spanish
    """
)
"""Words of a name or heading that say for which of several worlds a text speaks."""

LOGS = _words(
    """
    changelog changes log logs history timeline journal diary standup minutes todo todos done backlog changed
    release releases updates update status progress session sessions worklog examples example results result
    benchmark benchmarks measurements
    """
)
"""A section whose heading has one of these tells what happened or was tried, each at its time."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

DAYS = {spelling: day for day in _DAYS for spelling in (day, f"{day}s")}
"""Days of the week by their spellings, folded."""

MONTHS = _words(
    """
    january february march april may june july august september october november december
    """
)

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

NUMBERS = {word: str(number) for number, word in enumerate(_NUMBERS, start=2)}
"""`one` is a pronoun more often than a number."""

UNITS = {
    **dict.fromkeys(("ms", "millisecond", "msec"), ("s", 0.001)),
    **dict.fromkeys(("s", "sec", "second"), ("s", 1.0)),
    **dict.fromkeys(("min", "minute"), ("s", 60.0)),
    **dict.fromkeys(("h", "hr", "hour"), ("s", 3600.0)),
    **dict.fromkeys(("d", "day"), ("s", 86400.0)),
    **dict.fromkeys(("w", "week"), ("s", 604800.0)),
    **dict.fromkeys(("kb", "kib", "kilobyte"), ("b", 1024.0)),
    **dict.fromkeys(("mb", "mib", "megabyte"), ("b", 1024.0**2)),
    **dict.fromkeys(("gb", "gib", "gigabyte"), ("b", 1024.0**3)),
    **dict.fromkeys(("tb", "tib", "terabyte"), ("b", 1024.0**4)),
}
"""Units that measure one thing: 60 seconds and one minute are no contradiction, 60 and 30 seconds are."""
