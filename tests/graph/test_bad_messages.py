"""GraphDefs and values with false sizes: errors before memory is allocated."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import stillflow as tf


def constant(dims: list[int], dtype: int = 1, kind: int = 1, **fields: Any) -> tf.GraphDef:
    """Return a GraphDef of one constant, with `dtype` in the attribute and `kind` in the tensor."""
    graph = tf.GraphDef()
    node = graph.node.add(name="c", op="Const")
    node.attr["dtype"].type = dtype
    tensor = node.attr["value"].tensor
    tensor.dtype = kind
    for size in dims:
        tensor.tensor_shape.dim.add().size = size
    tensor.tensor_content = fields.get("content", b"")
    tensor.float_val.extend(fields.get("floats", ()))
    return graph


def run(definition: tf.GraphDef, name: str = "c:0") -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        return session.run(name)


@pytest.mark.parametrize(("definition", "message"), [
    (constant([0], dtype=99, kind=99), "AttrValue has invalid DataType enum: 99"),
    (constant([2**40, 2**40], floats=[1.0]), "is too large .more than 2"),
    (constant([-3], floats=[1.0]), "-3 must be >= 0"),
])  # fmt: skip
def test_constants_that_cannot_be(definition, message):
    with pytest.raises(ValueError, match=message):
        run(definition)


@pytest.mark.parametrize(("definition", "message"), [
    (constant([0], kind=0), "Cannot convert value 0"),
    (constant([4], content=b"1234"), "takes 16 bytes, but its content has 4"),
    (constant([1], content=b"12345678"), "takes 4 bytes, but its content has 8"),
    (constant([2**62], floats=[1.0]), "too big|more than 2GB"),
    (constant([2**62]), "too big|more than 2GB"),
    (constant([2**40], floats=[1.0]), "more than 2GB"),
])  # fmt: skip
def test_constants_that_fail_when_they_are_run_only(definition, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot parse tensor from proto") as e:
        run(definition)
    assert re.search(message, e.value.message)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        assert session.run(tf.constant(5)) == 5


def test_values_beyond_the_shape_are_dropped():
    assert run(constant([1], floats=[1.0, 2.0])).tolist() == [1.0]


def test_too_few_values_repeat_the_last():
    assert run(constant([3], floats=[1.0, 2.0])).tolist() == [1.0, 2.0, 2.0]


def test_circles_are_refused():
    graph = tf.GraphDef()
    for name, source in (("a", "b"), ("b", "a")):
        graph.node.add(name=name, op="Neg", input=[source]).attr["T"].type = 1
    with pytest.raises(ValueError, match="cycle"):
        run(graph, "a:0")


def test_nothing_is_left_of_a_refused_graph():
    graph = tf.GraphDef()
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph.node.add(name="y", op="Neg", input=["x"]).attr["T"].type = 3
    with tf.Graph().as_default() as into:
        message = "Input 0 of node p/y was passed float from p/x:0 incompatible with expected int32"
        with pytest.raises(ValueError, match=message):
            tf.import_graph_def(graph, name="p")
        assert not into.get_operations()
        graph.node[1].attr["T"].type = 1
        tf.import_graph_def(graph, name="p")
        assert [op.name for op in into.get_operations()] == ["p_1/x", "p_1/y"]


@pytest.mark.parametrize("given", ["a", ["a", "b"], None, [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_values_that_do_not_fit_are_not_fed(given):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with pytest.raises((ValueError, TypeError)):
            session.run(x + 1, {x: given})
        assert session.run(x + 1, {x: np.zeros(2)}).tolist() == [1.0, 1.0]
