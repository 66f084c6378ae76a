"""The walk over the graph: what relays, what is an answer, which path wins, and what a hub may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.storage import Database
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context
from memdb.services.recall import recall as recalling
from memdb.services.recall.recall import Hop, Recall
from memdb.store import Store
from tests.graph_support import Edge, add_edges, add_graph, add_nodes

MakeStore = Callable[..., Store]
Graph = Callable[..., Store]


@pytest.fixture
def graph(make_store: MakeStore, no_model: None) -> Graph:
    """Makes a store with these edges `(source, kind, target[, weight])` and no files."""

    def make(edges: list[Edge], more: tuple[str, ...] = ()) -> Store:
        store = make_store()
        with store._context.database.write():
            add_graph(store._context.database, edges, more)
        return store

    return make


def scores(answer: Recall) -> dict[str, float]:
    return {hit.id: hit.score for hit in answer.hits}


def test_the_worked_example(make_store: MakeStore, no_model: None) -> None:
    store = make_store(
        {
            "feedback/prefers-tables.md": "---\ntags: [style]\n---\nTables, not prose.\n",
            "feedback/response-style.md": "---\ntags: [style]\n---\nShort answers.\n",
        }
    )
    answer = store.cascade({"feedback/prefers-tables": 0.71})
    assert scores(answer) == {"feedback/prefers-tables": 0.71, "feedback/response-style": 0.222656}
    assert answer.hits[1].path == (
        Hop("feedback/prefers-tables", None, None, 0.71),
        Hop("tag:style", "has_tag", 0.8, 0.3976),
        Hop("feedback/response-style", "has_tag", 0.8, 0.222656),
    )
    assert answer.empty_because is None


@pytest.mark.parametrize(
    ("kind", "score"),
    [("links_to", 0.49), ("supersedes", 0.63), ("has_tag", 0.56), ("in_cluster", 0.42), ("contradicts", None)],
)
def test_each_kind_of_edge_relays_its_weight_both_ways(graph: Graph, kind: str, score: float | None) -> None:
    store = graph([("user/a", kind, "user/b")])
    for seed, other in (("user/a", "user/b"), ("user/b", "user/a")):
        answer = store.cascade({seed: 1.0})
        by_walk = {hit.id: hit.path[-1].score for hit in answer.hits if hit.path[0].node == seed}
        assert by_walk.get(other) == (score if kind != "supersedes" or seed == "user/a" else 1.0)


def test_contradicts_relays_nothing_whatever_its_weight(graph: Graph) -> None:
    store = graph([("user/a", "contradicts", "user/b", 1.0), ("user/a", "links_to", "user/c")])
    answer = store.cascade({"user/a": 1.0})
    assert scores(answer) == {"user/a": 1.0, "user/c": 0.49}
    assert answer.hits[0].contradicts == ("user/b",)
    assert store.cascade({"user/b": 1.0}).hits[0].contradicts == ("user/a",)


def test_an_edge_that_no_longer_stands_relays_nothing(graph: Graph) -> None:
    store = graph([("user/a", "links_to", "user/b")])
    store._context.database.connection.execute("update edge set active = 0")
    assert scores(store.cascade({"user/a": 1.0})) == {"user/a": 1.0}
    store._context.database.connection.execute("update edge set active = 1, weight = 0.5")
    assert scores(store.cascade({"user/a": 1.0})) == {"user/a": 1.0, "user/b": 0.35}


def test_tags_and_clusters_relay_and_are_never_answers(graph: Graph) -> None:
    store = graph(
        [("user/a", "has_tag", "tag:t"), ("user/b", "in_cluster", "cluster:c"), ("user/c", "has_tag", "tag:t")]
    )
    assert scores(store.cascade({"tag:t": 1.0})) == {"user/a": 0.56, "user/c": 0.56}
    assert scores(store.cascade({"cluster:c": 0.5})) == {"user/b": 0.21}
    assert scores(store.cascade({"tag:t": 1.0, "user/a": 0.1})) == {"user/a": 0.56, "user/c": 0.56}


def test_a_seed_that_reaches_nothing(graph: Graph) -> None:
    store = graph([("user/a", "links_to", "user/b")], more=("user/alone", "tag:unused"))
    assert scores(store.cascade({"user/alone": 0.3})) == {"user/alone": 0.3}
    answer = store.cascade({"tag:unused": 1.0})
    assert (answer.hits, answer.empty_because) == ([], "no_match")


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([("user/a", "links_to", "user/a")], {"user/a": 1.0}),
        ([("user/a", "links_to", "user/b"), ("user/b", "links_to", "user/a")], {"user/a": 1.0, "user/b": 0.49}),
        ([("user/a", "links_to", "user/b", 0.0), ("user/b", "links_to", "user/c")], {"user/a": 1.0}),
        (
            [(f"user/{x}", "links_to", f"user/{y}") for x in "abcde" for y in "abcde" if x != y],
            {"user/a": 1.0, "user/b": 0.49, "user/c": 0.49, "user/d": 0.49, "user/e": 0.49},
        ),
    ],
    ids=["self-loop", "2-cycle", "weight 0", "clique"],
)
def test_odd_graphs(graph: Graph, edges: list[Edge], expected: dict[str, float]) -> None:
    assert scores(graph(edges).cascade({"user/a": 1.0})) == expected


@pytest.mark.parametrize("swap", [False, True])
def test_of_two_paths_the_better_wins_whichever_is_found_first(graph: Graph, swap: bool) -> None:
    edges: list[Edge] = [
        ("user/a", "links_to", "user/goal", 0.2),  # one hop: 0.14
        ("user/a", "links_to", "user/way", 0.9),
        ("user/way", "links_to", "user/goal", 0.9),  # two hops: 0.3969
    ]
    store = graph(edges[::-1] if swap else edges)
    answer = store.cascade({"user/a": 1.0})
    assert scores(answer)["user/goal"] == 0.3969
    assert [hop.node for hop in answer.hits[-1].path] == ["user/a", "user/way", "user/goal"]


def test_a_node_never_scores_below_its_own_similarity(graph: Graph) -> None:
    store = graph([("user/a", "links_to", "user/b")])
    answer = store.cascade({"user/a": 0.9, "user/b": 0.5})
    assert scores(answer) == {"user/a": 0.9, "user/b": 0.5}
    assert answer.hits[1].path == (Hop("user/b", None, None, 0.5),)
    answer = store.cascade({"user/a": 0.9, "user/b": 0.4})
    assert scores(answer) == {"user/a": 0.9, "user/b": 0.441}


def test_equal_scores_stand_in_the_order_of_their_ids(graph: Graph) -> None:
    # The same factors in another order differ in the last bit of their product.
    store = graph(
        [
            ("user/s", "links_to", "user/m1", 0.8),
            ("user/m1", "links_to", "user/z", 0.7),
            ("user/s", "links_to", "user/m2", 0.7),
            ("user/m2", "links_to", "user/b", 0.8),
        ]
    )
    answer = store.cascade({"user/s": 0.71})
    assert [hit.id for hit in answer.hits] == ["user/s", "user/m1", "user/m2", "user/b", "user/z"]
    assert answer.hits[3].score == answer.hits[4].score


def test_hops_and_limit(graph: Graph) -> None:
    store = graph([(f"user/{at}", "links_to", f"user/{at + 1}") for at in range(6)])
    assert list(scores(store.cascade({"user/0": 1.0}))) == ["user/0", "user/1", "user/2"]
    assert list(scores(store.cascade({"user/0": 1.0}, hops=0))) == ["user/0"]
    assert list(scores(store.cascade({"user/0": 1.0}, hops=4))) == [f"user/{at}" for at in range(5)]
    assert list(scores(store.cascade({"user/0": 1.0}, hops=4, limit=2))) == ["user/0", "user/1"]


@pytest.mark.parametrize(
    ("seeds", "options", "error"),
    [
        ({"user/nobody": 0.5}, {}, NotFound),
        ({"user/0": 0.0}, {}, UsageError),
        ({"user/0": 1.5}, {}, UsageError),
        ({"user/0": float("nan")}, {}, UsageError),
        ({"user/0": 0.5}, {"limit": 0}, UsageError),
        ({"user/0": 0.5}, {"hops": -1}, UsageError),
    ],
)
def test_wrong_seeds_are_refused(
    graph: Graph, seeds: dict[str, float], options: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        graph([("user/0", "links_to", "user/1")]).cascade(seeds, **options)


def test_more_seeds_than_the_default_all_walk(graph: Graph) -> None:
    store = graph([(f"user/{at:02}", "links_to", f"project/{at:02}") for at in range(30)])
    answer = store.cascade({f"user/{at:02}": 0.5 for at in range(30)}, limit=100)
    assert len(answer.hits) == 60


# The hub rule


def star(members: int) -> list[Edge]:
    return [(f"user/{at:05}", "has_tag", "tag:hub") for at in range(members)]


def test_a_hub_of_fifty_members_relays_as_the_plain_weights_say(graph: Graph) -> None:
    answer = graph(star(50)).cascade({"user/00000": 1.0}, limit=100)
    assert len(answer.hits) == 50
    assert {hit.score for hit in answer.hits[1:]} == {0.3136}
    assert answer.notes == []


def test_two_edges_to_one_neighbour_are_one_neighbour(graph: Graph) -> None:
    edges: list[Edge] = [("user/hub", "links_to", f"user/{at}") for at in range(50)]
    store = graph([*edges, *((target, "links_to", "user/hub") for _, _, target in edges[:40])])
    assert len(store.cascade({"user/hub": 1.0}, limit=100).hits) == 51
    database = store._context.database
    assert database.value("select degree from node where key = 'user/hub'") == 50
    database.connection.execute("delete from edge where dst = (select id from node where key = 'user/hub')")
    assert database.value("select degree from node where key = 'user/hub'") == 50
    database.connection.execute("delete from edge")
    assert database.value("select sum(degree) from node") == 0


def test_a_larger_hub_relays_only_to_what_was_found_too(graph: Graph) -> None:
    answer = graph(star(51)).cascade({"user/00000": 1.0, "user/00007": 0.1}, limit=100)
    assert scores(answer) == {"user/00000": 1.0, "user/00007": 0.3136}
    assert [hop.node for hop in answer.hits[1].path] == ["user/00000", "tag:hub", "user/00007"]
    assert answer.notes == ["tag:hub has 51 neighbours and relays only to the seeds."]


def test_a_hub_that_is_a_seed_obeys_the_rule_too(graph: Graph) -> None:
    assert scores(graph(star(51)).cascade({"tag:hub": 1.0, "user/00003": 0.1})) == {"user/00003": 0.56}


def steps_of(store: Store, seeds: dict[str, float]) -> int:
    """SQLite's work for a walk, in thousands of steps of its virtual machine."""
    count = 0

    def tick() -> bool:
        nonlocal count
        count += 1
        return False

    connection = store._context.database.connection
    connection.set_progress_handler(tick, 1000)
    try:
        store.cascade(seeds)
    finally:
        connection.set_progress_handler(None)
    return count


