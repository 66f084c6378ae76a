"""The answers of several stores as one ranked list. Each store answers alone: none can change what another one says.

Seen by itself, a store's part of the list is the list that it gives alone, in its order. How the lists go together:

- By **scores**, where all were found on one scale: at each place of the list stands the best of the stores' next hits;
  of equal scores that of the store whose name comes first. The cosines of one model and shares of a question's words
  mean the same in every store. In a store of more than some 200 candidates scores are measured against the others,
  which makes them sharper, on the same scale from 0 to 1.
- By **ranks**, where stores have different models, or one has none: the cosines of one model lie in another band than
  those of the next, so that 0.6 may be the best answer of one store and noise in another. Then come the first hits of
  all stores, by the stores' names, then the second ones, and the answer says so.

To measure each list against its own best hit, as is done where scores cannot be compared, would give every store a best
hit of the same worth, and a store that knows nothing of the question as good a place as one that answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memdb.services.recall.answers import Arm, Asked, Hit, ManyRecall, Recall

BY_SCORES, BY_RANKS = "scores", "ranks"

EMPTY = ("index_behind", "arm_off", "filtered_out", "below_floor", "no_match", "no_data", "empty_query")
"""Reasons for which a store has no answer, the one first that a person can do most about."""

UNLIKE = "The stores have different models: their scores cannot be compared, and their hits take turns by rank."


def merge(answers: Mapping[str, Recall], limit: int) -> tuple[list[Hit], str]:
    """The best hits of some stores, by name, each with its store, and what they are merged by."""
    by = BY_SCORES if len({_scale(answer) for answer in answers.values() if answer.hits}) <= 1 else BY_RANKS
    lists = {name: list(answers[name].hits) for name in sorted(answers)}
    taken = dict.fromkeys(lists, 0)
    merged: list[Hit] = []
    while len(merged) < limit:
        waiting = [name for name, hits in lists.items() if taken[name] < len(hits)]
        if not waiting:
            break
        if by == BY_SCORES:
            name = min(waiting, key=lambda one: (-lists[one][taken[one]].score, one))
        else:
            name = min(waiting, key=lambda one: (taken[one], one))
        merged.append(replace(lists[name][taken[name]], store=name))
        taken[name] += 1
    return merged, by


def _scale(answer: Recall) -> str | None:
    """What the scores of an answer were found with: a model, or words and names alone."""
    vector = answer.arms.get("vector")
    return vector.model if vector is not None and vector.state == "on" else None


def combined(
    query: str,
    answers: Mapping[str, Recall],
    failed: Mapping[str, tuple[str, str]],
    paths: Mapping[str, str],
    limit: int,
) -> ManyRecall:
    """One answer from those of several stores; `failed` has code and message for those that gave none."""
    hits, by = merge(answers, limit)
    asked = [_asked(name, paths[name], answers.get(name), failed.get(name)) for name in sorted({*answers, *failed})]
    notes = [f"{name}: {message}" for name, (_, message) in sorted(failed.items())]
    for name in sorted(answers):
        notes += [f"{name}: {note}" for note in (*_off(answers[name], answers), *answers[name].notes)]
    notes += [UNLIKE] if by == BY_RANKS else []
    result = ManyRecall(query, hits, _arms(answers), notes=notes, stores=asked, merged_by=by)
    if not hits:
        result.empty_because, result.empty_message = _empty(answers)
    return result


def _asked(name: str, path: str, answer: Recall | None, failure: tuple[str, str] | None) -> Asked:
    if answer is None:
        return Asked(name, path, failure[0] if failure is not None else None)
    return Asked(name, path, None, len(answer.hits), answer.arms, answer.empty_because, answer.empty_message)


def _arms(answers: Mapping[str, Recall]) -> dict[str, Arm]:
    """Each arm as all stores together had it: on where it was on in any."""
    found: dict[str, Arm] = {}
    for name in dict.fromkeys(name for answer in answers.values() for name in answer.arms):
        arms = [answer.arms[name] for _, answer in sorted(answers.items()) if name in answer.arms]
        on = [arm for arm in arms if arm.state == "on"]
        models = {arm.model for arm in on}
        found[name] = Arm(
            "on" if on else "off",
            sum(arm.candidates for arm in arms),
            None if on else arms[0].reason,
            models.pop() if len(models) == 1 else None,
        )
    return found


def _off(answer: Recall, answers: Mapping[str, Recall]) -> list[str]:
    """What to say of arms that are off in one store and on in another; entities are no news."""
    return [
        f"the {name} arm is off: {arm.reason}"
        for name, arm in answer.arms.items()
        if name != "entity"
        and arm.state == "off"
        and any(other.arms[name].state == "on" for other in answers.values() if name in other.arms)
    ]


def _empty(answers: Mapping[str, Recall]) -> tuple[str, str]:
    """Which kind of nothing this is, in all stores together."""
    if not answers:
        return "no_store", "No store could be asked."
    reasons = {name: answer.empty_because or "no_match" for name, answer in sorted(answers.items())}
    code = min(reasons.values(), key=lambda reason: EMPTY.index(reason) if reason in EMPTY else len(EMPTY))
    said = "; ".join(f"{name}: {answer.empty_message}" for name, answer in sorted(answers.items()))
    return code, f"Nothing found. {said}"
