"""Element-wise steps on few numbers in one call give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.ops.math.elements import Program
from stillflow.runtime.passes import elements

pytestmark = [
    pytest.mark.usefixtures("graph", "cpu"),
    pytest.mark.skipif(native.library() is None, reason="the native library is not built"),
]


@pytest.fixture
def programs(monkeypatch):
    """Return a list of the number of instructions of each program that is made."""
    counts = []

    class Counted(Program):
        def __init__(self, instructions, *rest):
            super().__init__(instructions, *rest)
            counts.append(len(instructions))

    monkeypatch.setattr(elements, "Program", Counted)
    return counts


def both(monkeypatch, fetches, feed=None):
    """Return the values of programs, and of each step by itself."""
    runs = []
    for least in (elements._LEAST, 1 << 30):
        with monkeypatch.context() as patch, tf.Session() as session:
            patch.setattr(elements, "_LEAST", least)
            session.run(tf.global_variables_initializer())
            runs.append(session.run(fetches, feed))
    return runs


def check(monkeypatch, fetches, feed=None, roundings=4):
    # Sums, products and quotients are the same; of exponentials, tanh and sigmoid the
    # last bits are others.
    for mine, other in zip(*both(monkeypatch, fetches, feed), strict=True):
        rounding = roundings * np.finfo(np.float32).eps
        np.testing.assert_allclose(mine, other, rtol=rounding, atol=rounding)


X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
POSITIVE = np.abs(X) + 0.1

FUNCTIONS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y, "squared difference": tf.squared_difference,
    "neg": lambda x, y: -x, "square": lambda x, y: tf.square(x), "pow 2": lambda x, y: x**2,
    "pow 3": lambda x, y: x**3, "sqrt": lambda x, y: tf.sqrt(y), "rsqrt": lambda x, y: tf.rsqrt(y),
    "reciprocal": lambda x, y: tf.reciprocal(y), "abs": lambda x, y: tf.abs(x),
    "exp": lambda x, y: tf.exp(x), "tanh": lambda x, y: tf.tanh(x),
    "sigmoid": lambda x, y: tf.sigmoid(x), "relu": lambda x, y: tf.nn.relu(x),
    "add_n": lambda x, y: tf.add_n([x, y, x, y]), "concat": lambda x, y: tf.concat([x, y], 1),
    "concat rows": lambda x, y: tf.concat([x, y], 0),
    "split": lambda x, y: tf.concat(tf.split(x, 3, 1)[::-1], 1),
    "slice": lambda x, y: x[1:3, 2:5] * 2.0, "unstack": lambda x, y: tf.unstack(x, axis=1)[4],
    "reshape": lambda x, y: tf.reshape(x, [3, 8]) * tf.reshape(y, [3, 8])[:, :1],
    "row": lambda x, y: x * y[0], "column": lambda x, y: x * y[:, :1],
    "number": lambda x, y: x * y[0, 0], "wider": lambda x, y: x[0] * y[:, :1],
    "log": lambda x, y: tf.log(y), "maximum": tf.maximum, "minimum": tf.minimum,
    "sum": lambda x, y: x * tf.reduce_sum(y, 1, keepdims=True),
    "sum of columns": lambda x, y: x * tf.reduce_sum(y, 0),
    "sum of all": lambda x, y: x * tf.reduce_sum(y),
    "mean": lambda x, y: x * tf.reduce_mean(y, 1)[:, None],
    "mean of columns": lambda x, y: x * tf.reduce_mean(y, 0),
    "mean of all": lambda x, y: x * tf.reduce_mean(y),
    "max": lambda x, y: x * tf.reduce_max(y, -1, keepdims=True),
    "min of columns": lambda x, y: x * tf.reduce_min(y, 0),
    "max of all": lambda x, y: x + tf.reduce_max(x),
    "max of one": lambda x, y: x * tf.reduce_max(y[:, :1], 1, keepdims=True),
    "sum of long rows":
        lambda x, y: y + tf.reduce_sum(tf.reshape(tf.concat([x, y], 1), [1, 48]), 1),
    "sum of a row": lambda x, y: x + tf.reduce_sum(tf.reshape(y, [1, 24]), 1),
    "sum of columns of numbers": lambda x, y: x + tf.reduce_sum(tf.reshape(y, [24, 1]), 0),
    "logsumexp": lambda x, y: x - tf.reduce_logsumexp(y, 1, keepdims=True),
    "where": lambda x, y: tf.where(x < y, x, y),
    "where_v2": lambda x, y: tf.where_v2(x >= 0.5, x, y[:, :1]),
    "where of rows": lambda x, y: tf.where(tf.equal(x[:, 0], y[:, 1]), x, y),
    "where of another shape":
        lambda x, y: tf.where_v2(tf.expand_dims(tf.greater(x[0], y[1]), 0), x, y),
    "matrices":
        lambda x, y: tf.reshape(x, [2, 1, 2, 6]) * tf.reshape(y, [2, 2, 1, 6]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations_and_their_gradients_give_what_single_steps_give(monkeypatch, programs, name):
    x, y = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.float32, X.shape)
    z = FUNCTIONS[name](x + 0.25, y * 1.5) * 2.0 - 1.0
    check(monkeypatch, [z, *tf.gradients(z * z, [x, y], unconnected_gradients="zero")],
          {x: X, y: POSITIVE}, 16)  # fmt: skip
    assert programs


@pytest.mark.parametrize(
    "name",
    ["exp", "tanh", "sigmoid", "relu", "rsqrt", "div", "pow 3", "log", "maximum", "max of all",
     "where"],
)  # fmt: skip
def test_special_numbers_are_those_of_single_steps(monkeypatch, programs, name):
    special = [np.nan, np.inf, -np.inf, 0, 88.5, 89, -87.2, -87.4, -104, 1e-30, 1e30, -1e30,
               1e-40, 0.99999994, 1, 1.0000001]  # fmt: skip
    special = np.array(special, np.float32)
    x = tf.placeholder(tf.float32, special.shape)
    given = x * 1.0 * 1.0
    z = FUNCTIONS[name](given, given)
    check(monkeypatch, [z, z * 1.0], {x: special})
    assert programs


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if "s" in each and each != "unstack"])
def test_operations_in_loops_give_what_single_steps_give(monkeypatch, programs, name):
    x, y = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.float32, X.shape)

    def body(i, z):
        return i + 1, z * 0.5 + tf.reduce_mean(FUNCTIONS[name](z + 0.25, y * 1.5)) - 1.0

    _, z = tf.while_loop(lambda i, z: i < 3, body, [0, x])
    check(monkeypatch, [z], {x: X, y: POSITIVE}, 64)
    assert programs


def test_rows_are_put_into_the_array_of_a_loop(monkeypatch):
    x = tf.placeholder(tf.float32, [3, 2])

    def body(i, rows, others):
        rows = tf.raw_ops.InplaceUpdate(x=rows, i=tf.reshape(i, [1]), v=x[i : i + 1])
        return i + 1, rows, tf.raw_ops.InplaceAdd(x=others, i=[2], v=rows[:1])

    start = tf.fill([4, 2], -1.0)
    _, rows, others = tf.while_loop(lambda i, *_: i < 3, body, [0, start, start])
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.Session() as session:
        for _ in range(2):
            found = session.run([rows, others, start], {x: given})
            np.testing.assert_array_equal(found[0], [*given, [-1, -1]])
            np.testing.assert_array_equal(found[1][2], [-1, 2])
            np.testing.assert_array_equal(found[2], np.full((4, 2), -1))


def test_values_between_two_programs_stay_in_one_tensor(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [16])
    y = x
    for _ in range(50):
        y = tf.tanh(y * 0.9) + 0.1
    loss = tf.tensordot(y, y, 1)
    check(monkeypatch, [loss, *tf.gradients(loss, [x])], {x: np.linspace(-1, 1, 16)}, 100)
    assert len(programs) == 2
    with tf.Session() as session:
        assert session.explain([loss, *tf.gradients(loss, [x])], {x: np.zeros(16)}).count("Tanh")


def test_a_variable_that_changes_is_read_before(monkeypatch, programs):
    v = tf.Variable([1.0, 2.0], use_resource=True)
    before = v * 2.0 + 1.0 - 0.5
    product = before * before
    with tf.control_dependencies([product]):
        changed = v.assign_add([10.0, 10.0])
    with tf.control_dependencies([changed]):
        after = v.read_value() * 2.0 + 1.0 - 0.5
        square = after * after
    check(monkeypatch, [before, product, after, square])
    assert len(programs) == 2


def test_a_reference_shows_the_writes_before_its_use(monkeypatch, programs):
    v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        z = (v * 2.0 + 1.0) * 3.0
    check(monkeypatch, [z])
    assert programs == [3]


def test_cells_of_unrolled_recurrent_networks_take_a_program_each(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [3, 4, 5])
    cell = tf.nn.rnn_cell.LSTMCell(7, initializer=tf.random_uniform_initializer(-1, 1, seed=1))
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs[-1]))
    feed = {x: np.random.RandomState(0).randn(3, 4, 5)}
    # Four steps with sums of 12 products.
    check(monkeypatch, [loss, *tf.gradients(loss, tf.trainable_variables())], feed, 200)
    assert len(programs) >= 8


@pytest.mark.parametrize("lengths", [None, [1, 4, 2]])
def test_bodies_of_loops_have_programs(monkeypatch, programs, lengths):
    x = tf.placeholder(tf.float32, [3, 4, 5])
    projected = tf.nn.rnn_cell.LSTMCell(
        7, num_proj=4, cell_clip=2.0, initializer=tf.random_uniform_initializer(-1, 1, seed=1)
    )
    outputs, _ = tf.nn.dynamic_rnn(projected, x, lengths, dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs))
    feed = {x: np.random.RandomState(0).randn(3, 4, 5)}
    check(monkeypatch, [loss, *tf.gradients(loss, tf.trainable_variables())], feed, 200)
    assert programs


def test_branches_and_unknown_shapes_stay_steps(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [None])
    y = tf.cond(x[0] > 0, lambda: x * 2.0 * 3.0 * 4.0, lambda: x - 1.0 - 2.0 - 3.0)
    check(monkeypatch, [y], {x: [1.0, 2.0]})
    assert programs == []


def test_many_numbers_stay_steps(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [1 << 15])
    check(monkeypatch, [x * 2.0 + 1.0 - 3.0], {x: np.zeros(1 << 15)})
    assert programs == []


def test_one_number_for_all_is_copied(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [3, 5])
    z = tf.broadcast_to(x[0, 0], [3, 5]) * 2.0 + 1.0 - x
    check(monkeypatch, [z, *tf.gradients(z, [x])], {x: X[:3, :5]})
    assert programs


def test_steps_that_are_asked_for_by_themselves_run(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [3])
    z = x * 2.0 + 1.0 - 3.0
    with tf.Session() as session:
        assert session.run(z.op, {x: [1.0, 2.0, 3.0]}) is None
    assert programs == [3]


def test_joined_parts_may_be_empty(monkeypatch, programs):
    x = tf.placeholder(tf.float32, [3, 5])
    z = tf.concat([x * 2.0 + 1.0, tf.zeros([3, 0]), tf.tanh(x) - 3.0], 1) * 4.0
    check(monkeypatch, [z], {x: X[:3, :5]})
    assert programs