def test_a_hub_of_fifty_thousand_costs_what_one_of_five_hundred_costs(graph: Graph) -> None:
    seeds = {f"user/{at:05}": 0.9 - at / 100 for at in range(10)} | {"tag:hub": 0.5}
    small, large = graph(star(500)), graph(star(500))
    database = large._context.database
    with database.write() as connection:
        connection.execute(
            "with recursive number (n) as (select 500 union all select n + 1 from number where n < 49999)"
            " insert into node (kind, key, label) select 'memory', format('user/%05d', n), '' from number"
        )
        connection.execute(
            "insert into edge (src, dst, kind, weight)"
            " select id, (select id from node where key = 'tag:hub'), 'has_tag', 0.8 from node"
            " where kind = 'memory' and label = ''"
        )
    assert database.value("select degree from node where key = 'tag:hub'") == 50_000
    assert scores(large.cascade(seeds)) == scores(small.cascade(seeds))
    assert steps_of(large, seeds) <= 1.1 * steps_of(small, seeds) + 1


def test_many_hops_through_a_dense_graph_end(graph: Graph) -> None:
    names = [f"user/{at:02}" for at in range(40)]
    store = graph([(x, "links_to", y, 1.0) for x in names for y in names if x < y])
    answer = store.cascade({"user/00": 1.0}, hops=8, limit=100)
    assert {score for key, score in scores(answer).items() if key != "user/00"} == {0.7}
    assert steps_of(store, {"user/00": 1.0}) < 2_000


