"""Credentials stay out by every door: what is refused, what is redacted, and where none of it is found afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdb.base.llm import Llm
from memdb.errors import LlmError, MemdbError, NotFound, SecretFound
from memdb.mcp_server import tools
from memdb.services.documents import snapshots
from memdb.store import Store
from tests.answer_support import answer
from tests.cli_support import memdb
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.llm_server import LlmServer, fails, gives

MARK = "Zq8" + "Zq8"


def token() -> str:
    return "sk-" + "proj-" + "Zq8" * 14


def traces(store: Store) -> list[str]:
    """The files of the store, but for the user's own, that have a part of the token."""
    found = []
    for file in sorted(store.place.home.rglob("*")):
        if file.is_file() and MARK.lower().encode() in file.read_bytes().lower():
            found.append(file.relative_to(store.place.home).as_posix())
    return found


@pytest.fixture
def store(tmp_path: Path) -> Any:
    write_files(
        tmp_path / "root", {"user/a.md": "# A\n\nThe gate is green, says Ines Okafor.\n", "user/b.md": "Tea [[a]].\n"}
    )
    with Store.init(tmp_path / "root", embedder=FakeEmbedder()) as made:
        made.sync()
        yield made


REFUSED: dict[str, Callable[[Store], object]] = {
    "save: body": lambda store: store.save("user/c", f"the key is {token()}"),
    "save: name": lambda store: store.save(f"user/{token()}", "tea"),
    "save: description": lambda store: store.save("user/c", "tea", description=token()),
    "save: tag": lambda store: store.save("user/c", "tea", tags=[token()]),
    "save: alias": lambda store: store.save("user/c", "tea", aliases=[token()]),
    "save: supersedes": lambda store: store.save("user/c", "tea", supersedes=[token()]),
    "save: field": lambda store: store.save("user/c", "tea", fields={"owner": token()}),
    "save: apart": lambda store: store.save("user/c", f"the key is {token()}", apart=True),
    "edit": lambda store: store.write_file("user/a.md", f"# A\n\n{token()}\n".encode()),
    "upload: name": lambda store: store.add_text(f"{token()}.md", "tea"),
    "address": lambda store: store.add([f"https://example.org/?api_key={token()}"]),
    "entity: new name": lambda store: store.entities.rename("Ines Okafor", token()),
    "entity: why": lambda store: store.entities.retype("Ines Okafor", "person", why=token()),
    "vocabulary: rule": lambda store: store.schema.add("type", "vessel", f"A ship, {token()}"),
}


@pytest.mark.parametrize("door", REFUSED)
def test_what_a_person_or_an_agent_writes_is_refused(store: Store, door: str) -> None:
    before = {file: file.read_bytes() for file in store.place.root.glob("*/*.md")}
    with pytest.raises(MemdbError) as refused:
        REFUSED[door](store)
    assert isinstance(refused.value, SecretFound) or "credential" in refused.value.message
    assert MARK not in f"{refused.value!r} {refused.value.message} {refused.value.hint} {refused.value.args}"
    assert refused.value.hint
    assert {file: file.read_bytes() for file in store.place.root.glob("*/*.md")} == before
    assert traces(store) == []


def hand(store: Store, files: dict[str, str | bytes]) -> None:
    write_files(store.place.root, files)
    store.sync()


def edited(store: Store) -> None:
    """A file with a credential, edited by hand: its earlier text would be a version."""
    hand(store, {"user/c.md": f"the key is {token()}\n"})
    hand(store, {"user/c.md": "the key is in the safe\n"})


def imported(store: Store) -> None:
    source = store.place.root.parent / "vault"
    write_files(source, {".obsidian/app.json": "{}", "keys.md": f"the key is {token()}\n", "tea.md": "tea\n"})
    store.import_from([source])


def imported_chat(store: Store) -> None:
    source = store.place.root.parent / "memory.json"
    line = {"type": "entity", "name": "Quay", "entityType": "place", "observations": [f"the key is {token()}"]}
    source.write_text(json.dumps(line) + "\n")
    store.import_from([source])


def document(store: Store, name: str, text: str) -> None:
    docs = store.place.root.parent / "docs"
    write_files(docs, {name: text})
    store.add([docs])


def page(store: Store) -> None:
    html = f"<html><head><title>Keys</title></head><body><p>the key is {token()}</p></body></html>"
    kept = snapshots.Page("https://example.org/k.html", html.encode(), ".html", None, "text/html")
    store._run(lambda context: snapshots.keep(context, kept))
    store.sync()


