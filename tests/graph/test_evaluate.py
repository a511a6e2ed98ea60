"""Values of constant expressions, which shape rules see through any ops."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.constant_value import constant_value
from stillflow.graph.evaluate import evaluated

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def sizes() -> tf.Tensor:
    """[2, 3] by ops that cards do not compute in numpy."""
    return tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(tf.constant([2, 3])))


def test_an_expression_of_constants_is_computed_when_a_shape_depends_on_it():
    wanted = sizes()
    assert constant_value(wanted) is None
    assert tf.reshape(tf.placeholder(tf.float32), wanted).shape.as_list() == [2, 3]
    np.testing.assert_array_equal(constant_value(wanted), [2, 3])


def test_elements_of_packed_shapes_are_computed():
    wanted = tf.stack([tf.gather(sizes(), 0), tf.placeholder(tf.int32, [])])
    assert tf.reshape(tf.placeholder(tf.float32), wanted).shape.as_list() == [2, None]


def test_value_parts_go_on_with_what_was_computed():
    assert tf.zeros(tf.concat([sizes() * 2, [1]], 0)).shape.as_list() == [4, 6, 1]


def test_shapes_count_as_constants_when_they_are_known():
    x = tf.placeholder(tf.float32, [5, 2])
    wanted = tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(tf.shape(x)))
    assert tf.reshape(tf.placeholder(tf.float32), wanted).shape.as_list() == [5, 2]


def test_a_shape_may_become_known_later():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    wanted = tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(tf.shape(x)))
    assert tf.reshape(y, wanted).shape.ndims is None
    x.set_shape([7])
    assert tf.reshape(y, wanted).shape.as_list() == [7]


def test_shapes_of_constant_expressions_are_computed_where_the_graph_does_not_know_them():
    chosen = tf.boolean_mask(tf.constant([1.0, 2.0, 3.0]), [True, False, True])
    assert chosen.shape.as_list() == [None]
    for wanted in (tf.shape(chosen) + 0, tf.reshape(tf.size(chosen), [1])):
        assert tf.reshape(tf.placeholder(tf.float32), wanted).shape.as_list() == [2]
    same = tf.reshape(tf.placeholder(tf.float32), tf.shape(chosen))
    assert same.shape.as_list() == [None]  # a shape is read as far as the graph knows it


@pytest.mark.parametrize("varying", [
    lambda: tf.placeholder(tf.int32, [2]),
    lambda: tf.placeholder_with_default([2, 3], [2]),
    lambda: tf.random.uniform([2], 1, 5, tf.int32),
    lambda: tf.cond(tf.placeholder(tf.bool, []), lambda: tf.constant([1, 2]), sizes),
    lambda: tf.py_func(lambda: np.int32([1, 2]), [], tf.int32),
])  # fmt: skip
def test_what_may_differ_from_run_to_run_is_not_known(varying):
    tensor = tf.linalg.tensor_diag(varying())
    assert evaluated(tensor) is None
    assert tensor.op._varies


def test_large_constants_are_left_alone():
    tensor = tf.linalg.tensor_diag(tf.constant(np.arange(200, dtype=np.int32)))
    assert tensor.shape.as_list() == [200, 200]
    assert evaluated(tensor) is None


def test_what_fails_is_not_known_and_fails_when_it_runs():
    wanted = tf.gather(sizes(), 5)
    x = tf.reshape(tf.placeholder(tf.float32), [wanted])
    assert x.shape.as_list() == [None]
    with pytest.raises(tf.errors.InvalidArgumentError), tf.Session() as session:
        session.run(wanted)


def test_values_that_only_numbers_depend_on_are_not_computed():
    rate = tf.exp(tf.linalg.tensor_diag_part(tf.constant([[1.0]])))
    assert constant_value(tf.constant(0.1) * rate) is None
    assert rate.op._values is None


def test_long_chains_are_no_deep_recursion():
    tensor = sizes()
    for _ in range(3000):
        tensor = tf.reverse(tensor, [0])
    np.testing.assert_array_equal(evaluated(tensor), [2, 3])


def test_ordinary_graphs_are_built_without_torch():
    program = (
        "import sys, stillflow as tf\n"
        "tf.logging.set_verbosity(tf.logging.ERROR)\n"
        "x = tf.placeholder(tf.float32, [None, 8])\n"
        "y = tf.layers.dense(tf.reshape(x, [-1, 2, 4]), 3)\n"
        "rate = tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 0.9)\n"
        "tf.train.AdamOptimizer(rate).minimize(tf.reduce_mean(tf.square(y)))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_all_cards_are_read_without_torch():
    program = (
        "import sys\n"
        "from stillflow.graph import card\n"
        "assert len(card.load_all()) > 1000 and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_a_value_part_does_not_tell_the_kernel_does():
    ids = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])
    rows = tf.sparse_reshape(ids, [4, 1]).indices
    assert constant_value(rows) is None
    np.testing.assert_array_equal(evaluated(rows), [[1, 0], [2, 0]])
    assert tf.zeros(rows[:, 0]).shape.as_list() == [1, 2]


def test_a_value_part_tells_some_outputs_where_inputs_vary():
    rows = tf.placeholder(tf.int64, [2, 2])
    reshaped = tf.sparse_reshape(tf.SparseTensor(rows, [5, 6], [2, 2]), [4, -1])
    assert evaluated(reshaped.indices) is None
    np.testing.assert_array_equal(evaluated(reshaped.dense_shape + 1), [5, 2])
