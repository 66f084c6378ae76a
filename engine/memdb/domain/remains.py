"""What a journal still tells of what was forgotten, and what its lines are to become."""

from __future__ import annotations

from memdb.base.journal import Record
from memdb.domain import curation
from memdb.domain.history import (
    ATTACHED,
    DECISIONS,
    document_key,
    gone_with,
    is_meant,
    is_snapshot,
    is_whole,
    key_digest,
    memories_of,
    named_by,
    with_addition,
    without_memories,
)


def remains(records: list[Record]) -> dict[int, Record | None]:
    """What the records still tell of memories that were forgotten after them, by the record's place in the list.

    The value is what the record is to become, None where nothing of it stays. A memory is followed through its renames,
    so that what was written under an earlier id goes too. Texts come back this way when another machine's journal is
    merged.
    """
    attached: dict[str, list[tuple[int, str]]] = {}  # id: places of its records, each with the id that stands in it
    seen: list[int] = []  # places of cluster records
    decided: list[int] = []  # places of decisions
    mirrored: list[int] = []  # places of records about what is mirrored
    result: dict[int, Record | None] = {}
    for place, record in enumerate(records):
        if not is_whole(record):
            continue
        kind = record["kind"]
        if kind in DECISIONS:
            decided.append(place)
        elif kind in ("add", "remove", "snapshot"):
            mirrored.append(place)
        if kind in ("version", "curation", *ATTACHED):
            for key in memories_of(record) if kind == "curation" else named_by(record):
                attached.setdefault(key, []).append((place, key))
        elif kind == "rename":
            taken = {old: attached.pop(old, []) for old in record["moves"]}
            for old, new in record["moves"].items():
                attached.setdefault(new, []).extend([*taken[old], (place, old)])
        elif kind == "clusters":
            seen.append(place)
        elif kind == "forget":
            mark = record["id_sha256"]
            names = _take_out_all(result, records, attached, mark)
            for at in seen:
                _strip_anchors(result, records, at, names, mark)
            _drop_decisions(result, records, decided, record)
            _drop_places(result, records, mirrored, mark)
    return result


def _drop_places(result: dict[int, Record | None], records: list[Record], places: list[int], mark: str) -> None:
    """Drop what is said of where a forgotten document lay; that it is to stay away from a mirrored folder is kept."""
    additions: dict[str, bool] = {}
    for at in places:
        if records[at]["kind"] != "snapshot" and not is_snapshot(records[at]["path"]):
            additions = with_addition(additions, records[at])
    for at in places:
        path = records[at]["path"]
        stays_away = records[at]["kind"] == "remove" and additions.get(path)
        if key_digest(document_key(path)) == mark and not stays_away:
            result[at] = None


def _drop_decisions(
    result: dict[int, Record | None], records: list[Record], decided: list[int], forgotten: Record
) -> None:
    now = {at: one for at in decided if (one := result.get(at, records[at])) is not None}
    gone = gone_with(now.values(), forgotten)
    for at, one in now.items():
        if curation.ref_of(one) in gone:
            result[at] = None


def _take_out_all(
    result: dict[int, Record | None], records: list[Record], attached: dict[str, list[tuple[int, str]]], mark: str
) -> set[str]:
    """Drop all records of what a mark means; returns the ids that it had."""
    names = {key for key in attached if is_meant(key, mark)}
    for key in list(names):
        for at, old in attached.pop(key):
            names.add(old)
            _take_out(result, records, at, old)
    return names


def _take_out(result: dict[int, Record | None], records: list[Record], place: int, old: str) -> None:
    record = records[place]
    now = result.get(place, record)
    if record["kind"] not in ("rename", "curation") or now is None:
        result[place] = None
        return
    if record["kind"] == "curation":
        result[place] = without_memories(now, {old})
        return
    moves = {key: new for key, new in now["moves"].items() if key != old}
    result[place] = {**now, "moves": moves} if moves else None


def _strip_anchors(
    result: dict[int, Record | None], records: list[Record], place: int, names: set[str], mark: str
) -> None:
    now = result.get(place, records[place])
    if now is None:
        return
    kept = {
        cluster: [anchor for anchor in anchors if anchor not in names and key_digest(anchor) != mark]
        for cluster, anchors in now["set"].items()
    }
    if kept != now["set"]:
        result[place] = {**now, "set": kept}
