"""What is asked about a text, what of an answer is believed, and which texts are not sent at all. Mission F."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.base.text import name_key
from memdb.domain.extraction import (
    Dropped,
    Mentioned,
    Proposed,
    Stated,
    messages,
    prompt_sha256,
    read_answer,
    skip_reason,
)
from memdb.domain.extraction_names import Occurrences, cleaned, is_formula, unfit
from memdb.domain.extraction_prompt import MOST_KNOWN_NAMES, TEXT_REACH
from memdb.domain.vocabulary import SYSTEM, Entry, Vocabulary

TOKEN = "gh" + "p_" + "a8Kd03Lq7Zx1Vb6Nm4Rt9Yw2Hs5Jc0Pf3Ge8U"

REAL_NAMES = [
    "C++",
    "g++",
    "C++17",
    "Notepad++",
    "C#",
    "F#",
    "A*",
    ".NET",
    "ASP.NET Core",
    "Node.js",
    "x86",
    "x86-64",
    "x264",
    "i386",
    "GPT-4",
    "GPT-4o",
    "Llama-3-8B",
    "Vitamin C (ascorbic acid)",
    "Vitamin B12",
    "H2O",
    "CO2",
    "CO₂",
    "3M",
    "5G",
    "F1",
    "F-16",
    "B-52",
    "R2-D2",
    "U-2",
    "S/4HANA",
    "OS/2",
    "TCP/IP",
    "I/O",
    "N/A",
    "A/B testing",
    "AT&T",
    "R&D",
    "Q&A",
    "B+ tree",
    "Disney+",
    "E*TRADE",
    "Yahoo!",
    "k-means",
    "p-value",
    "t-SNE",
    "λ-calculus",
    "β-carotene",
    "TNF-α",
    "pg_hba.conf",
    "libssl3",
    "node-4711",
    "db-01.example.org",
    "/etc/fstab",
    "--dry-run",
    "$HOME",
    "printf()",
    "std::vector<int>",
    "Ke$ha",
    "C (programming language)",
    "World Health Organization (WHO)",
    "O'Brien",
    "Guns N' Roses",
    "J. R. R. Tolkien",
    "Acme Inc.",
    "U.S.",
    "Léopold Sédar Senghor",
    "Łódź",
    "Straße des 17. Juni",
    "Москва",
    "東京",
    "서울",
    "القاهرة",
    "München Hbf",
    "Windows 11",
    "Boeing 747",
    "1Password",
    "7-Zip",
    "Route 66",
    "Apollo 11",
    "log4j",
    "max-age",
    "Log (magazine)",
]


@pytest.mark.parametrize("name", REAL_NAMES)
def test_a_real_name_passes(name: str) -> None:
    assert unfit(cleaned(name)) is None
    assert cleaned(name) == name
    read = read_answer(_names(name), f"We talked about {name} today.")
    assert [mention.name for mention in read.mentions] == [name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x^2", "formula"),
        ("x²", "formula"),
        ("E=mc²", "formula"),
        ("E = mc^2", "formula"),
        ("a + b", "formula"),
        ("a+b", "formula"),
        ("ax + b", "formula"),
        ("2x+1", "formula"),
        ("n-1", "formula"),
        ("x - y", "formula"),
        ("x/y", "formula"),
        ("dy/dx", "formula"),
        ("a*b", "formula"),
        ("p < 0.05", "formula"),
        ("n > 30", "formula"),
        ("A → B", "formula"),
        ("x ∈ ℝ", "formula"),
        ("∑ x_i", "formula"),
        ("∂f/∂x", "formula"),
        ("f(x)", "formula"),
        ("g(x, y)", "formula"),
        ("P(A|B)", "formula"),
        ("O(n log n)", "formula"),
        ("N(0, 1)", "formula"),
        ("log(x)", "formula"),
        ("exp(-x)", "formula"),
        ("softmax(QK^T)", "formula"),
        ("x_i", "formula"),
        ("W_q", "formula"),
        ("h_{t-1}", "formula"),
        (r"\alpha", "formula"),
        (r"\frac{a}{b}", "formula"),
        ("$x$", "formula"),
        ("$\\theta$ value", "formula"),
        ("𝑥 axis", "formula"),
        ("Δt", "formula"),
        ("x, y", "formula"),
        ("a b", "formula"),
        ("k = 5", "formula"),
        ("R² = 0.93", "formula"),
        ("the migration of the old tide gauge store", "fragment"),
        ("she said that it would be", "fragment"),
        ("Donaudampfschifffahrtsgesellschaftskapitän", "fragment"),
        ("x", "letters"),
        ("C", "letters"),
        ("α", "letters"),
        ("京", "letters"),
        ("42", "letters"),
        ("3.14", "letters"),
        ("100%", "letters"),
        ("24/7", "letters"),
        ("2024-01-05", "letters"),
        ("v2", "letters"),
        ("x1", "letters"),
        ("$5", "letters"),
        ("?!", "letters"),
        ("…", "letters"),
        ("--", "letters"),
        ("🙂", "letters"),
        ("Ann\u200ba", "hidden"),
        ("abc\u202edef", "hidden"),
        (TOKEN, "secret"),
        ("[redacted: GitHub token]", "secret"),
    ],
)
def test_what_is_no_name_is_dropped_with_its_reason(name: str, reason: str) -> None:
    assert unfit(cleaned(name)) == reason
    read = read_answer(_names(name), f"We talked about {name} today.")
    assert read.mentions == ()
    assert [dropped.reason for dropped in read.dropped] == [reason]
    assert TOKEN not in repr(read)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("  Anna   Karlsson ", "Anna Karlsson"),
        ("Anna\nKarlsson", "Anna Karlsson"),
        ("`ripgrep`", "ripgrep"),
        ("**Postgres**", "Postgres"),
        ("“Moby Dick”", "Moby Dick"),
        ("@karlsson", "karlsson"),
        ("Postgres.", "Postgres"),
        ("Node.js.", "Node.js"),
        ("Anna,", "Anna"),
        ("Acme Inc.", "Acme Inc."),
        ("Anna.", "Anna"),
        ("'", "'"),
        ("``", ""),
        ("", ""),
    ],
)
def test_what_a_model_wraps_around_a_name_goes(raw: str, name: str) -> None:
    assert cleaned(raw) == name


def test_single_letters_come_in_by_the_type_that_lets_them() -> None:
    output = {
        "entities": [
            {"name": "R", "type": "Technology"},
            {"name": "C", "type": "technology"},
            {"name": "K", "type": "person"},
        ]
    }
    text = "K wrote it in R, and rewrote it in C."
    read = read_answer(output, text, single_letters=Vocabulary().single_letter_types)
    assert read.mentions == (Mentioned("R", "technology"), Mentioned("C", "technology"))
    assert read.dropped == (Dropped("K", "letters"),)
    assert read_answer(output, text).mentions == ()
    assert read_answer(output, text, single_letters=["Technology"]).mentions == read.mentions


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Postgres", "moved to POSTGRES yesterday", True),
        ("System Admin", "ask the SystemAdmin", True),
        ("SystemAdmin", "ask the system admin", True),
        ("system-admin", "ask the system_admin", True),
        ("Llama 3 8B", "runs Llama-3-8B", True),
        ("Ines Okafor", "Ines\n  Okafor", True),
        ("Ines Okafor", "Ines\u00a0Okafor", True),
        ("Café Noir", "at the Cafe\u0301 Noir", True),
        ("O’Brien", "O'Brien came", True),
        ("Ines", "Ines's boat", True),
        ("karlsson", "thanks @karlsson!", True),
        ("hba", "edit pg_hba.conf", True),
        ("東京", "昨日東京に行った", True),
        ("서울", "서울에서 만났다", True),
        ("Straße", "in der STRASSE", True),
        ("C++", "written in C++.", True),
        ("Postgres", "moved to PostgreSQL", False),
        ("art", "from the start", False),
        ("Rust", "he did trust me", False),
        ("C", "written in C++", False),
        ("C", "written in C#", False),
        ("C", "written in C.", True),
        ("C++", "written in C", False),
        ("Cafe Noir", "at the Café Noir", False),
        ("Mirela Dovrak", "nobody here", False),
        ("GPT-4", "uses GPT-40", False),
        ("Opus 4.7", "uses Opus 4.8", False),
        ("", "anything", False),
        ("-", "a - b", False),
        ("(a+)+$", "a" * 30, False),
    ],
)
def test_a_name_occurs_as_whole_words_in_any_known_spelling(name: str, text: str, found: bool) -> None:
    assert Occurrences(text).has(name) is found


def test_a_name_that_is_not_in_the_text_is_dropped() -> None:
    output = _names("Mirela Dovrak", "Harrowgate Labs", "Ines Okafor")
    read = read_answer(output, "Ines Okafor called.")
    assert read.mentions == (Mentioned("Ines Okafor", "tool"),)
    assert read.dropped == (Dropped("Mirela Dovrak", "absent"), Dropped("Harrowgate Labs", "absent"))


def test_three_spellings_of_one_name_are_one_mention_in_the_first() -> None:
    read = read_answer(_names("Postgres", "POSTGRES", " @postgres "), "postgres")
    assert read.mentions == (Mentioned("Postgres", "tool"),)
    assert [dropped.reason for dropped in read.dropped] == ["duplicate", "duplicate"]


def test_of_forty_entities_the_first_five_that_pass_stay() -> None:
    names = ["x^2", "Nobody Here", *(f"gauge {number}" for number in range(38))]
    read = read_answer(_names(*names), " ".join(f"gauge {number}," for number in range(38)))
    assert [mention.name for mention in read.mentions] == ["gauge 0", "gauge 1", "gauge 2", "gauge 3", "gauge 4"]
    assert len(read.dropped) == 35


@pytest.mark.parametrize(
    ("given_type", "read_type"),
    [
        ("person", "person"),
        ("Person", "person"),
        (" PERSON ", "person"),
        ("Recipe Book", "recipe book"),
        ("api_endpoint", "api_endpoint"),
        ("", "concept"),
        (None, "concept"),
        (7, "concept"),
        ("a type that is far too long to be any name of a type", "concept"),
        ("x = 5", "concept"),
    ],
)
def test_a_type_is_kept_in_the_spelling_of_its_key_known_or_not(given_type: Any, read_type: str) -> None:
    read = read_answer({"entities": [{"name": "Ines", "type": given_type}]}, "Ines")
    assert read.mentions == (Mentioned("Ines", read_type),)


@pytest.mark.parametrize(
    ("given_predicate", "read_predicate"),
    [
        ("works_at", "works_at"),
        ("Works At", "works_at"),
        ("works-at", "works_at"),
        ("is allergic to", "is_allergic_to"),
        ("", None),
        (None, None),
        ("=", None),
        ("has a very long name that says everything about the relation", None),
    ],
)
def test_a_predicate_is_kept_in_the_spelling_of_its_key_known_or_not(
    given_predicate: Any, read_predicate: str | None
) -> None:
    read = read_answer(_relation("Ines", given_predicate, "Postgres"), "Ines, Postgres")
    assert [stated.predicate for stated in read.relations] == ([read_predicate] if read_predicate else [])


@pytest.mark.parametrize(
    ("confidence", "read_confidence"),
    [
        (0.9, 0.9),
        (0, 0.0),
        (1, 1.0),
        ("0.8", 0.8),
        (42, 0.0),
        (-0.1, 0.0),
        (1.0001, 0.0),
        ("high", 0.0),
        (None, 0.0),
        (True, 0.0),
        ([0.9], 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (10**400, 0.0),
    ],
)
def test_only_a_number_from_0_to_1_is_a_confidence(confidence: Any, read_confidence: float) -> None:
    read = read_answer(_relation("Ines", "uses", "Postgres", confidence), "Ines, Postgres")
    assert [stated.confidence for stated in read.relations] == [read_confidence]


@pytest.mark.parametrize(
    ("subject", "target", "reason"),
    [
        ("Ines", "Ines", "self-relation"),
        ("Ines", " INES ", "self-relation"),
        ("Ines", "Harbour", "unknown end"),
        ("17", "Ines", "unknown end"),
        (None, "Ines", "unknown end"),
        (4711, "Ines", "unknown end"),
    ],
)
def test_a_relation_stands_between_two_entities_of_the_answer(subject: Any, target: Any, reason: str) -> None:
    read = read_answer(_relation(subject, "uses", target, entities=("Ines", "Postgres")), "Ines, Postgres, Harbour")
    assert read.relations == ()
    assert [dropped.reason for dropped in read.dropped] == [reason]


def test_a_relation_takes_the_spelling_of_its_entities_and_counts_once() -> None:
    output = {
        "entities": [{"name": "Ines", "type": "person"}, {"name": "Postgres", "type": "tool"}],
        "relations": [
            {"subject": "@INES", "predicate": "uses", "object": "`postgres`", "confidence": 0.8},
            {"subject": "Ines", "predicate": "USES", "object": "Postgres", "confidence": 0.9},
            {"subject": "Postgres", "predicate": "uses", "object": "Ines", "confidence": 0.7},
        ],
    }
    read = read_answer(output, "Ines, Postgres")
    assert read.relations == (Stated("Ines", "uses", "Postgres", 0.8), Stated("Postgres", "uses", "Ines", 0.7))
    assert [dropped.reason for dropped in read.dropped] == ["duplicate"]


def test_proposals_are_names_with_a_rule() -> None:
    output = {
        "entities": [],
        "new_types": [
            {"name": "Recipe", "description": "  A dish\nwith steps. "},
            {"name": "recipe", "description": "again"},
            {"name": "x^2", "description": "no"},
            {"name": "ship", "description": f"like {TOKEN}"},
            {"name": "reef"},
            {"name": "fourth", "description": ""},
        ],
        "new_predicates": [{"name": "sails to", "description": "The subject sails to the object."}],
    }
    read = read_answer(output, "")
    assert read.proposals == (
        Proposed("type", "recipe", "A dish with steps."),
        Proposed("type", "ship", "like [redacted: GitHub token]"),
        Proposed("type", "reef", ""),
        Proposed("predicate", "sails_to", "The subject sails to the object."),
    )
    assert [dropped.reason for dropped in read.dropped] == ["duplicate", "malformed", "too many"]


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"entities": None},
        {"entities": "Ines"},
        {"entities": {"name": "Ines"}},
        {"entities": [None, 3, "Ines", [], {"type": "person"}, {"name": None}, {"name": ["Ines"]}, {"name": ""}]},
        {"entities": [], "relations": [None, {}, {"subject": {}}], "new_types": [{}], "new_predicates": 7},
    ],
)
def test_any_mapping_can_be_read(output: dict[str, Any]) -> None:
    read = read_answer(output, "Ines")
    assert (read.mentions, read.relations, read.proposals) == ((), (), ())


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["entities", "relations", "name", "type", "subject", "predicate", "object", "confidence"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["entities", "relations", "new_types", "new_predicates"]), _JSON), st.text())
def test_whatever_a_model_says_the_result_keeps_its_promises(output: dict[str, Any], text: str) -> None:
    read = read_answer(output, text)
    names = {name_key(mention.name) for mention in read.mentions}
    assert len(names) == len(read.mentions) <= 5
    assert all(Occurrences(text).has(mention.name) and not unfit(mention.name) for mention in read.mentions)
    assert all({name_key(one.subject), name_key(one.object)} <= names for one in read.relations)
    assert all(0.0 <= one.confidence <= 1.0 for one in read.relations)
    assert read_answer(json.loads(json.dumps(output)), text) == read


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_a_text_contains_each_of_its_words_and_cleaning_is_stable(text: str) -> None:
    assert cleaned(cleaned(text)) == cleaned(text)
    is_formula(text)
    for word in text.split():
        if word.isalpha() and word.isascii():
            assert Occurrences(text).has(word)


# The prompt


def test_the_prompt_is_built_from_the_active_vocabulary() -> None:
    ours = Entry("type", "recipe", "A dish with its steps.")
    without = Entry("type", "person", "x", "system", state="disabled")
    system = messages("text", Vocabulary([*SYSTEM, ours, without]))[0]["content"]
    assert "- recipe: A dish with its steps." in system
    assert "- works_at: " in system
    assert "- person: " not in system
    assert system.index("- recipe: ") < system.index("- concept: ")  # the last resort stays last


def test_examples_use_no_type_or_predicate_that_is_switched_off() -> None:
    off = [Entry("type", "tool", "x", state="disabled"), Entry("predicate", "works_at", "x", state="disabled")]
    turns = messages("text", Vocabulary([*SYSTEM, *off]))
    answers = [json.loads(turn["content"]) for turn in turns if turn["role"] == "assistant"]
    assert answers == [
        {
            "entities": [
                {"name": "Mirela Dovrak", "type": "person"},
                {"name": "Harrowgate Labs", "type": "organization"},
            ],
            "relations": [],
        },
        {"entities": [], "relations": []},
    ]


def test_the_examples_pass_the_checks() -> None:
    turns = messages("text", Vocabulary())[1:-1]
    for question, answer in zip(turns[::2], turns[1::2], strict=True):
        output = json.loads(answer["content"])
        read = read_answer(output, question["content"])
        assert [mention.name for mention in read.mentions] == [one["name"] for one in output["entities"]]
        assert (len(read.relations), read.dropped) == (len(output["relations"]), ())


def test_the_turns_alternate_and_the_text_comes_last() -> None:
    turns = messages("The text.", Vocabulary())
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert _fenced(turns[-1]["content"]) == "The text."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=== text ===",
        "=== text 0123456789ab ===\n=== text 0123456789ab ===",
        "line\n" * 50,
        "\ud800 lone",
        "{types} {0} %s {{x}}",
    ],
)
def test_no_text_closes_its_fence(text: str) -> None:
    prompt = messages(text, Vocabulary())[-1]["content"]
    assert _fenced(prompt) == text.replace("\ud800", "\ufffd")
    assert prompt.count(prompt.rpartition("\n")[2]) == 2


def test_a_text_that_quotes_its_own_marker_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    # No text holds its own hash; so let the first one be a constant that it does hold.
    real = hashlib.sha256

    class Constant:
        def hexdigest(self) -> str:
            return "0123456789ab" + "0" * 52

    seen: list[bytes] = []

    def first_constant(data: bytes = b"") -> Any:
        seen.append(data)
        return Constant() if data == b"=== text 0123456789ab ===" else real(data)

    monkeypatch.setattr(hashlib, "sha256", first_constant)
    prompt = messages("=== text 0123456789ab ===", Vocabulary())[-1]["content"]
    assert prompt.startswith("=== text ") and not prompt.startswith("=== text 0123456789ab")
    assert len(seen) > 1


def test_a_very_long_text_is_sent_up_to_a_bound() -> None:
    prompt = messages("a" * (TEXT_REACH + 5), Vocabulary())[-1]["content"]
    assert _fenced(prompt) == "a" * TEXT_REACH


def test_known_names_are_listed_bounded_and_clean() -> None:
    known = [
        "System  Admin",
        TOKEN,
        "hid\u200bden",
        "n" * 41,
        "",
        "line\nbreak",
        *(f"name {number}" for number in range(90)),
    ]
    prompt = messages("text", Vocabulary(), known)[-1]["content"]
    listed = json.loads(prompt[prompt.index("[") : prompt.index("]") + 1])
    assert listed[:3] == ["System Admin", "line break", "name 0"]
    assert len(listed) == MOST_KNOWN_NAMES
    assert "Names used before" not in messages("text", Vocabulary())[-1]["content"]


def test_the_identity_of_the_prompt_follows_the_vocabulary_and_nothing_else() -> None:
    same = prompt_sha256(Vocabulary())
    assert same == prompt_sha256(Vocabulary(SYSTEM)) and len(same) == 64
    changed = [
        [*SYSTEM, Entry("type", "recipe", "A dish.")],
        [*SYSTEM, Entry("type", "recipe", "A dish with steps.")],
        [*SYSTEM, Entry("type", "tool", "x", state="disabled")],
        [*SYSTEM, Entry("predicate", "sails_to", "The subject sails to the object.")],
    ]
    hashes = {prompt_sha256(Vocabulary(entries)) for entries in changed}
    assert len(hashes | {same}) == 5
    disabled = Entry("type", "recipe", "A dish.", state="disabled")
    assert prompt_sha256(Vocabulary([*SYSTEM, disabled])) == same


# The gate

MATH = {
    "latex display": "$$\\int_0^\\infty e^{-x^2} dx = \\frac{\\sqrt{\\pi}}{2}$$\n"
    "$$\\sum_{n=1}^\\infty n^{-2} = \\frac{\\pi^2}{6}$$",
    "latex environment": (
        "\\begin{align*}\n\\nabla \\cdot E &= \\rho / \\epsilon_0 \\\\\n"
        "\\nabla \\times B &= \\mu_0 J\n\\end{align*}\nwith the usual signs"
    ),
    "latex inline": "Let $f(x) = x^2 + 2x + 1$ "
    "and $g(y) = \\sqrt{y}$; then $g(f(x)) = |x+1|$ and $f(g(y)) = y + 2\\sqrt{y} + 1$.",
    "latex brackets": "\\[ a_{n+1} = \\frac{1}{2}(a_n + \\frac{c}{a_n}) \\] so \\( a_n \\to \\sqrt{c} \\)",
    "nested latex": "\\begin{equation} \\begin{cases} 0 \\end{cases} \\text{"
    "where the water is lower than the second mark of the gauge} \\end{equation}",
    "bare latex": "\\theta_{t+1} = \\theta_t - \\eta \\nabla L(\\theta_t)\nv_t = \\beta v_{t-1} + (1 - \\beta) g_t",
    "unicode": "∀ε > 0 ∃δ > 0: |x − a| < δ ⇒ |f(x) − L| < ε\n∑ᵢ xᵢ² ≤ (∑ᵢ xᵢ)²\n∂u/∂t = α ∇²u",
    "plain": "a^2 + b^2 = c^2\ny = mx + b\n(a + b)^2 = a^2 + 2ab + b^2\nx = (-b + d) / 2a",
    "styled letters": "𝐸 = 𝑚𝑐²\n𝐹 = 𝑚𝑎\n𝑝 = 𝑚𝑣 and 𝑣 = 𝑠/𝑡\n𝑎 = 𝑣/𝑡",
    "proof": "Let x ∈ A ∩ B.\nx ∈ A ∧ x ∈ B\nA ∩ B ⊆ A ∪ B\n(A ∪ B)ᶜ = Aᶜ ∩ Bᶜ\n|A ∪ B| = |A| + |B| − |A ∩ B|",
}

SENT = {
    "empty": "",
    "one formula": "E = mc^2 and p = mv",
    "prose with a formula": (
        "The pendulum on the pier swings with period $T = 2\\pi\\sqrt{l/g}$, which Ines checked against the clock of "
        "the harbour office in March. She wants it shown on the new panel beside the gauges."
    ),
    "python": (
        "import numpy as np\n\ndef step(x, v, dt):\n    a = -k * x / m\n    v = v + a * dt\n"
        "    x = x + v * dt\n    return x, v\n"
        "\nfor i in range(10):\n    x, v = step(x, v, 0.1)\n"
    ),
    "terse python": "a = b + c\nd = a * 2\nx, y = y, x\nif a == b: c = d ** 2\nprint(a, b)\ni += 1\n",
    "c": "int f(int a, int b) {\n  int c = a + b;\n  for (int i = 0; i < c; i++) { c ^= a << i; }\n"
    "  return c * 2;\n}\n",
    "haskell": "f x = x ^ 2 + 1\nmain = mapM_ print (map f [1..10])\nwhere g a b = a <> b\n",
    "fenced math in code": "```\na^2 + b^2 = c^2\nx^2 + y^2 = z^2\nu^2 = v^2 + w^2\n```\n"
    "The check script prints these three lines.",
    "shell": 'export PATH="$HOME/bin:$PATH"\nfor f in *.md; do echo "$f" >> $OUT; done\n'
    "A=$((B + C))\n[ $x -gt $y ] && exit 1\n",
    "shell variables": "oc audit -f ${log_dir} -o top --by=verb --user=${top_user}\ncp -r ${a}/x=$b ${c}\n",
    "sql": "select a.id, b.n from a join b on a.id = b.a_id where a.x > 3 and b.y <= 5 order by b.n;\n",
    "regex and config": "max_connections = 100\nshared_buffers = 4GB\nwork_mem = 64MB\nlisten_addresses = '*'\n",
    "log": (
        "2026-03-04T12:30:01Z INFO  gauge-7 level=3.42 rate=+0.01\n"
        "2026-03-04T12:30:02Z WARN  gauge-9 timeout after 5000 ms\n"
        "2026-03-04T12:30:03Z ERROR db-01 connection refused (111)\n"
    ),
    "json": '{"a": 1, "b": [1, 2, 3], "c": {"x": 0.5, "y": -0.5}, "f": "x = y + z"}\n[{"k": 1}, {"k": 2}]\n',
    "yaml": "a: 1\nb: 2\nc:\n  - x\n  - y\nd: {e: 1, f: 2}\n",
    "ledger": (
        "2026/01/03 * Rent\n    Expenses:Home      1,200.00 EUR\n    Assets:Bank       -1,200.00 EUR\n\n"
        "2026/01/05 * Grocer\n    Expenses:Food         54.20 EUR\n    Assets:Cash          -54.20 EUR\n"
    ),
    "sums": "100 + 250 = 350\n350 - 120 = 230\n230 * 4 = 920\n",
    "prices": "The small one costs $5 and the large one $12; with the bag it is $14 = two weeks of coffee at $7.\n",
    "markdown table": "| x | y | z |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| a | b | c |\n",
    "csv": "t,x,y\n0,1.0,2.0\n1,1.5,2.5\n2,2.0,3.0\n",
    "polish": (
        "W piątek o 17 spotykamy się w Łodzi, u Anny i Wojtka. Z Gdyni jedzie też Ola, a z Krakowa nikt. "
        "I tak, o ile nie pada, idziemy nad rzekę; w razie deszczu zostajemy w domu."
    ),
    "german": "Am 3. Mai um 9 Uhr: Treffen in Z. mit A. und B. – bitte Ö. mitbringen (§ 5 Abs. 2).",
    "greek prose": "Η Μαρία πήγε στην Αθήνα με τον Γιώργο και είδε την Ακρόπολη το πρωί.",
    "russian": "Вчера я был в Москве, а он — в Твери; к нам и не с кем было ехать.",
    "chinese": "昨天我在上海见到了小王，他说数据库已经迁移到新的服务器上了。",
    "chess": "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7",
    "arrows": "inbox -> triage -> done\nA → B → C\ndraft => review => merge\n",
    "genotype": "ATGCGTACGTTAGC\nAa x Bb = AaBb\n",
    "diff": "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,3 @@\n-x = 1\n+x = 2\n y = 3\n",
    "units": "3 × 4 m, 20 ± 2 °C, 5 µm, 9.81 m/s², ≤ 60 dB, ½ cup, 10⁶ cells",
    "initials": "J. R. R. T. and C. S. L. met at the E. & C. on Tu.",
    "haiku": "o\na u\ni e o\n",
    "emoticons": "x_x ^_^ o_O T_T >_< =D :=) ^^ \\o/ <3 <3 <3 ^_^ ^_^",
    "windows paths": "C:\\Users\\ines\\tools\\bin\nD:\\alpha\\beta\\gamma\\notes.txt\n\\\\server\\share\\x\n",
    "php": '<?php $x = $y + $z; $a_b = $c_d; echo "$x$y"; ?>\n',
    "assembly": "mov eax, ebx\nadd eax, 1\nxor ecx, ecx\njmp L1\n",
    "makefile": "all: a.o b.o\n\tcc -o $@ $^\n%.o: %.c\n\tcc -c $< -o $@\n",
}


@pytest.mark.parametrize("name", MATH)
def test_formula_dominated_text_is_not_sent(name: str) -> None:
    assert skip_reason(MATH[name]) == "math-dense"


@pytest.mark.parametrize("name", SENT)
def test_other_text_is_sent(name: str) -> None:
    assert skip_reason(SENT[name]) is None


@pytest.mark.parametrize("name", [name for name in SENT if name != "one formula"])
def test_more_of_other_text_is_sent_too(name: str) -> None:
    assert skip_reason(f"{SENT[name]}\n" * 5) is None


@pytest.mark.parametrize("name", MATH)
def test_a_page_of_prose_with_formulas_is_sent(name: str) -> None:
    assert skip_reason(f"{SENT['prose with a formula']}\n\n{MATH[name]}\n\n{SENT['polish']}\n{SENT['polish']}") is None


@given(st.text(alphabet="ab$^_=+\\{}()[] \n`1x∑"))
def test_the_gate_reads_any_text(text: str) -> None:
    assert skip_reason(text) in (None, "math-dense")


@pytest.mark.parametrize("unit", ["$", "\\[", "$$ ", "\\begin{align}", "```\n", "`", "a$b ", "x^2 ", "\\", "[" * 10])
def test_the_gate_is_linear_in_the_text(unit: str) -> None:
    import time

    started = time.process_time()
    skip_reason(unit * (200_000 // len(unit)))
    assert time.process_time() - started < 2.0


def _names(*names: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "type": "tool"} for name in names], "relations": []}


def _relation(
    subject: Any, predicate: Any, target: Any, confidence: Any = 0.9, entities: tuple[str, ...] = ("Ines", "Postgres")
) -> dict[str, Any]:
    one = {"subject": subject, "predicate": predicate, "object": target, "confidence": confidence}
    return _names(*entities) | {"relations": [one]}


def _fenced(prompt: str) -> str:
    fence = prompt.rpartition("\n")[2]
    assert fence.startswith("=== text ")
    return prompt.split(fence + "\n", 1)[1].rpartition("\n" + fence)[0]
