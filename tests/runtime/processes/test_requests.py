"""Requests of ranks: how they have to agree, and which run together."""

from __future__ import annotations

from typing import Any

import pytest

from stillflow.runtime.processes.requests import Request, disagreement, next_batch, shared_facts


def _reduce(name: str = "a", shape: tuple[int, ...] = (2, 3), **changes: Any) -> Request:
    return Request(name, "allreduce", "float32", list(shape), [1, 1.0, 1.0])._replace(**changes)


def test_equal_requests_agree() -> None:
    assert disagreement({0: _reduce(), 1: _reduce()}) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "broadcast"}, ["rank 0 did an allreduce", "rank 1 did an broadcast"]),
        ({"dtype": "float64"}, ["rank 0 had type float32", "rank 1 had type float64"]),
        ({"shape": [3, 2]}, ["[2, 3]", "[3, 2]"]),
        ({"shape": [2, 3, 1]}, ["[2, 3]", "[2, 3, 1]"]),
        ({"detail": [0, 1.0, 1.0]}, ["[1, 1.0, 1.0]", "[0, 1.0, 1.0]"]),
    ],
)
def test_ranks_that_differ_are_named_with_both_values(
    change: dict[str, Any], named: list[str]
) -> None:
    text = disagreement({0: _reduce(), 1: _reduce(**change)})
    assert text is not None
    assert all(each in text for each in named)


def test_gathered_tensors_may_differ_in_rows_alone() -> None:
    rows = [_reduce(kind="allgather", shape=[n, 3], detail=[]) for n in (1, 4)]
    assert disagreement(dict(enumerate(rows))) is None
    assert shared_facts(dict(enumerate(rows))) == [1, 4]
    wider = rows[1]._replace(shape=[4, 5])
    assert "[4, 5]" in str(disagreement({0: rows[0], 1: wider}))


def test_scalars_have_no_rows_to_gather_and_roots_have_to_exist() -> None:
    scalar = _reduce(kind="allgather", shape=[], detail=[])
    assert "scalar" in str(disagreement({0: scalar, 1: scalar}))
    no_root = _reduce(kind="broadcast", detail=[2])
    assert "root rank 2" in str(disagreement({0: no_root, 1: no_root}))


def test_a_bucket_holds_reductions_of_one_kind_up_to_its_size() -> None:
    others = [_reduce("b"), _reduce("c", dtype="float64"), _reduce("d", (100,)), _reduce("e")]
    batch = next_batch([_reduce("a"), *others], threshold=100)
    assert [each.name for each in batch] == ["a", "b", "e"]


def test_a_tensor_larger_than_a_bucket_runs_alone() -> None:
    ready = [_reduce("a", (1000,)), _reduce("b")]
    assert [each.name for each in next_batch(ready, threshold=100)] == ["a"]


def test_other_operations_run_alone() -> None:
    ready = [_reduce("a", kind="allgather"), _reduce("b", kind="allgather")]
    assert [each.name for each in next_batch(ready, threshold=100)] == ["a"]
