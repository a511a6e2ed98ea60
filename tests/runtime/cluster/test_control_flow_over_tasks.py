"""Loops and branches whose operations are in several tasks, as TensorFlow 1.15.5 runs them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.runtime.cluster import control_flow_programs
from tests.runtime.cluster.test_mixed_clusters import RECORDED, free_port, start, stop

import stillflow as tf
from stillflow.runtime.cluster.token_crossings import place_of

EXPECTED = json.loads((RECORDED / "control_flow.json").read_text())


@pytest.fixture(scope="module")
def target() -> str:
    workers, _ = tf.test.create_local_cluster(1, 1)
    return str(workers[0].target)


def numbers(value: Any) -> list[Any]:
    """Return the leaves of a nested list."""
    return (
        [leaf for each in value for leaf in numbers(each)] if isinstance(value, list) else [value]
    )


def compare(found: Any, expected: Any) -> None:
    """Compare results: to a few roundings of the numbers of a loop, which are about 1 and above."""
    ours, theirs = numbers(found), numbers(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, float):
            assert abs(one - other) <= 8 * np.finfo(np.float32).eps * max(1, abs(other))
        else:
            assert one == other


@pytest.mark.parametrize("name", EXPECTED)
def test_control_flow_over_tasks_computes_as_tensorflow(target: str, name: str, cpu: None) -> None:
    compare(control_flow_programs.results(name, target), EXPECTED[name])


def test_frames_have_the_numbers_that_tensorflow_gives_them() -> None:
    assert place_of(()) == "0:0"
    hashed = tf.strings.to_hash_bucket([";0;while/context", ";0;outer;2;inner"], 1 << 62)
    with tf.Session() as session:
        first, second = session.run(hashed)
    for tag, number, iteration in (
        ((("while/context", 3),), first, 3),
        ((("outer", 2), ("inner", 5)), second, 5),
    ):
        frame, _, found = place_of(tag).partition(":")
        assert int(frame) % (1 << 62) == number and int(found) == iteration


def test_an_error_in_one_task_ends_a_loop_in_all(target: str) -> None:
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=3.0, use_resource=True)

        def body(i: Any) -> Any:
            with tf.control_dependencies([v.assign_sub(1.0)]):
                checked = tf.check_numerics(1.0 / v.read_value(), "not finite", name="check")
            with tf.device("/job:worker/task:0"), tf.control_dependencies([checked]):
                return i + 1

        with tf.device("/job:worker/task:0"):
            result = tf.while_loop(lambda i: i < 9, body, [0])
        with tf.Session(target) as session:
            session.run(v.initializer)
            with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
                session.run(result)
            assert session.run(v) == 0.0


@pytest.mark.oracle
@pytest.mark.parametrize(("ps", "worker"), [("tf", "sf"), ("sf", "tf")])
def test_tasks_of_both_kinds_compute_as_tensorflow(ps: str, worker: str) -> None:
    addresses = [f"localhost:{free_port()}" for _ in range(2)]
    cluster = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
    started = []
    try:
        for job, made_of in (("ps", ps), ("worker", worker)):
            started.append(start(made_of, ["control_flow_programs.py", job, "0", cluster]))
        output, _ = started[1].communicate(timeout=240)
        found = json.loads(output.splitlines()[-1])
    finally:
        stop(started)
    for name, expected in EXPECTED.items():
        compare(found[name], expected)