# The same as a walk in Python


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        with Store.init(tmp_path_factory.mktemp("walk")) as store:
            yield store._context


def in_a_graph(context: Context, edges: list[Edge], more: list[str], ask: Callable[[Context], Any]) -> Any:
    """Ask in a graph that is gone afterwards."""
    database: Database = context.database
    database.connection.execute("begin")
    try:
        add_nodes(database, more)
        add_edges(database, edges)
        return ask(context)
    finally:
        database.connection.execute("rollback")


NODES = [*(f"user/{letter}" for letter in "abcdefg"), "tag:t", "tag:u", "cluster:c"]
node = st.sampled_from(NODES)
weight = st.sampled_from([0.0, 0.3, 0.6, 0.7, 0.8, 1.0])
graphs = st.lists(
    st.tuples(node, st.sampled_from(["links_to", "has_tag", "contradicts"]), node, weight),
    max_size=25,
    unique_by=lambda edge: edge[:3],
)
seed_sets = st.dictionaries(node, st.sampled_from([0.05, 0.3, 0.5, 0.71, 1.0]), min_size=1, max_size=5)


def walk_by_hand(edges: list[Edge], seeds: dict[str, float], hops: int, hub: int) -> dict[str, float]:
    """Every walk, one by one, by the rules as the mission words them."""
    ways: dict[str, list[tuple[str, float]]] = {name: [] for name in NODES}
    for source, kind, target, strength in edges:  # type: ignore[misc]
        if kind != "contradicts" and source != target and strength > 0:
            ways[source].append((target, strength))
            ways[target].append((source, strength))
    best = dict(seeds)
    front = [(name, score, "") for name, score in seeds.items()]
    for _ in range(hops):
        reached = []
        for name, score, came_from in front:
            is_hub = len({other for other, _ in ways[name]}) > hub
            for other, strength in ways[name]:
                gained = score * strength * recalling.DECAY
                if other == came_from or (is_hub and other not in seeds) or gained < recalling.WALK_FLOOR:
                    continue
                reached.append((other, gained, name))
                best[other] = max(best.get(other, 0), gained)
        front = reached
    return {name: score for name, score in best.items() if name.startswith("user/")}