REDACTED: dict[str, Callable[[Store], object]] = {
    "file: body": lambda store: hand(store, {"user/c.md": f"# C\n\nthe key is {token()}\n"}),
    "file: name": lambda store: hand(store, {"user/c.md": f"---\nname: {token()}\n---\ntea\n"}),
    "file: description": lambda store: hand(store, {"user/c.md": f"---\ndescription: {token()}\n---\ntea\n"}),
    "file: tag": lambda store: hand(store, {"user/c.md": f"---\ntags: [x, {token()}]\n---\ntea\n"}),
    "file: alias": lambda store: hand(store, {"user/c.md": f"---\naliases: [{token()}]\n---\ntea\n"}),
    "file: unknown field": lambda store: hand(store, {"user/c.md": f"---\nowner: {token()}\n---\ntea\n"}),
    "file: broken head": lambda store: hand(store, {"user/c.md": f"---\nname: 'x\nowner: {token()}\n---\ntea\n"}),
    "file: heading": lambda store: hand(store, {"user/c.md": f"# {token()}\n\ntea\n"}),
    "file: link": lambda store: hand(store, {"user/c.md": f"see [[{token()}]]\n"}),
    "file: earlier text": edited,
    "document: text": lambda store: document(store, "k.md", f"# Keys\n\nthe key is {token()}\n"),
    "document: JSON": lambda store: document(store, "k.json", json.dumps({"api_key": token(), "tea": "green"})),
    "document: JSONL": lambda store: document(store, "k.jsonl", json.dumps({"id": "1", "text": token()}) + "\n"),
    "document: CSV": lambda store: document(store, "k.csv", f"name,key\ntea,{token()}\n"),
    "document: code": lambda store: document(store, "k.py", f"KEY = '{token()}'\n\n\ndef tea():\n    return 1\n"),
    "upload": lambda store: store.add_text("k.md", f"# Keys\n\nthe key is {token()}\n"),
    "page": page,
    "import: notes": imported,
    "import: records": imported_chat,
}  # fmt: skip


def everything(store: Store) -> str:
    """What the reading calls give."""
    found: list[object] = [
        store.list(), store.links(), store.stats(), store.doctor(), store.documents.list(), store.entities.list(),
        store.review.list(), store.log(), store.runs.list(), store.recall("key tea"), store.graph.part(),
        store.prompt_block(store.recall("key tea"), 50_000),
    ]  # fmt: skip
    found += [store.show(one.id) for one in store.list()]
    found += [store.history(one.id) for one in store.list()]
    found += [store.documents.chunks(one.id) for one in store.documents.list()]
    found += [tools.call(store, "recall", {"query": "key tea"}), tools.call(store, "status", {})]
    found += [tools.call(store, "read", {"id": one.id}) for one in store.list()]
    return repr(found)


@pytest.mark.parametrize("door", REDACTED)
def test_what_lies_in_files_is_redacted_everywhere(store: Store, door: str) -> None:
    embedder = store._context.embedder
    assert isinstance(embedder, FakeEmbedder)
    REDACTED[door](store)
    assert MARK not in everything(store)
    assert MARK not in "".join(embedder.read)
    assert traces(store) == []


@pytest.mark.parametrize(
    "door", [door if at < 3 else pytest.param(door, marks=pytest.mark.slow) for at, door in enumerate(REDACTED)]
)
def test_what_lies_in_files_is_redacted_after_a_rebuild_too(store: Store, door: str) -> None:
    REDACTED[door](store)
    target = store.place.root.parent / "out.jsonl"
    store.export(target)
    assert MARK not in target.read_text()
    store.rebuild()
    assert MARK not in everything(store)
    assert traces(store) == []


def test_no_prompt_has_it_and_what_a_model_says_of_it_is_not_kept(store: Store) -> None:
    hand(store, {"user/c.md": f"Ines Okafor keeps {token()}\n"})
    said = answer(
        ("Ines Okafor", "person"), (token(), "tool"), said=(("Ines Okafor", "uses", token()),), new_types={token(): "x"}
    )
    with LlmServer(answer=lambda request: gives(said)) as server:
        store.index(llm=Llm("tiny", server.url))
        assert server.requests
        assert MARK not in json.dumps([request.body for request in server.requests])
    assert traces(store) == []
    assert MARK not in everything(store)
    assert MARK not in repr([store.runs.show(run.id) for run in store.runs.list()])


