"""Errors of kernels: their type, the operation, and inputs instead of a library's text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.util.raised import is_deliberate


def raised_by(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the error of a run whose kernel of Rint is another function."""
    card = cards.get("Rint")
    monkeypatch.setattr(card, "kernel_part", lambda node: kernel)
    monkeypatch.setattr(card, "value_part", None)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        y = tf.raw_ops.Rint(x=x)
        with pytest.raises(tf.errors.OpError) as found:
            session.run(y, {x: np.ones((2, 3), np.float32)})
    assert found.value.op is y.op
    assert f"(defined at {__file__}:" in found.value.message
    return found.value


def test_an_error_of_our_own_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x: Any) -> Any:
        raise ValueError("x must be a vector")

    error = raised_by(kernel, monkeypatch)
    assert type(error) is tf.errors.InvalidArgumentError
    assert error.message.startswith("x must be a vector\n")


@pytest.mark.parametrize(
    "kernel",
    [
        lambda x: x + x.new_ones(4), lambda x: x.tolist()[5], lambda x: len(x.sum()),
        lambda x: 1 // 0, lambda x: int("a"), lambda x: np.ones(2) + np.ones(3),
        lambda x: x.view(7),
    ],
)  # fmt: skip
def test_a_library_does_not_speak(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:  # of a captured run nobody has the shapes
    error = raised_by(kernel, monkeypatch)
    assert type(error) is tf.errors.InvalidArgumentError
    first = error.message.splitlines()[0]
    assert first == "Rint cannot be computed for inputs float [2,3]"
    assert error.__cause__ is not None  # what a developer looks for


def test_a_fault_of_ours_is_internal(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raised_by(lambda x: {}["missing"], monkeypatch)
    assert type(error) is tf.errors.InternalError
    assert "this is a fault of Stillflow" in error.message
    assert "missing" not in error.message


def test_what_is_not_there_is_unimplemented(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raised_by(lambda x: x.half().to(dtype=None).cholesky(), monkeypatch)
    assert type(error) in (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError)
    assert "Half" not in error.message


def test_memory_that_is_not_there_is_told_as_an_amount(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raised_by(lambda x: np.ones(1 << 60, np.uint8), monkeypatch)
    assert type(error) is tf.errors.ResourceExhaustedError
    assert error.message.startswith("OOM when allocating a tensor of 1.00 EiB")


def test_handles_of_another_kind() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [2], use_resource=True)
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32])
        session.run(v.initializer)
        for wrong in (
            tf.raw_ops.QueueSizeV2(handle=v.handle),
            tf.raw_ops.AssignVariableOp(resource=queue, value=1.0),
            tf.raw_ops.ResourceGather(resource=queue, indices=[0], dtype=tf.float32),
            tf.raw_ops.IteratorGetNext(
                iterator=v.handle, output_types=[tf.int64], output_shapes=[[]]
            ),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match="using the wrong type"):
                session.run(wrong)


def test_a_fed_handle_is_a_type_error() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.placeholder(tf.resource)
        with pytest.raises(TypeError, match="of type resource cannot be fed"):
            session.run(tf.identity(handle), {handle: "text"})


def test_a_predicate_of_unknown_rank_is_looked_at() -> None:
    """Plans for any shape look when they run."""
    with tf.Graph().as_default(), tf.Session() as session:
        predicate = tf.placeholder(tf.bool)
        chosen = tf.cond(predicate, lambda: 1.0, lambda: 2.0)
        assert session.run(chosen, {predicate: True}) == 1.0
        for size in range(1, 12):  # more shapes than there are plans
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar, but it"):
                session.run(chosen, {predicate: [True] * size})
        assert session.run(chosen, {predicate: False}) == 2.0


def test_deliberate_errors_are_told_from_others() -> None:
    def of(function: Any) -> Any:
        with pytest.raises(Exception) as found:
            function()
        return found.value

    def ours() -> None:
        raise ValueError("ours")

    assert is_deliberate(of(ours))
    assert is_deliberate(ValueError("not raised yet"))
    assert not is_deliberate(of(lambda: [][0]))
    assert not is_deliberate(of(lambda: np.ones(2) + np.ones(3)))
    assert not is_deliberate(of(lambda: np.concatenate([])))
