"""The options that disturb a run: `--shuffle` and `--collect-garbage`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from tests import disorder


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def _shuffled(names: str, seed: int | None) -> str:
    items = [SimpleNamespace(nodeid=name) for name in names]
    disorder.shuffle(items, seed)  # type: ignore[arg-type]
    return "".join(item.nodeid for item in items)


def test_a_seed_gives_one_order_of_the_same_tests_whatever_their_order_was() -> None:
    first = _shuffled("abcdefghij", 1)
    assert sorted(first) == list("abcdefghij") != list(first)
    assert _shuffled("jihgfedcba", 1) == first != _shuffled("abcdefghij", 2)


def test_without_a_seed_the_order_stays() -> None:
    assert _shuffled("cab", None) == "cab"


class Node:
    pass


@pytest.mark.parametrize(("when", "freed"), [("between", True), ("never", False)])
def test_a_cycle_is_freed_between_tests_or_never(when: str, freed: bool) -> None:
    collector = disorder.Collector(when)
    collector.pytest_collection_finish()
    node = Node()
    node.itself = node  # type: ignore[attr-defined]
    alive = weakref.ref(node)
    del node
    teardown = collector.pytest_runtest_teardown()
    next(teardown)
    next(teardown, None)
    assert (alive() is None) is freed


def test_a_cycle_that_outlives_its_test_is_freed_with_the_next_full_collection() -> None:
    collector = disorder.Collector("between")
    collector.pytest_collection_finish()
    node: Node | None = Node()
    node.itself = node  # type: ignore[union-attr]
    alive = weakref.ref(node)
    freed = []
    for _ in range(disorder.ALL):
        freed.append(alive() is None)
        teardown = collector.pytest_runtest_teardown()
        next(teardown)
        next(teardown, None)
        node = None
    assert freed[1:2] == [False] and alive() is None


def test_a_cycle_is_freed_inside_a_test() -> None:
    disorder.Collector("often").pytest_collection_finish()
    node = Node()
    node.itself = node  # type: ignore[attr-defined]
    alive = weakref.ref(node)
    del node
    made = [[] for _ in range(10 * disorder.OFTEN[0] * disorder.OFTEN[1] * disorder.OFTEN[2])]
    assert alive() is None
    assert made
