"""Which names may be one thing under two spellings, and which never are."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memdb.base.text import name_key
from memdb.domain import near_keys
from memdb.domain.near_keys import Reason
from memdb.domain.near_letters import slip, slip_keys
from memdb.domain.near_names import Named, Near, likelihood, near
from memdb.domain.near_shapes import Shape, acronyms, may_be_one, spellings


def named(*names: str, **types: str) -> list[Named]:
    """Entities of these names; `person="a, b"` gives the type of some."""
    sure = {name: type_ for type_, some in types.items() for name in some.split(", ")}
    return [Named(name_key(name), (name,), sure.get(name)) for name in (*names, *sure)]


def pairs(entities: list[Named], floor: float = 0.5) -> list[tuple[str, str]]:
    return [(pair.a, pair.b) for pair in near(entities, floor=floor)]


def of(one: str, other: str, floor: float = 0.5, **types: str) -> Near | None:
    """The pair that two names make, if they do."""
    found = near([*named(one, other), *named(**types)], floor=floor)
    return found[0] if found else None


NEAR = [
    ("System Admin", "SystemAdmin", "same letters", 0.95),
    ("Kim Il Sung", "Kim Il-sung", "same letters", 0.95),
    ("U.S. Constitution", "US Constitution", "same letters", 0.95),
    ("Cluster Network Operator", "cluster-network-operator", "same letters", 0.95),
    ("Python 3", "Python3", "same letters", 0.95),
    ("GPT-4", "GPT 4", "same letters", 0.95),
    ("Hawai'i", "Hawaii", "same letters", 0.95),
    ("AT&T", "AT and T", "same letters", 0.95),
    ("C ++", "C++", None, 0.0),
    ("重跑 流程", "重跑流程", "same letters", 0.95),
    ("status_code", "StatusCode", "same letters", 0.7),
    ("code_review", "code-review", "same letters", 0.95),
    ("cat-art.py", "cat_art.py", "same letters", 0.7),
    ("Québec", "Quebec", "same but for accents", 0.9),
    ("Müller", "Mueller", "same but for accents", 0.85),
    ("Łukasz Nowak", "Lukasz Nowak", "same but for accents", 0.9),
    ("World War II", "World War 2", "same but for the way a number is written", 0.85),
    ("The Daily Telegraph", "Daily Telegraph", "same but for the article", 0.85),
    ("The Hideout", "Hideout", "same but for the article", 0.6),
    ("Quill Base Inc", "Quill Base", "same but for the legal form", 0.85),
    ("Thomson Reuters Corporation", "Thomson Reuters", "same but for the legal form", 0.85),
    ("Harrowgate Labs", "Harrowgate Laboratories", "same but for an abbreviation", 0.8),
    ("St. Maurice", "Saint Maurice", "same but for an abbreviation", 0.8),
    ("Postgres", "PostgreSQL", "same but for an abbreviation", 0.8),
    ("k8s", "Kubernetes", "the number stands for letters", 0.7),
    ("i18n", "internationalization", "the number stands for letters", 0.7),
    ("Dr. Mirela Dovrak", "Mirela Dovrak", "same but for the title", 0.8),
    ("neural network", "neural networks", "singular and plural", 0.75),
    ("NetworkPolicy", "Network Policies", "singular and plural", 0.75),
    ("checkbox", "checkboxes", "singular and plural", 0.75),
    ("LLM", "LLMs", "singular and plural", 0.75),
    ("University of York", "York University", "same words in another order", 0.75),
    ("Dovrak, Mirela", "Mirela Dovrak", "same words in another order", 0.75),
    ("Dan Iosif", "Iosif Dan", "same words in another order", 0.55),
    ("Project Lantern", "Lantern", "same but for the kind of thing", 0.6),
    ("Apache Kafka", "Kafka", "same but for the maker", 0.6),
    ("Philip Savile", "Philip Saville", "one letter doubled", 0.75),
    ("Jeffery Stephanic", "Jeffrey Stephanic", "two letters swapped", 0.7),
    ("Customer Portal", "Custromer Portal", "one letter more", 0.65),
    ("Gamal Abdel Nasser", "Gamal Abdul Nasser", "one letter differs", 0.6),
    ("Stack Overflow", "stackoverlow", "one letter more", 0.65),
    ("J. Smith", "John Smith", "initials", 0.75),
    ("John F. Kennedy", "John Kennedy", "initials", 0.75),
    ("George A. Smith", "George Albert Smith", "initials", 0.75),
    ("F. W. Beaumont", "Francis William Beaumont", "initials", 0.75),
    ("LREC", "Language Resources and Evaluation Conference", "acronym", 0.7),
    ("MIT", "Massachusetts Institute of Technology", "acronym", 0.7),
    ("Machine Learning (ML)", "Machine Learning", "same letters", 0.95),
    ("Natural Language Processing (NLP)", "NLP", "same letters", 0.97),
]


@pytest.mark.parametrize(("one", "other", "reason", "least"), NEAR)
def test_names_that_may_be_one(one: str, other: str, reason: str | None, least: float) -> None:
    for pair in (of(one, other), of(other, one)):
        if reason is None:
            assert pair is None
            continue
        assert pair is not None
        assert (pair.a, pair.b) == tuple(sorted((name_key(one), name_key(other))))
        assert pair.reasons[0].words == reason
        assert least <= pair.score < least + 0.05


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Opus 4.7", "Opus 4.8"),
        ("Opus", "Opus 4.7"),
        ("C#", "C"),
        ("C++", "C"),
        ("F#", "F"),
        ("x86", "x64"),
        ("x86", "x86-64"),
        ("gpt-4", "gpt-4o"),
        ("gpt-4", "gpt-4.1"),
        ("version 1.11", "version 11.1"),
        ("v1.1", "v11"),
        ("llama-3-8b", "llama-3-70b"),
        ("Python", "Python 3"),
        ("k8s", "Kubernetic"),
        ("e2e", "ease"),
        ("Baker St", "Baker Saint"),
        ("World War I", "World War II"),
        ("Philip V", "Philip IV"),
        ("Vitamin C", "Vitamin D"),
        ("Section A", "Section B"),
        ("2024-01-01", "2024-01-02"),
        ("45", "45%"),
        (".env", "env"),
        ("$HOME", "home"),
        ("--force", "force"),
        ("_create_project", "create_project"),
        ("agent/version.py", "agent/_version.py"),
        ("~/logseq/graphs", "~/.logseq/graphs"),
        ("app.py", "app.js"),
        ("config.py", "config"),
        ("typical case", "atypical case"),
        ("Maria Silva", "Mario Silva"),
        ("Russia Today", "Russian Today"),
        ("Colombia", "Columbia"),
        ("Iceland", "Ireland"),
        ("John Acton", "John Alton"),
        ("string theory", "strong theory"),
        ("New York", "New York Times"),
        ("Apple", "Apple Music"),
        ("The Band", "Band"),
        ("AWS", "AW"),
        ("Roberts", "Robert"),
        ("Killers", "Killer"),
        ("Mays", "May"),
        ("Germans", "German"),
        ("bus", "bu"),
        ("class", "clas"),
        ("text to speech", "speech to text"),
        ("Abdullah ibn Muhammad", "Muhammad ibn Abdullah"),
        ("Mercury (planet)", "Mercury (god)"),
        ("Ran (film)", "Ran (band)"),
        ("IBM", "Ingmar Bergman"),
        ("DPI", "Duke Philip III"),
        ("RSS", "Richard S. Sutton"),
        ("George W. Bush", "George H. W. Bush"),
        ("Seattle", "Seattle Coffee Company"),
        ("東京大学", "東京大字"),
        ("हिन्दी", "हिन्द"),
        ("がく", "かく"),
    ],
)
def test_names_of_two_things(one: str, other: str) -> None:
    assert of(one, other) is None


@pytest.mark.parametrize(
    ("one", "other", "types", "score"),
    [
        ("SystemAdmin", "System Admin", {"tool": "SystemAdmin", "technology": "System Admin"}, 0.95),
        ("SystemAdmin", "System Admin", {"tool": "SystemAdmin", "person": "System Admin"}, 0.57),
        ("Quill Bases", "Quill Base", {"organization": "Quill Bases", "place": "Quill Base"}, None),
        ("J. Smith", "John Smith", {"person": "J. Smith", "organization": "John Smith"}, None),
        ("Billy Elliots", "Billy Elliot", {"person": "Billy Elliots, Billy Elliot"}, None),
        ("Transformers", "Transformer", {"concept": "Transformers", "technology": "Transformer"}, 0.75),
    ],
)
def test_types_that_are_sure_count(one: str, other: str, types: dict[str, str], score: float | None) -> None:
    found = near(named(**types))
    assert [pair.score for pair in found] == ([] if score is None else [score])
    assert {one, other} == {name for some in types.values() for name in some.split(", ")}


def test_a_first_name_is_told_where_one_person_has_it() -> None:
    one = named("Mirela", person="Mirela Dovrak")
    assert pairs(one) == [("mirela", "mirela dovrak")]
    assert near(one)[0].reasons == (Reason("part of the person's name", 0.55),)
    assert pairs([*one, *named(person="Mirela Stan")]) == []
    assert pairs([*one, *named("Mirela Bridge")]) == []  # of no sure type: it may be a person
    assert pairs([*one, *named(place="Mirela Bridge")]) == [("mirela", "mirela dovrak")]
    assert pairs(named("Dovrak", person="Mirela Dovrak")) == [("dovrak", "mirela dovrak")]
    assert pairs(named("May", person="May Thorne")) == []  # a common word


def test_initials_and_acronyms_are_told_where_one_thing_has_them() -> None:
    smith = named("J. Smith", "John Smith")
    assert pairs(smith) == [("j. smith", "john smith")]
    assert pairs([*smith, *named("Jane Smith")]) == []
    acl = named("ACL", "Association for Computational Linguistics")
    assert pairs(acl) == [("acl", "association for computational linguistics")]
    assert pairs([*acl, *named("Access Control List")]) == []
    assert pairs(named("SVM", "support vector machine", "support vector machines")) == [
        ("support vector machine", "support vector machines"),
        ("support vector machine", "svm"),
        ("support vector machines", "svm"),
    ]


def test_a_number_for_letters_is_told_where_one_word_has_them() -> None:
    assert pairs(named("k8s", "Kubernetes")) == [("k8s", "kubernetes")]
    assert pairs(named("k8s", "Kubernetes", "Karpathies")) == []


def test_part_of_a_company_takes_more_than_its_name() -> None:
    found = near(named("Quill", "Quill Base Inc"), floor=0.4)
    assert [(pair.a, pair.b, pair.score) for pair in found] == [("quill", "quill base inc", 0.45)]


def test_a_slip_in_one_word_is_asked_where_one_spelling_is_seldom() -> None:
    often, seldom = Named("kubernetes", ("Kubernetes",), None, 20), Named("kuberrnetes", ("Kuberrnetes",), None, 1)
    assert [(pair.a, pair.score) for pair in near([often, seldom])] == [("kubernetes", 0.55)]
    assert near([often, Named("kuberrnetes", ("Kuberrnetes",), None, 9)]) == []


def test_other_names_of_an_entity_are_compared_too() -> None:
    one = Named("dovrak works", ("Dovrak Works", "Quillbase"), None)
    assert pairs([one, *named("Quill Base")]) == [("dovrak works", "quill base")]
    assert pairs([one]) == []


def test_reasons_from_elsewhere_count_with_the_names() -> None:
    alias = Reason("two memories give both the same alias", 0.6)
    entities = named("Lantern", "Torch", "Lanterns")
    found = near(entities, [("torch", "lantern", alias), ("torch", "nobody", alias), ("torch", "torch", alias)])
    assert found == [Near("lantern", "torch", (alias,), 0.6)]
    both = near(named("neural network", "neural networks"), [("neural network", "neural networks", alias)])
    assert [reason.words for reason in both[0].reasons] == ["singular and plural", alias.words]
    assert both[0].score == 0.9


def test_likelihood_of_several_reasons() -> None:
    assert likelihood([0.5]) == 0.5
    assert likelihood([0.5, 0.5]) == 0.75
    assert likelihood([0.95, 0.95]) == 0.99
    assert likelihood([]) == 0


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Philip Saville", "Philip Savile", "doubled"),
        ("Saville", "Savile", None),  # too short
        ("Brassss", "Brasssss", "doubled"),
        ("Jeffery", "Jeffrey", "swapped"),
        ("Custromer", "Customer", "missing"),
        ("Elisabeth", "Elizabeth", "sound"),
        ("Johnson Place", "Johnton Place", "other"),
        ("Portal", "Bortal", None),
        ("Encoder", "Encodes", None),
        ("abcdef", "abcdfe", None),
        ("abcdexy", "abcdxey", "swapped"),
        ("customer", "costumer", None),
        ("Custommmer", "Customer", None),
        ("model 4 turbo", "model 5 turbo", None),
    ],
)
def test_slips(a: str, b: str, kind: str | None) -> None:
    assert slip(Shape(a), Shape(b)) == kind
    assert slip(Shape(b), Shape(a)) == kind


letters = st.text("abcdeo", min_size=7, max_size=12)


@given(letters, st.integers(1, 5), st.sampled_from("abcdeo"), st.sampled_from(["put", "take", "change", "swap"]))
def test_names_one_slip_apart_meet_under_a_key(text: str, place: int, letter: str, edit: str) -> None:
    other = {
        "put": text[:place] + letter + text[place:],
        "take": text[:place] + text[place + 1 :],
        "change": text[:place] + letter + text[place + 1 :],
        "swap": text[:place] + text[place : place + 2][::-1] + text[place + 2 :],
    }[edit]
    assume((text[0], text[-1]) == (other[0], other[-1]))
    assert set(slip_keys(text)) & set(slip_keys(other))


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_names_in_any_order_give_the_same(names: list[str], chance: random.Random) -> None:
    entities = [Named(key, (name,)) for key, name in {name_key(name): name for name in names}.items()]
    found = near(entities, floor=0)
    chance.shuffle(entities)
    assert near(entities, floor=0) == found
    assert all(pair.a < pair.b and 0 <= pair.score <= 0.99 for pair in found)
    assert len({(pair.a, pair.b) for pair in found}) == len(found)


@pytest.mark.parametrize(
    ("a", "b", "may_be"),
    [("C#", "C", False), ("Opus 4.7", "opus-4.7", True), ("Opus 4.7", "Opus 47", False), ("a-1", "a 1", True)],
)
def test_what_forbids_two_names_to_be_one(a: str, b: str, may_be: bool) -> None:
    assert may_be_one(Shape(a), Shape(b)) is may_be


def test_acronyms() -> None:
    assert acronyms(Shape("Language Resources and Evaluation Conference")) == {"lrec", "lraec"}
    assert acronyms(Shape("Machine Learning")) == set()
    assert acronyms(Shape("Machine Learning"), fewest=2) == {"ml"}
    assert spellings("Machine Learning (ML)") == ["Machine Learning (ML)", "Machine Learning", "ML"]
    assert spellings("ML (Machine Learning)") == ["ML (Machine Learning)", "ML", "Machine Learning"]
    assert spellings("Ran (film)") == ["Ran (film)"]


def test_the_work_grows_with_the_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    # Names that share words, beginnings, initials and lengths.
    compared = []

    def counting(a: Shape, b: Shape) -> bool:
        compared.append((a, b))
        return may_be_one(a, b)

    monkeypatch.setattr(near_keys, "may_be_one", counting)
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnop", k=8)) for _ in range(40)]
    names = {" ".join(chance.sample(words, 2)).title() for _ in range(1_500)}
    near([Named(name_key(name), (name,)) for name in names])
    assert len(names) > 900
    assert len(compared) < 2 * len(names)
    # More names than that under one key are not compared at all.
    alike = [Named(str(place), ("same name",)) for place in range(500)]
    assert near(alike) == []
