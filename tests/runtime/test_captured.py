"""Functions replayed as CUDA graphs, with graphs that are pretended."""

from __future__ import annotations

import contextlib

import pytest
import torch

from stillflow.runtime.captured import _BEFORE, Captured

CPU = torch.device("cpu")


def parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.fixture
def capture(monkeypatch):
    """Gives a function as it is captured, and the class of its graph, which computes it anew."""

    def make(function):
        result = Captured(function, CPU)

        class Graph:
            replays = 0

            def replay(self):
                Graph.replays += 1
                for old, new in zip(parts(result._outputs), parts(function(*result._inputs))):
                    old.copy_(new)

        monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
        return result, Graph

    monkeypatch.setattr(torch.cuda, "graph", lambda graph, **_: contextlib.nullcontext())
    return make


def test_the_graph_takes_over_after_some_runs(capture):
    function, graph = capture(lambda a, b: (a + b, a * b))
    two = torch.tensor(2)
    results = [function(torch.tensor(n), two) for n in range(6)]
    assert results == [(n + 2, 2 * n) for n in range(6)]  # each has memory of its own
    assert graph.replays == 6 - _BEFORE + 1


def test_inputs_are_not_kept(capture):
    function, _ = capture(torch.square)
    x = torch.tensor(3.0)
    for _ in range(_BEFORE + 1):
        assert function(x) == 9
    x.fill_(4.0)
    assert function(x) == 16 and x == 4


def test_what_cannot_be_captured_runs_as_it_is(capture, monkeypatch):
    function, graph = capture(torch.square)
    attempts = []

    def fail(graph, capture_error_mode):
        attempts.append(capture_error_mode)
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "graph", fail)
    assert [float(function(torch.tensor(float(n)))) for n in range(6)] == [0, 1, 4, 9, 16, 25]
    assert attempts == ["thread_local"] and not graph.replays


@pytest.mark.parametrize("elsewhere", [1, torch.ones((), device="meta")])
def test_what_is_elsewhere_is_not_captured(capture, elsewhere):
    function, graph = capture(lambda a, b: a + 1)
    assert [int(function(torch.tensor(n), elsewhere)) for n in range(5)] == [1, 2, 3, 4, 5]
    assert not graph.replays
