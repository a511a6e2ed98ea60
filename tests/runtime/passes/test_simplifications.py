"""Shortcuts that operations take past those before them: the same results, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count
from stillflow.runtime.ir.steps import ops_of
from stillflow.runtime.plan import emit, trace

pytestmark = pytest.mark.usefixtures("graph", "either_way")


class _NoShortcuts:
    def __init__(self, *_):
        pass

    def find(self, *_):
        return None

    def see_unique(self, *_):
        pass


@pytest.fixture(params=["short", "long"])
def way(request, monkeypatch):
    """Once with shortcuts and once without: a test's expectations hold for both."""
    if request.param == "long":
        monkeypatch.setattr(trace, "Shortcuts", _NoShortcuts)
    return request.param


@pytest.fixture
def ran(monkeypatch):
    """Types of the operations in the plans that are made during a test."""
    types = []
    function = emit.Emitter.function

    def record(self, *args):
        types.extend(op.type for step in self.steps for op in ops_of(step))
        return function(self, *args)

    monkeypatch.setattr(emit.Emitter, "function", record)
    return types


def taken(way):
    """Return True if the general kernel is used: always where there is a GPU."""
    return way == "long" or gpu_count() > 0


def run(fetches, feed):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def rows_unless(flags, x, width):
    """Zero the rows without ids, like `safe_embedding_lookup_sparse`."""
    column = tf.reshape(flags, [-1, 1])
    return tf.where(tf.tile(column, [1, width]), tf.zeros_like(x), x)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_zeros_stand_in_the_rows_that_are_named(way, ran, kind):
    flags, x = tf.placeholder(tf.bool, [3]), tf.placeholder(kind, [None, 2])
    fed = {flags: [True, False, True], x: [[1, 2], [3, 4], [5, 6]]}
    found = run(rows_unless(flags, x, 2), fed)
    assert found.dtype == kind
    assert found.tolist() == [[0, 0], [3, 4], [0, 0]]
    assert ("Tile" in ran) == taken(way)


def test_rows_that_lie_apart_are_copied(way):
    flags, x = tf.placeholder(tf.bool, [2]), tf.placeholder(tf.float32, [None, 4])
    part = tf.split(x, 2, axis=1)[1]
    found = run(rows_unless(flags, part, 2), {flags: [False, True], x: np.arange(8).reshape(2, 4)})
    assert found.tolist() == [[2, 3], [0, 0]]


def test_flags_that_are_fed_in_full_are_taken_as_they_are():
    flags, x = tf.placeholder(tf.bool, [2]), tf.placeholder(tf.float32, [2, 2])
    tiled = tf.tile(tf.reshape(flags, [-1, 1]), [1, 2])
    y = tf.where(tiled, tf.zeros_like(x), x)
    fed = {tiled: [[True, False], [False, True]], x: np.ones([2, 2]), flags: [True, True]}
    assert run(y, fed).tolist() == [[0, 1], [1, 0]]


def test_flags_of_another_number_of_rows_are_refused(way):
    flags = tf.placeholder(tf.bool, [None])
    x = tf.placeholder(tf.float32, [None, 2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(rows_unless(flags, x, 2), {flags: [True], x: np.ones([3, 2])})


@pytest.mark.parametrize("taken", [True, False])
def test_what_a_branch_makes_is_not_looked_at_outside(way, taken):
    flags, wanted = tf.placeholder(tf.bool, [2]), tf.placeholder(tf.bool, [])
    x, grad = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 2])
    inside = tf.cond(wanted, lambda: rows_unless(flags, x, 2), lambda: x + 1)
    tiled = tf.tile(tf.reshape(flags, [-1, 1]), [1, 2])
    outside = tf.where(tiled, tf.zeros_like(x), grad)
    feed = {flags: [True, False], wanted: taken, x: np.ones([2, 2]), grad: np.full([2, 2], 5.0)}
    found = run([inside, outside], feed)
    assert found[0].tolist() == ([[0, 0], [1, 1]] if taken else [[2, 2], [2, 2]])
    assert found[1].tolist() == [[0, 0], [5, 5]]


