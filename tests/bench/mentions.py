"""How good the offline extractor is: `python -m tests.bench.mentions [--set NAME] [--json] [--wrong N] [--unit post]`.

Precision and recall of untyped mentions, by set and by what found the name: the shape of an identifier, the rules for
proper names, or the gazetteer, which knows the names that are gold in the set's other texts. A mention counts once
for a text. Exact: its name key is that of a gold name of the text; overlapping: it touches the place of one. The
labelled texts lie beside the repository, or where MEMDB_BENCH_DATA says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memdb.base.text import name_key
from memdb.domain.gazetteer import find, is_matchable, match_key
from memdb.domain.names import names_in
from tests.bench.quality import DATA

FOLDER = DATA / "ner"

# Labels of things that have no name of their own (a button, a list, the value 7, a task): missing them is right.
_UNNAMED = """
Code_Block Output_Block Value User_Interface_Element Data_Structure Data_Type Version Keyboard_IP Variable_Name Device
HTML_XML_Tag File_Type Library_Variable Error_Name task field metrics misc algorithm
"""
COMMON_NOUNS = frozenset(_UNNAMED.split())

# Lines that the annotators of StackOverflowNER put in place of code and identifiers of posts.
_PLACEHOLDERS = (
    "CODE_BLOCK",
    "OP_BLOCK",
    "Question_ID",
    "Question_URL",
    "Answer_to_Question_ID",
    "Answer_to_Question_URL",
)

_CLOSING = """
, . ; : ! ? ) ] } % 's n't 're 've 'll 'd 'm
"""
_NO_SPACE_BEFORE = frozenset(_CLOSING.split())
_NO_SPACE_AFTER = frozenset("([{")

SECONDS = 2.0
"""Least processor time for which the speed is measured."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A name that people marked: its place in the text and its label."""

    start: int
    stop: int
    label: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text with its marked names."""

    text: str
    gold: tuple[Gold, ...]

    def keys(self) -> dict[str, str]:
        """Name key to label of each gold name."""
        return {name_key(self.text[gold.start : gold.stop]): gold.label for gold in self.gold}


@dataclass(frozen=True, slots=True)
class Found:
    """One mention that was found, and by what."""

    key: str
    source: str
    start: int
    stop: int


@dataclass(slots=True)
class Score:
    """Counts of one source in one set."""

    found: int = 0
    exact: int = 0
    overlapping: int = 0
    gold: int = 0
    recalled: int = 0
    names: int = 0
    names_recalled: int = 0

    def figures(self) -> dict[str, float]:
        """Shares between 0 and 1; recall over all gold, and over the labels that name things."""
        return {
            "found": self.found,
            "precision": self.exact / max(self.found, 1),
            "precision, overlapping": self.overlapping / max(self.found, 1),
            "recall": self.recalled / max(self.gold, 1),
            "recall of names": self.names_recalled / max(self.names, 1),
        }


def conversations(folder: Path) -> list[Labelled]:
    """The conversational set: gold names are given without places, so each is sought where it stands first."""
    rows = [json.loads(line) for line in (folder / "mempalace_entity_dataset.jsonl").read_text("utf-8").splitlines()]
    labels = [json.loads(line) for line in (folder / "mempalace_entity_labels.jsonl").read_text("utf-8").splitlines()]
    entities = {row["id"]: row["entities"] for row in labels}
    return [Labelled(row["text"], tuple(_places(row["text"], entities[row["id"]]))) for row in rows]


def _places(text: str, entities: Iterable[dict[str, str]]) -> Iterator[Gold]:
    for entity in entities:
        start = text.find(entity["name"])
        if start >= 0:
            yield Gold(start, start + len(entity["name"]), entity["type"])


def tagged(file: Path, *, posts: bool = False) -> list[Labelled]:
    """A file of words with B-, I- and O tags, sentences parted by empty lines; `posts` joins those of one question."""
    texts: list[list[list[tuple[str, str]]]] = []
    for block in file.read_text("utf-8").split("\n\n" if "\t\n" not in file.read_text("utf-8") else "\n\t\n"):
        rows = [line.split("\t") for line in block.splitlines() if line.strip()]
        sentence = [(row[0], row[1]) for row in rows]
        if not sentence:
            continue
        begins = sentence[0][0] == "Question_ID"
        if sentence[0][0] in _PLACEHOLDERS:
            if begins:
                texts.append([])
            continue
        if posts and texts:
            texts[-1].append(sentence)
        else:
            texts.append([sentence])
    return [_joined(sentences) for sentences in texts if sentences]


def _joined(sentences: Sequence[Sequence[tuple[str, str]]]) -> Labelled:
    text, gold = "", list[Gold]()
    for sentence in sentences:
        text += "\n" if text else ""
        tight = True
        quoted = False
        for word, tag in sentence:
            closing = word == '"' and quoted
            if not (tight or word in _NO_SPACE_BEFORE or closing):
                text += " "
            tight = word in _NO_SPACE_AFTER or (word == '"' and not quoted)
            if word == '"':
                quoted = not quoted
            start, text = len(text), text + word
            if tag.startswith("I-") and gold:
                gold[-1] = Gold(gold[-1].start, len(text), gold[-1].label)
            elif tag.startswith("B-"):
                gold.append(Gold(start, len(text), tag[2:]))
    return Labelled(text, tuple(gold))


def by_rules(texts: Sequence[Labelled]) -> list[list[Found]]:
    """What `names_in` finds in each text."""
    return [[Found(n.key, n.source, n.start, n.stop) for n in names_in(labelled.text)] for labelled in texts]


def by_gazetteer(texts: Sequence[Labelled], rules: Sequence[Sequence[Found]]) -> list[list[Found]]:
    """What the gazetteer finds in each text, knowing the gold names of all others, but those that name nothing.

    It knows what the rules found in the text as well, so that a known name inside a longer new one is no mention.
    """
    holders: defaultdict[str, set[int]] = defaultdict(set)
    for at, labelled in enumerate(texts):
        for gold in labelled.gold:
            name = labelled.text[gold.start : gold.stop]
            if gold.label not in COMMON_NOUNS and is_matchable(name):
                holders[match_key(name)].add(at)
    answers = []
    for at, (labelled, found) in enumerate(zip(texts, rules, strict=True)):
        own = {match_key(labelled.text[mention.start : mention.stop]) for mention in found}
        gold = {key for key, others in holders.items() if others - {at}}
        matches = [match for match in find(labelled.text, (gold | own).__and__) if match.key in gold]
        first = {name_key(match.name): match for match in reversed(matches)}
        answers.append([Found(key, "gazetteer", match.start, match.stop) for key, match in first.items()])
    return answers


def score(texts: Sequence[Labelled], answers: Sequence[Sequence[Found]]) -> Score:
    """Compare what was found with what is gold."""
    total = Score()
    for labelled, found in zip(texts, answers, strict=True):
        gold = labelled.keys()
        keys = {mention.key for mention in found}
        total.found += len(found)
        total.exact += sum(mention.key in gold for mention in found)
        total.overlapping += sum(_touches(mention, labelled) for mention in found)
        total.gold += len(gold)
        total.recalled += sum(key in keys for key in gold)
        names = [key for key, label in gold.items() if label not in COMMON_NOUNS]
        total.names += len(names)
        total.names_recalled += sum(key in keys for key in names)
    return total


def _touches(mention: Found, labelled: Labelled) -> bool:
    return any(mention.start < gold.stop and gold.start < mention.stop for gold in labelled.gold)


def wrong(texts: Sequence[Labelled], answers: Sequence[Sequence[Found]], limit: int) -> dict[str, list[str]]:
    """The most frequent mentions that are not gold, cut or wide mentions, and missed names, with how often."""
    false, cut, missed = Counter[str](), Counter[str](), Counter[str]()
    for labelled, found in zip(texts, answers, strict=True):
        gold = labelled.keys()
        keys = {mention.key for mention in found}
        for mention in found:
            if mention.key not in gold:
                name = f"{labelled.text[mention.start : mention.stop]} [{mention.source[0]}]"
                (cut if _touches(mention, labelled) else false)[name] += 1
        missed.update(
            f"{key} [{label}]" for key, label in gold.items() if key not in keys and label not in COMMON_NOUNS
        )
    return {
        kind: [f"{name} {count}" for name, count in counts.most_common(limit)]
        for kind, counts in (("not gold", false), ("wrong borders", cut), ("missed", missed))
    }


def speed(texts: Sequence[Labelled]) -> float:
    """Texts per second of processor time in `names_in`."""
    done, began = 0, time.process_time()
    while time.process_time() - began < SECONDS:
        for labelled in texts:
            names_in(labelled.text)
        done += len(texts)
    return done / (time.process_time() - began)


def measure(texts: Sequence[Labelled], wrong_limit: int) -> dict[str, object]:
    """All figures of one set."""
    rules = by_rules(texts)
    known = by_gazetteer(texts, rules)
    parts = {
        "identifier": [[mention for mention in found if mention.source == "identifier"] for found in rules],
        "proper": [[mention for mention in found if mention.source == "proper"] for found in rules],
        "rules": rules,
        "gazetteer": known,
        "rules and gazetteer": [_merged(*pair) for pair in zip(rules, known, strict=True)],
    }
    report: dict[str, object] = {
        "texts": len(texts),
        "texts/s": round(speed(texts)),
        "sources": {name: score(texts, answers).figures() for name, answers in parts.items()},
    }
    if wrong_limit:
        report["wrong"] = wrong(texts, rules, wrong_limit)
    return report


def _merged(rules: Sequence[Found], known: Sequence[Found]) -> list[Found]:
    keys = {mention.key for mention in rules}
    return [*rules, *(mention for mention in known if mention.key not in keys)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="append", choices=("conversations", "crossner-ai", "stackoverflow"))
    parser.add_argument("--unit", choices=("sentence", "post"), default="sentence", help="one Stack Overflow text")
    parser.add_argument("--wrong", type=int, default=0, metavar="N", help="list the N most frequent mistakes")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not FOLDER.is_dir():
        print(f"no labelled texts in {FOLDER}", file=sys.stderr)
        return 1
    sets = {
        "conversations": lambda: conversations(FOLDER),
        "crossner-ai": lambda: tagged(FOLDER / "CrossNER__ai.txt"),
        "stackoverflow": lambda: tagged(FOLDER / "StackOverflowNER__test.txt", posts=given.unit == "post"),
    }
    reports = {name: measure(read(), given.wrong) for name, read in sets.items() if not given.set or name in given.set}
    print(json.dumps(reports, ensure_ascii=False, indent=1) if given.json else _table(reports))
    return 0


def _table(reports: dict[str, dict[str, object]]) -> str:
    lines = []
    for name, report in reports.items():
        lines.append(f"{name}: {report['texts']} texts, {report['texts/s']} texts/s")
        sources = report["sources"]
        assert isinstance(sources, dict)
        for source, figures in sources.items():
            shares = "  ".join(f"{key} {value:.3f}" for key, value in figures.items() if key != "found")
            lines.append(f"  {source:<20} {figures['found']:>5}  {shares}")
        mistakes = report.get("wrong", {})
        assert isinstance(mistakes, dict)
        lines.extend(f"  {kind}: {', '.join(names)}" for kind, names in mistakes.items())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
