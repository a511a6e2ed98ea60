"""Embedding lookups of sparse ids: with their ids prepared in one step, and in many."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.sparse import native_kernels
from stillflow.runtime.devices.devices import gpu_count

pytestmark = pytest.mark.usefixtures("graph", "either_way")

TABLE = np.random.RandomState(0).randn(10, 3).astype(np.float32)
# Rows 1 and 4 have no id, row 2 a negative one only.
INDICES = np.array([[0, 0], [0, 2], [2, 0], [3, 1], [3, 2], [3, 3]])
IDS = np.array([7, 2, -1, 7, -5, 3])
SHAPE = np.array([5, 4])


@pytest.fixture
def loops(monkeypatch):
    """Return the loops that ran, by name."""
    ran = []

    def note(name):
        function = getattr(native_kernels, name)

        def noting(*args, **keywords):
            result = function(*args, **keywords)
            if result is not None:
                ran.append(name)
            return result

        monkeypatch.setattr(native_kernels, name, noting)

    for name in ("lookups", "elements_unlike", "add_up", "reduce_picked", "spread_picked"):
        note(name)
    return ran


def fed(value):
    """Return a placeholder to which `run` feeds a value."""
    value = np.asarray(value)
    tensor = tf.placeholder(value.dtype, [None] * value.ndim)
    tf.add_to_collection("fed", (tensor, value))
    return tensor


def sparse(ids=IDS, indices=INDICES):
    return tf.SparseTensor(fed(np.int64(indices)), fed(ids), tf.constant(SHAPE, tf.int64))


def lookup(table, ids, **options):
    return tf.nn.safe_embedding_lookup_sparse(table, ids, **options)


def run(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches), dict(tf.get_collection("fed")))


def ran(way, *names):
    """Return the loops that are to run: without a GPU all, with one those that read ids."""
    there = ("elements_unlike", "lookups") if gpu_count() else names
    return [name for name in names if name in there and way == "native"]


@pytest.mark.parametrize(("combiner", "weight"), [("sum", 1), ("mean", 2), ("sqrtn", np.sqrt(2))])
@pytest.mark.parametrize("default", [None, 4])
def test_negative_ids_are_left_out_and_empty_rows_filled(
    either_way, loops, combiner, weight, default
):
    table = tf.Variable(TABLE)
    (found,) = run(lookup(table, sparse(), default_id=default, combiner=combiner))
    empty = np.zeros(3) if default is None else TABLE[default]
    expected = [(TABLE[7] + TABLE[2]) / weight, empty, empty, (TABLE[7] + TABLE[3]) / weight, empty]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert loops == ran(either_way, "lookups", "reduce_picked")


def test_what_else_takes_a_part_of_it_keeps_the_parts(loops):
    found = lookup(tf.Variable(TABLE), sparse(), combiner="sum")
    graph = tf.get_default_graph()
    (fill,) = [op for op in graph.get_operations() if op.type == "SparseFillEmptyRows"]
    filled, whole = run(fill.outputs[1], found)
    assert filled.tolist() == [7, 2, 0, 0, 7, 3, 0]
    np.testing.assert_allclose(whole[0], TABLE[7] + TABLE[2], rtol=1e-6)
    assert "lookups" not in loops


def test_the_number_of_rows_may_be_known_only_when_the_plan_runs(either_way, loops):
    given = sparse()
    ids = tf.SparseTensor(given.indices, given.values, fed(np.int64(SHAPE)))
    (found,) = run(lookup(tf.Variable(TABLE), ids, combiner="sum"))
    empty = np.zeros(3)
    expected = [TABLE[7] + TABLE[2], empty, empty, TABLE[7] + TABLE[3], empty]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert loops == ran(either_way, "lookups", "reduce_picked")


def test_a_wrong_number_of_rows_that_is_fed_is_an_error(cpu):
    ids = tf.SparseTensor(fed(np.int64([[0, 0], [7, 0]])), fed(np.int64([1, 2])), fed(SHAPE))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\(1, 0\) is invalid: 7 >= 5"):
        run(lookup(tf.Variable(TABLE), ids, combiner="sum"))


def test_ids_that_two_tables_share_are_prepared_for_each(either_way, loops):
    ids, tables = sparse(), [tf.Variable(TABLE), tf.Variable(-TABLE)]
    first, second = run(*(lookup(table, ids, combiner="sum") for table in tables))
    np.testing.assert_allclose(first[0], TABLE[7] + TABLE[2], rtol=1e-6)
    np.testing.assert_array_equal(second, -first)
    assert set(loops) == set(ran(either_way, "lookups", "reduce_picked"))


def test_ids_that_are_fetched_too_are_those_that_are_not_negative(either_way, loops):
    found = lookup(tf.Variable(TABLE), sparse(), combiner="sum")
    (fill,) = [op for op in tf.get_default_graph().get_operations()
               if op.type == "SparseFillEmptyRows"]  # fmt: skip
    indices, ids, whole = run(*fill.inputs[:2], found)
    assert ids.tolist() == [7, 2, 7, 3]
    assert indices.tolist() == [[0, 0], [0, 2], [3, 1], [3, 3]]
    np.testing.assert_allclose(whole[3], TABLE[7] + TABLE[3], rtol=1e-6)
    assert loops == ran(either_way, "lookups", "reduce_picked")


def test_weights_are_looked_up_beside_the_ids(loops):
    ids, weights = sparse(), sparse(np.float32([1, 2, 3, 4, 5, 0]))
    (found,) = run(lookup(tf.Variable(TABLE), ids, sparse_weights=weights, combiner="sum"))
    np.testing.assert_allclose(found[0], TABLE[7] + 2 * TABLE[2], rtol=1e-6)
    np.testing.assert_allclose(found[3], 4 * TABLE[7], rtol=1e-6)
    assert not loops


@pytest.mark.parametrize(
    ("indices", "ids", "message"),
    [
        ([[0, 0], [9, 0]], [1, 2], r"indices\(1, 0\) is invalid: 9 >= 5"),
        ([[0, 0], [-1, 0]], [1, 2], r"indices\(1, 0\) is invalid"),
        ([[0, 0], [1, 0]], [1, 99], "99 is not in"),
    ],
)
def test_errors_are_those_of_the_operations(indices, ids, message, cpu):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(lookup(tf.Variable(TABLE), sparse(np.int64(ids), indices)))


def test_ids_that_change_in_the_same_run_are_taken_when_they_are():
    ids = tf.Variable(np.int64([1, 2]), use_resource=False)
    rows = tf.constant([[0, 0], [1, 0]], tf.int64)
    found = lookup(tf.Variable(TABLE), tf.SparseTensor(rows, ids, [2, 1]), combiner="sum")
    with tf.control_dependencies([found]):
        later = tf.assign(ids, [3, 4])
    before, after = run(found, later)
    np.testing.assert_array_equal(before, TABLE[[1, 2]])
    assert after.tolist() == [3, 4]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_dense_tensor_of_ids_is_made_sparse_in_one_step(either_way, loops, kind):
    dense = fed(np.array([[3, -1], [-1, -1], [0, 8]], kind))
    indices = tf.where(tf.not_equal(dense, -1))
    where, values = run(indices, tf.gather_nd(dense, indices))
    assert where.tolist() == [[0, 0], [2, 0], [2, 1]]
    assert values.tolist() == [3, 0, 8]
    assert values.dtype == kind
    assert loops == ["elements_unlike"] * (either_way == "native")


@pytest.mark.parametrize("rows", [[4, 1, 4, 4], [3, 2, 1], [0]])
def test_gradients_of_a_row_are_added_up(either_way, loops, rows):
    table = tf.Variable(TABLE)
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, fed(np.int64(rows))) * 2)
    train = tf.train.AdagradOptimizer(0.5, initial_accumulator_value=0.25).minimize(loss)
    with tf.control_dependencies([train]):
        trained = tf.identity(table.read_value())
    (found,) = run(trained)
    expected = TABLE.copy()
    for row in set(rows):
        grad = 2.0 * rows.count(row)
        expected[row] -= 0.5 * grad / np.sqrt(0.25 + grad**2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert loops == ran(either_way, "add_up")


def test_a_wide_and_deep_model_learns(loops, either_way):
    columns = [tf.feature_column.categorical_column_with_identity(name, 20) for name in "ab"]
    rng = np.random.RandomState(1)
    features = {name: fed(rng.randint(0, 20, (16, 1))) for name in "ab"}
    deep = [tf.feature_column.embedding_column(each, 4) for each in columns]
    x = tf.feature_column.input_layer(features, deep)
    y = tf.feature_column.linear_model(features, columns)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(x, 1, keepdims=True) + y - 1))
    train = tf.train.FtrlOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = dict(tf.get_collection("fed"))
        losses = [session.run([loss, train], feeds)[0] for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]
    used = ran(either_way, "elements_unlike", "lookups", "reduce_picked", "spread_picked")
    assert set(loops) == set(used)


def test_indices_without_an_id_are_not_looked_at(loops):
    (found,) = run(lookup(tf.Variable(TABLE), sparse(np.int64([6]), [[0, 0], [3, 0]])))
    np.testing.assert_array_equal(found[[0, 3]], [TABLE[6], np.zeros(3)])
    assert "lookups" not in loops
