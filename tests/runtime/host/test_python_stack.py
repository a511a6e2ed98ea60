"""Long plans bring room for what they call, wherever on Python's stack they are called."""

from __future__ import annotations

import sys

import pytest

import stillflow as tf
from stillflow.runtime.host import python_stack


def adding(count):
    """Return a function with many locals that calls another one like it for each."""
    lines = [f"    x{i} = add(x{i - 1})" for i in range(1, count)]
    others = "; ".join(f"y{i} = {i}" for i in range(150))
    scope = {}
    exec(f"def add(x):\n    {others}\n    return x + 1", scope)
    exec("\n".join(["def function(x0):", *lines, f"    return x{count - 1}"]), scope)
    return scope["function"]


def at_depth(depth, function):
    return function() if depth == 0 else at_depth(depth - 1, function)


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults as Linux does")
def test_calls_do_not_ask_the_system_for_memory_at_any_depth():
    import resource

    def faults_at(depth, function):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            at_depth(depth, lambda: function(0))
        return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20

    function = python_stack.with_own_chunk(adding(600))
    assert function(0) == 599
    assert max(faults_at(depth, function) for depth in range(150)) < 100


def test_long_plans_have_a_chunk_of_their_own(monkeypatch):
    given = []
    monkeypatch.setattr(
        python_stack, "with_own_chunk", lambda function: given.append(function) or function
    )
    for count in (10, python_stack.LONG + 10):
        with tf.Graph().as_default(), tf.Session() as session:
            x = y = tf.placeholder(tf.float32, [])
            for _ in range(count):
                y = tf.sin(y)
            session.run(y, {x: 1})
    assert len(given) == 1
