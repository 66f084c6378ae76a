"""Names in a text by rules alone: `names_in`."""

from __future__ import annotations

import base64
import random
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.base.text import name_key
from memdb.domain.names import names_in
from tests.bench import mentions


def found(text: str) -> list[str]:
    return [name.name for name in names_in(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the rule lives in pg_hba.conf now", ["pg_hba.conf"]),
        ("copy it to db1.internal.example tonight", ["db1.internal.example"]),
        ("restart nginx.service and look again", ["nginx.service"]),
        ("we pin python3.11 and jQuery-1.11.1 there", ["python3.11", "jQuery-1.11.1"]),
        ("edit src/app/main.py, then 00-startup.py", ["src/app/main.py", "00-startup.py"]),
        ("keys are in /etc/ssh/keys and ~/.ssh/config here", ["/etc/ssh/keys", "~/.ssh/config"]),
        (r"logs go to C:\data\logs every night", [r"C:\data\logs"]),
        ("build with --no-cache and --max-old-space-size", ["--no-cache", "--max-old-space-size"]),
        ("it reads $BACKUP_DIR and MEMDB_LLM_MODEL first", ["BACKUP_DIR", "MEMDB_LLM_MODEL"]),
        ("log in as deploy@db1 and mail ops@corp.example", ["deploy@db1", "ops@corp.example"]),
        ("ask @vera-h about @scope/pkg", ["@vera-h", "@scope/pkg"]),
        ("then run pip install --upgrade fastembed again", ["fastembed"]),
        ("the `kubelet` and `retry_count` stopped", ["kubelet", "retry_count"]),
        ("we moved from C to C++ and C#, on .NET", ["C++", "C#", ".NET"]),
        ("it is written in Node.js with asp.net in front", ["Node.js", "asp.net"]),
        ("call waitAll() before std::begin()", ["waitAll", "std::begin"]),
        ("a WordNet copy answers to fastAPI", ["WordNet", "fastAPI"]),
        ("we tried bge-small-en-v1.5 and Llama-3-8B on arm64", ["bge-small-en-v1.5", "Llama-3-8B", "arm64"]),
        ("see http://grafana.internal:3000/d/abc for it", ["grafana.internal"]),
    ],
)
def test_identifiers(text: str, names: list[str]) -> None:
    assert found(text) == names
    assert {name.source for name in names_in(text)} == {"identifier"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("yesterday Vera Holt left Norwood Labs", ["Vera Holt", "Norwood Labs"]),
        ("Vera reviewed the plan.", ["Vera"]),
        ("Vera's plan was fine.", ["Vera"]),
        ("Vera, who came late, was right.", ["Vera"]),
        ("a letter from the University of Bonn came", ["University of Bonn"]),
        ("the Association for the Study of Rivers met", ["Association for the Study of Rivers"]),
        ("they asked the Institute of Roads and Bridges", ["Institute of Roads and Bridges"]),
        ("a print by Ludwig van der Laan hangs here", ["Ludwig van der Laan"]),
        ("they met Juan de la Torre in Norwood", ["Juan de la Torre", "Norwood"]),
        ("we wrote to J. R. Holt and St. Kilda", ["J. R. Holt", "St. Kilda"]),
        ("they hired AT&T last year", ["AT&T"]),
        ("she read Aoife O'Neil's report", ["Aoife O'Neil"]),
        ("the HDBSCAN paper runs on iOS", ["HDBSCAN", "iOS"]),
        ("a Linux-based box in Brackwater", ["Linux", "Brackwater"]),
        ('she sang "The Long Way Home" twice', ["The Long Way Home"]),
        ("Then Karl arrived. Karl was late.", ["Karl"]),
        ("we met Łukasz Żak in Kraków and Zoë in Besançon", ["Łukasz Żak", "Kraków", "Zoë", "Besançon"]),
        ("Wczoraj spotkała się Karolina Nowak i nie wróciła do Gdyni", ["Karolina Nowak", "Gdyni"]),
        ("Вчера Анна Каренина приехала в Москву", ["Анна Каренина", "Москву"]),
        (
            "the long line of this paragraph goes on and on until it names Red\nHarbour Bank at last",
            ["Red Harbour Bank"],
        ),
        ("the new hire is Mette\n\nOlafsen is a town", ["Mette", "Olafsen"]),
        ("Lyle wrote the fix; Brennan Lyle reviewed nothing", ["Brennan Lyle"]),
    ],
)
def test_proper_names(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "The meeting went well. Nothing else happened, and nobody called.",
        "Recommended a restart. Started with the backlog. Fixing it took a day.",
        "See you on Monday or in late March, said the English teacher.",
        "Unfortunately, it failed. Basically, nobody knew.",
        "The CEO and the CFO read the FAQ about our API and its URL.",
        "## Next Steps And Open Points\n\nnothing was said",
        "NEVER do that. This is VERY important, do NOT touch it.",
        "PLEASE READ THE RULES FIRST",
        "it took 10ms, 5GB, 3pm, 2x and 1990s hardware, v1.2.3, 4.5.6",
        "commit 3f2a9c1d4e5f and id 550e8400-e29b-41d4-a716-446655440000 in colour 22D3EE",
        "see https://example.com/Foo/Bar?x=Baz and www.example.org/Quux",
        "either/or, and/or, e.g. this, i.e. that, at 5 a.m. sharp",
        "done.Then we left.Nobody knew",
        "the value is `true`, `null` or `42`, of type `string`, ending in `.py`",
        "```\nVera Holt = Norwood.Labs()\n```",
        "~~~\nVera Holt\n~~~",
        'Traceback (most recent call last):\n  File "/app/Vera.py", line 3, in Holt\n',
        '{"name": "Vera Holt", "team": ["Norwood", "Labs"]}',
        "def greet(Vera): return Holt;",
        "悬空引用清零 重跑流程",
        "a pH of 7 at 50 kHz",
    ],
)
def test_no_names(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("we saw Dr. Jane Weiss there", "Jane Weiss", "person"),
        ("we saw Mr. Weiss there", "Weiss", "person"),
        ("we joined Norwood Systems GmbH there", "Norwood Systems GmbH", "organization"),
        ("we wrote to Norwood University today", "Norwood University", "organization"),
        ("it is in C++ now", "C++", "technology"),
        ("we saw Jane Weiss there", "Jane Weiss", None),
        ("it is in pg_hba.conf now", "pg_hba.conf", None),
    ],
)
def test_types_are_given_where_they_are_sure(text: str, name: str, kind: str | None) -> None:
    assert [(each.name, each.type) for each in names_in(text)] == [(name, kind)]