@pytest.mark.parametrize("ids", [[], [0], [4, 9], [-1], [10], [3, 10, -1]])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_bounds_of_ids(way, ran, ids, dtype):
    x = tf.placeholder(dtype, [None])
    below, above = tf.reduce_all(x < 10), tf.reduce_all(x >= 0)
    found = run([below, above], {x: ids})
    assert found == [all(each < 10 for each in ids), all(each >= 0 for each in ids)]
    assert ("Less" in ran) == taken(way)


def test_the_least_number_has_none_below_it(way):
    x = tf.placeholder(tf.int64, [None])
    assert run(tf.reduce_all(x < np.int64(-(2**63))), {x: [-(2**63)]}) == np.False_


def test_bounds_along_one_dimension_are_kept_apart(way):
    x = tf.placeholder(tf.int32, [2, 2])
    assert run(tf.reduce_all(x < 3, axis=1), {x: [[1, 2], [3, 0]]}).tolist() == [True, False]


def test_the_different_ones_of_different_numbers_are_they_themselves(way, ran):
    x = tf.placeholder(tf.int64, [None])
    first = tf.unique(x).y
    again = tf.unique(first)
    rows = tf.one_hot(first, 8)
    total = tf.unsorted_segment_sum(rows, again.idx, tf.shape(again.y)[0])
    y, idx, summed = run([again.y, again.idx, total], {x: [7, 2, 7, 5, 2]})
    assert (y.tolist(), idx.tolist()) == ([7, 2, 5], [0, 1, 2])
    np.testing.assert_array_equal(summed, np.eye(8)[[7, 2, 5]])


