"""What a run says of an answer, in words: which names were found, which were not believed and why, which wait."""

from __future__ import annotations

from collections import defaultdict

from memdb.base.llm import Answer
from memdb.domain.extraction import Extracted
from memdb.domain.vocabulary import Vocabulary

REASONS = {
    "absent": "not in the text",
    "duplicate": "named twice",
    "formula": "a formula",
    "fragment": "a sentence, not a name",
    "hidden": "holds characters that cannot be seen",
    "letters": "fewer than two letters",
    "malformed": "no name",
    "secret": "looks like a credential",
    "self-relation": "a relation to itself",
    "too many": "more than are taken from one text",
    "unknown end": "between names that are not taken",
}
"""Why a part of an answer is not believed, by the validator's word for it."""

FAILURES = {
    "llm_bad_answer": "no answer of the right form",
    "llm_refused": "the endpoint refuses this text",
    "llm_unavailable": "no answer in time",
    "secret": "the text holds a credential and is not sent",
}


def failed(code: str) -> str:
    """Why a text failed, by the code of the error."""
    return FAILURES.get(code, code)


def found(said: Extracted, answer: Answer) -> str:
    """What an answer is worth and what it took: `2 names, 1 relation; 310 + 40 tokens, 3 tries`."""
    parts = [f"{_counted(len(said.mentions), 'name')}, {_counted(len(said.relations), 'relation')}"]
    used = []
    if answer.input_tokens is not None and answer.output_tokens is not None:
        used.append(f"{answer.input_tokens} + {answer.output_tokens} tokens")
    if answer.attempts > 1:
        used.append(f"{answer.attempts} tries")
    return "; ".join([*parts, *([", ".join(used)] if used else [])])


def dropped(said: Extracted) -> str:
    """The parts of an answer that are not believed, by reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for one in said.dropped:
        by_reason[one.reason].append(one.name)
    return "; ".join(f"{REASONS.get(reason, reason)}: {', '.join(names)}" for reason, names in by_reason.items())


def held(said: Extracted, vocabulary: Vocabulary) -> str:
    """The types and predicates that the vocabulary does not have, with the names that wait for them; may be empty."""
    waits: dict[str, list[str]] = defaultdict(list)
    for mention in said.mentions:
        if not vocabulary.knows("type", mention.type):
            waits[f"type {mention.type}"].append(mention.name)
    for stated in said.relations:
        if not vocabulary.knows("predicate", stated.predicate):
            waits[f"predicate {stated.predicate}"].append(f"{stated.subject} - {stated.object}")
    for wanted in said.proposals:
        waits[f"{wanted.kind} {wanted.name}"] += []
    return "; ".join(f"{name}: {', '.join(names)}" if names else f"{name}: wanted" for name, names in waits.items())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