def test_speakers_are_people_once_they_speak_again() -> None:
    talk = names_in("Caro: did it rain?\nMelly: it did\nCaro: so we stay\n")
    assert [(name.name, name.type) for name in talk] == [("Caro", "person"), ("Melly", None)]
    assert found("Status: fine\nNote: nothing\nStatus: fine\n") == []


def test_a_name_counts_once_with_its_first_place() -> None:
    names = names_in("we met Vera Holt. Later VERA HOLT and Vera  Holt wrote")
    assert [(name.key, name.start, name.stop) for name in names] == [("vera holt", 7, 16)]


def test_a_type_found_later_is_kept() -> None:
    assert [(name.name, name.type) for name in names_in("we met Weiss, then Dr. Weiss wrote")] == [("Weiss", "person")]


def test_each_text_is_judged_on_its_own() -> None:
    before = names_in("Bramble grew by the wall")
    names_in("they met Bramble and Wall at Norwood")
    assert names_in("Bramble grew by the wall") == before


_NASTY = [
    "a" * 1_000_000,
    "A " * 50_000,
    "a." * 100_000,
    "/a" * 100_000,
    "a@" * 100_000,
    "`" * 200_000,
    '"A ' * 40_000,
    "University of the " * 20_000,
    "\n" * 200_000,
    "# \n" * 50_000,
    "x: y\n" * 20_000,
    "http://" + "a" * 200_000,
    "Vera'" * 40_000,
    "\u0301" * 200_000,
    "悬" * 150_000,
    '{"a":"Vera Holt"},' * 20_000,
    base64.b64encode(random.Random(1).randbytes(500_000)).decode(),
    base64.encodebytes(random.Random(1).randbytes(500_000)).decode(),
]


