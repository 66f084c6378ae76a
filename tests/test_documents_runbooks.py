"""Ten questions of a person on call find their section in a folder of runbooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.store import Store

RUNBOOKS = Path(__file__).parents[2] / "shared" / "data" / "corpora" / "runbooks"

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not RUNBOOKS.is_dir(), reason="the reference corpora are not beside the repository"),
]

QUESTIONS = [
    (
        "a node's clock is wrong and certificates fail, how do I start chronyd",
        "NodeClockNotSynchronising",
        "Mitigation",
    ),
    ("which directory uses up the inodes of a volume", "KubePersistentVolumeInodesFillingUp", "Diagnosis"),
    ("what happens to the APIs when etcd has no leader", "etcdNoLeader", "Impact"),
    (
        "remote storage limits the rate of samples that Prometheus sends",
        "PrometheusRemoteStorageFailures",
        "Mitigation",
    ),
    ("KMS connection details of the storage cluster", "KMSServerConnectionAlert", "Mitigation"),
    ("effect of a small MTU on Ceph network performance", "ODFNodeMTULessThan9000", "Impact"),
    ("see the state of a RAID array with failed disks", "NodeRAIDDegraded", "Diagnosis"),
    ("kubelet is not functional, read its journal over SSH", "KubeletDown", "Diagnosis"),
    ("loading configuration file failed in the Alertmanager logs", "AlertmanagerFailedReload", "Diagnosis"),
    ("rsh into the Ceph toolbox pod", "accessToolbox", "Access the Toolbox"),
]


def found(store: Store, question: str, document: str, heading: str) -> bool:
    hits = store.recall(question, limit=5).hits
    return any(
        hit.citation is not None
        and hit.citation.document.endswith(f"/{document}.md")
        and heading in hit.citation.heading_path
        for hit in hits
    )


def answered(store: Store) -> list[str]:
    return [question for question, document, heading in QUESTIONS if found(store, question, document, heading)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """All runbooks, without a model."""
    with Store.init(tmp_path_factory.mktemp("root"), embedder=Embedder(enabled=False)) as store:
        report = store.add([RUNBOOKS])
        assert report.documents.failed == []
        assert report.documents.added > 200
        yield store


def test_keywords_alone_answer_eight_of_ten(store: Store) -> None:
    """The other two ask for an impact and a diagnosis in words that only the sections beside them have."""
    assert len(answered(store)) >= 8


def test_the_citation_leads_to_the_lines(store: Store) -> None:
    for question, *_ in QUESTIONS:
        hit = next(hit for hit in store.recall(question, limit=5).hits if hit.citation is not None)
        assert hit.citation is not None
        start, end = hit.citation.start_line, hit.citation.end_line
        assert start is not None
        lines = Path(hit.file).read_text(encoding="utf-8").splitlines()[start - 1 : end]
        chunk = next(chunk for chunk in store.documents.chunks(hit.citation.document) if chunk.id == hit.id)
        assert chunk.text in "\n".join(lines)


def test_adding_the_runbooks_again_cuts_nothing(store: Store) -> None:
    before = store.digest()
    report = store.add([RUNBOOKS])
    assert (report.documents.added, report.documents.changed, report.documents.chunks) == (0, 0, 0)
    assert store.digest() == before


@pytest.mark.model
@pytest.mark.slow
def test_with_the_model_nine_of_ten_are_answered(tmp_path: Path) -> None:
    with Store.init(tmp_path / "root") as store:
        report = store.add([RUNBOOKS])
        assert report.embedder == ""
        assert report.embedded > 1000
        assert len(answered(store)) >= 9
        assert store.add([RUNBOOKS]).embedded == 0