def test_what_an_endpoint_quotes_in_an_error_is_redacted(store: Store) -> None:
    with LlmServer(
        answer=lambda request: fails(401, f"Incorrect API key provided: {token()}", code="invalid_api_key")
    ) as server:
        report: object = None
        try:
            report = store.index(llm=Llm("tiny", server.url))
        except LlmError as error:
            assert MARK not in f"{error!r} {error.message} {error.hint}"
    assert MARK not in repr(report)
    assert traces(store) == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.show(token()),
        lambda store: store.forget(token()),
        lambda store: store.documents.find(token()),
        lambda store: store.entities.show(token()),
        lambda store: store.conflicts.show(token()),
        lambda store: store.schema.disable("type", token()),
        lambda store: store.undo(token()),
    ],
)
def test_an_error_does_not_repeat_what_was_asked_for(store: Store, ask: Callable[[Store], object]) -> None:
    with pytest.raises(MemdbError) as found:
        ask(store)
    assert MARK not in f"{found.value!r} {found.value.message} {found.value.hint} {found.value.args}"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("read", {"id": token()}),
        ("recall", {"query": "tea", "document": token()}),
        ("recall", {"query": "tea", "since": token()}),
        ("explain", {"query": "tea", token(): 1}),
        ("relate", {"source": "user/a", "target": token()}),
        ("remember", {"content": f"the key is {token()}"}),
        (token(), {}),
    ],
)
def test_no_answer_to_an_agent_repeats_it(store: Store, tool: str, given: dict[str, Any]) -> None:
    outcome = tools.call(store, tool, given)
    assert MARK not in f"{outcome.text} {outcome.data.get('error')}"
    assert traces(store) == []


def test_a_question_with_a_credential_leaves_no_trace(store: Store) -> None:
    answered = store.recall(f"what is {token()}")
    store.prompt_block(answered, 4096, session="s")
    assert traces(store) == []


def test_an_export_says_what_has_one(store: Store) -> None:
    hand(store, {"user/c.md": f"the key is {token()}\n"})
    done = store.export(store.place.root.parent / "out")
    assert any("credential" in remark for remark in done.notes)
    assert MARK not in repr(done)


# doctor secrets


def test_what_is_on_disk_is_listed_without_being_shown(store: Store) -> None:
    head = f"---\nname: c\nowner: {token()}\n---\n"
    hand(store, {"user/c.md": f"{head}\nthe key\u200b is {token()}, keep it\nand {token()}\n"})
    document(store, "k.md", f"# Keys\n\nThe key is {token()} here.\n")
    store.place.journal.mkdir(exist_ok=True)
    (store.place.journal / "old.txt").write_text(f"x {token()}")
    found = store.secrets()
    docs = store.place.root.parent / "docs"
    assert [(one.file, one.line, one.kind, one.characters) for one in found] == [
        ("user/c.md", 3, "OpenAI key", len(token())),
        ("user/c.md", 6, "OpenAI key", len(token())),
        ("user/c.md", 7, "OpenAI key", len(token())),
        ((docs / "k.md").as_posix(), 3, "OpenAI key", len(token())),
        (".memdb/journal/old.txt", 1, "OpenAI key", len(token())),
    ]
    assert [one.text for one in found] == [
        f"owner: [OpenAI key, {len(token())} characters]",
        f"the key<U+200B> is [OpenAI key, {len(token())} characters], keep it",
        f"and [OpenAI key, {len(token())} characters]",
        f"The key is [OpenAI key, {len(token())} characters] here.",
        f"x [OpenAI key, {len(token())} characters]",
    ]
    assert all(one.hint for one in found)
    assert MARK not in repr(found)


def test_what_another_program_wrote_into_the_database_is_listed(store: Store) -> None:
    def write(context: Any) -> None:
        with context.database.write() as connection:
            connection.execute(
                "insert into run (kind, state, started_at, message) values ('index', 'failed', '', ?)", (token(),)
            )

    store._run(write)
    assert [(one.file, one.line, one.kind) for one in store.secrets()] == [
        (".memdb/memory.db: run.message", None, "OpenAI key")
    ]


def test_backups_are_looked_into(store: Store) -> None:
    hand(store, {"user/c.md": f"the key is {token()}\n"})
    done = store.backup()
    (store.place.root / "user/c.md").unlink()
    [one] = store.secrets()
    assert one.file == f".memdb/backups/{Path(done.file).name}!files/user/c.md"


def test_a_clean_store_has_none(store: Store) -> None:
    assert list(store.secrets()) == []


def test_the_command_lists_them(tmp_path: Path, no_model: None, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "root", {"user/c.md": f"# C\n\nthe key is {token()}\n"})
    monkeypatch.chdir(tmp_path / "root")
    Store.init(tmp_path / "root").close()
    answered = memdb("doctor", "secrets")
    assert answered.code == 1
    assert answered.out.splitlines()[1].split() == [
        "user/c.md",
        "3",
        "OpenAI",
        "key",
        "the",
        "key",
        "is",
        "[OpenAI",
        "key,",
        "50",
        "characters]",
    ]
    found = memdb("doctor", "secrets", "--json")
    assert (found.json["ok"], found.json["secrets"][0]["line"], found.code) == (False, 3, 1)
    assert MARK not in answered.out + answered.err + found.out + found.err
    (tmp_path / "root/user/c.md").write_text("tea\n")
    assert memdb("doctor", "secrets", "--json").json == {"secrets": [], "ok": True}


def test_not_found_is_still_said(store: Store) -> None:
    with pytest.raises(NotFound, match="redacted: OpenAI key"):
        store.show(token())