@pytest.mark.parametrize("text", _NASTY, ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["a fifth", "all"])
def test_large_texts_take_linear_time_and_name_little(text: str, part: int) -> None:
    began = time.process_time()
    names = names_in(text[: len(text) // part])
    assert time.process_time() - began < 15 / part
    assert len(names) <= 2  # a line of code that is cut off looks like a name


def test_a_long_line_of_prose_gives_its_names() -> None:
    text = "the team of Norwood Labs met Vera Holt by the river again and again, " * 2_000
    assert found(text) == ["Norwood Labs", "Vera Holt"]


_WORDS = st.sampled_from(
    [
        "Vera",
        "holt",
        "of",
        "the",
        "C++",
        "a_b",
        "pg_hba.conf",
        ".",
        ",",
        "\n",
        "`",
        '"',
        "#",
        "@x",
        "/a/b",
        "--no",
        "Dr.",
        "悬空",
        "'s",
    ]
)
_TEXTS = st.one_of(
    st.text(max_size=200), st.lists(_WORDS, max_size=40).map(" ".join), st.lists(_WORDS, max_size=40).map("".join)
)


@given(_TEXTS)
def test_names_stand_where_they_say(text: str) -> None:
    names = names_in(text)
    for name in names:
        assert 0 <= name.start < name.stop <= len(text)
        assert name.name == " ".join(text[name.start : name.stop].split())
        assert name.key == name_key(name.name) != ""
        assert name.type != "concept"
    assert len({name.key for name in names}) == len(names)
    places = [(name.start, name.stop) for name in names]
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    assert names_in(text) == names


@given(_TEXTS, _TEXTS)
def test_names_are_no_more_than_the_text_has_room_for(text: str, more: str) -> None:
    assert len(names_in(text + "\n\n" + more)) <= len(text) + len(more)


def test_the_bench_reads_tags_and_scores(tmp_path: Path) -> None:
    file = tmp_path / "tags.txt"
    file.write_text("Vera\tB-person\nHolt\tI-person\nleft\tO\nNorwood\tB-place\n.\tO\n\nit\tO\nrained\tO\n", "utf-8")
    texts = mentions.tagged(file)
    assert [labelled.text for labelled in texts] == ["Vera Holt left Norwood.", "it rained"]
    assert texts[0].keys() == {"vera holt": "person", "norwood": "place"}
    answers = [[mentions.Found("vera holt", "proper", 0, 9), mentions.Found("left", "proper", 10, 14)], []]
    figures = mentions.score(texts, answers).figures()
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)


@pytest.mark.corpora
@pytest.mark.skipif(not mentions.FOLDER.is_dir(), reason="no labelled texts beside the repository")
@pytest.mark.parametrize(
    ("name", "precision", "recall"),
    [("conversations", 0.85, 0.95), ("CrossNER__ai", 0.75, 0.65), ("StackOverflowNER__test", 0.75, 0.40)],
)
def test_precision_on_labelled_texts(name: str, precision: float, recall: float) -> None:
    folder = mentions.FOLDER
    texts = mentions.conversations(folder) if name == "conversations" else mentions.tagged(folder / f"{name}.txt")
    figures = mentions.score(texts, mentions.by_rules(texts)).figures()
    assert figures["precision"] >= precision
    assert figures["recall of names"] >= recall
