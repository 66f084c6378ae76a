"""Proposals in a review: a type or predicate that two texts or more asked for, to approve or to dismiss."""

from __future__ import annotations

from collections.abc import Iterator

from memdb.errors import NotFound
from memdb.services.context import Context
from memdb.services.entities import proposals
from memdb.services.entities.proposals import Proposal
from memdb.services.review.review_items import Choice, Done, Line, ReviewItem, Source, item_id, newest, parts_of

KIND = "proposal"


def items(context: Context) -> Iterator[ReviewItem]:
    """The pending proposals by id."""
    found = (_item(proposal) for proposal in proposals.listed(context.database, ["pending"]))
    yield from sorted(found, key=lambda item: item.id)


def _item(proposal: Proposal) -> ReviewItem:
    detail = [Line("side", example) for example in proposal.examples]
    detail += [Line("source", source) for source in proposal.sources]
    if proposal.texts > len(proposal.sources):
        detail.append(Line("fact", f"and {proposal.texts - len(proposal.sources)} texts more"))
    rule = "Its rule, in one sentence, by which a model uses it"
    links = "make it part of the vocabulary and link all texts that asked"
    if proposal.description:
        detail.insert(0, Line("fact", f"rule: {proposal.description}"))
        approvals = [
            Choice("a", "approve", links),
            Choice("r", "approve-as", "the same, by a rule of yours", rule, True, proposal.description),
        ]
    else:
        approvals = [Choice("a", "approve", links, rule, True)]
    return ReviewItem(
        item_id(KIND, proposal.kind, proposal.name),
        KIND,
        f"{proposal.texts} texts ask for the {proposal.kind} {proposal.name}",
        tuple(detail),
        (*approvals, Choice("d", "dismiss", "ask no more, whoever wants it")),
    )


def find(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """A pending proposal by its key."""
    match parts_of(key):
        case ["type" | "predicate" as kind, name]:
            try:
                proposal = proposals.find(context.database, kind, name)
            except NotFound:
                return None
            return _item(proposal) if proposal.state == "pending" and proposal.name == name else None
    return None


def answer(context: Context, key: str, choice: Choice, text: str | None, why: str | None) -> Done:
    """Approve or dismiss. Raises what these raise."""
    kind, name = parts_of(key)
    if choice.name == "dismiss":
        proposals.dismiss(context, kind, name, why=why)
    else:
        proposals.approve(context, kind, name, description=text, why=why)
    said = "dismissed" if choice.name == "dismiss" else "approved"
    return Done(f"{said} the {kind} {name}", newest(context, f"{kind}:{name}"))


SOURCE = Source(KIND, items, find, answer)