def test_sums_of_another_number_of_rows_are_refused(way):
    x, rows = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 2])
    again = tf.unique(tf.unique(x).y)
    total = tf.unsorted_segment_sum(rows, again.idx, tf.shape(again.y)[0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(total, {x: [1, 2, 1], rows: np.ones([3, 2])})


def lookup_gradient():
    """Ids and gradients, as many of each as only the run knows; and what brings them into line."""
    ids, rows = (tf.unique(tf.placeholder(tf.int32, [None], name)).y for name in ("ids", "rows"))
    grad = tf.gather(tf.constant([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), rows)
    count = tf.expand_dims(tf.size(ids), 0)
    return tf.reshape(grad, tf.concat([count, [2]], 0)), tf.reshape(ids, count)


def test_rows_are_brought_to_as_many_as_there_are_ids(way, ran):
    rows, same = run(lookup_gradient(), {"ids:0": [4, 5, 6, 4], "rows:0": [2, 0, 1]})
    assert (rows.tolist(), same.tolist()) == ([[4, 5], [0, 1], [2, 3]], [4, 5, 6])
    assert ("ConcatV2" in ran) == taken(way)


def test_a_number_of_rows_that_cannot_be_is_refused(way):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape is a tensor with 4"):
        run(lookup_gradient(), {"ids:0": [4, 5, 6], "rows:0": [2, 0]})


def model(optimizer, combiner):
    """Return a wide and deep model of two columns, ids of one of which are several or none."""
    columns = [tf.feature_column.categorical_column_with_identity(name, 20) for name in "ab"]
    rng = np.random.RandomState(1)
    feed = {tf.placeholder(tf.int64, [None, 3]): rng.randint(-1, 4, (16, 3)) for _ in columns}
    features = dict(zip("ab", feed, strict=True))
    deep = [tf.feature_column.embedding_column(each, 4, combiner) for each in columns]
    x = tf.feature_column.input_layer(features, deep)
    y = tf.feature_column.linear_model(features, columns, sparse_combiner=combiner)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(x, 1, keepdims=True) + y - 1))
    return loss, optimizer.minimize(loss), feed


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("rule", ["AdagradOptimizer", "FtrlOptimizer", "AdamOptimizer"])
def test_models_learn_the_same_by_shortcuts(monkeypatch, ran, rule, combiner):
    losses = {}
    for way in ("short", "long"):
        if way == "long":
            monkeypatch.setattr(trace, "Shortcuts", _NoShortcuts)
        ran.clear()
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            loss, train, feed = model(getattr(tf.train, rule)(0.1), combiner)
            session.run(tf.global_variables_initializer())
            losses[way] = [session.run([loss, train], feed)[0] for _ in range(10)]
        assert ("ZerosLike" in ran) == taken(way)
    np.testing.assert_allclose(losses["short"], losses["long"], rtol=1e-5)
    assert losses["short"][-1] < losses["short"][0]


def test_ids_out_of_range_are_refused_by_name():
    column = tf.feature_column.categorical_column_with_identity("a", 20)
    ids = tf.placeholder(tf.int64, [None, 1])
    x = tf.feature_column.input_layer({"a": ids}, [tf.feature_column.embedding_column(column, 4)])
    for wrong in (20, -7):
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            run(x, {ids: [[3], [wrong]]})


def matrix_of_ids():
    """Return a sparse matrix whose shape is fed, and its parts."""
    parts = [tf.placeholder(tf.int64, shape) for shape in ([None, 2], [None], [2])]
    return tf.SparseTensor(*parts), parts


def reshaped_for_a_lookup(given, form):
    """Return the reshape before a lookup: to the product of sizes but the last, or `rows, -1`."""
    if form == "product":
        shape = given.dense_shape
        rows = tf.reduce_prod(tf.slice(shape, [0], [1]))
        return tf.sparse_reshape(given, [rows, tf.gather(shape, 1)])
    return tf.sparse_reshape(given, (tf.shape(given)[0], -1))


@pytest.mark.parametrize("form", ["product", "rest"])
@pytest.mark.parametrize("size", [[4, 3], [3, 3], [0, 3], [4, 0], [2**40, 2]])
def test_a_sparse_matrix_keeps_its_shape(way, ran, form, size):
    given, parts = matrix_of_ids()
    again = reshaped_for_a_lookup(given, form)
    rows = [[0, 1], [2, 2]] if min(size) else np.zeros((0, 2))
    feed = dict(zip(parts, (rows, [5, 6][: len(rows)], size), strict=True))
    if form == "rest" and (size[0] in (0, 2**40)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(again, feed)
    else:
        found = run(again, feed)
        assert found.indices.tolist() == np.array(rows).tolist()
        assert found.dense_shape.tolist() == size
    assert ("Pack" in ran) == taken(way)


@pytest.mark.parametrize("form", ["product", "rest"])
def test_a_sparse_matrix_with_a_negative_size_is_refused(way, form):
    given, parts = matrix_of_ids()
    feed = dict(zip(parts, ([[0, 1]], [5], [-4, 3]), strict=True))
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(reshaped_for_a_lookup(given, form), feed)


@pytest.mark.parametrize("rows", [2, 3])
def test_rows_are_brought_to_as_many_as_a_sparse_matrix_has(way, ran, rows):
    ids, size = tf.unique(tf.placeholder(tf.int32, [None], "ids")).y, tf.placeholder(tf.int64, [2])
    x = tf.gather(tf.constant([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), ids)
    rest = tf.slice(tf.shape(x), [1], [-1])
    found = tf.reshape(x, tf.concat([tf.slice(tf.cast(size, tf.int32), [0], [1]), rest], 0))
    feed = {"ids:0": [2, 0, 2], size: [rows, 9]}
    if rows == 2:
        assert run(found, feed).tolist() == [[4, 5], [0, 1]]
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="requested shape has 6"):
            run(found, feed)
    assert ("ConcatV2" in ran) == taken(way)