@settings(max_examples=100, deadline=None)
@given(edges=graphs, seeds=seed_sets, hops=st.integers(0, 3), hub=st.integers(1, 6))
def test_the_walk_is_the_one_that_a_walk_by_hand_finds(
    empty: Context, edges: list[Edge], seeds: dict[str, float], hops: int, hub: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recalling, "HUB_DEGREE", hub)
        answer = in_a_graph(
            empty, edges, NODES, lambda context: recalling.cascade(context, list(seeds.items()), hops=hops, limit=50)
        )
    assert scores(answer) == pytest.approx(walk_by_hand(edges, seeds, hops, hub), abs=1e-9)
    for hit in answer.hits:
        assert hit.path[-1].node == hit.id
        assert hit.path[-1].score == pytest.approx(hit.score, abs=1e-9)
        assert hit.path[0].score == seeds[hit.path[0].node]
        for before, after in zip(hit.path, hit.path[1:], strict=False):
            assert after.weight is not None
            assert after.score == pytest.approx(before.score * after.weight * recalling.DECAY, abs=1e-9)
    ranked = [(-hit.score, hit.id) for hit in answer.hits]
    assert ranked == sorted(ranked)


@settings(max_examples=50, deadline=None)
@given(edges=graphs, seeds=seed_sets, random=st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_edges_says_nothing(
    empty: Context, edges: list[Edge], seeds: dict[str, float], random: Any
) -> None:
    def ask(context: Context) -> Recall:
        return recalling.cascade(context, list(seeds.items()), limit=50)

    shuffled, nodes, pairs = list(edges), list(NODES), list(seeds.items())
    first = in_a_graph(empty, edges, NODES, ask)
    random.shuffle(shuffled)
    random.shuffle(nodes)
    random.shuffle(pairs)
    second = in_a_graph(empty, shuffled, nodes, lambda context: recalling.cascade(context, pairs, limit=50))
    assert first.hits == second.hits
