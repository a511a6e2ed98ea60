"""Steps on few numbers in one native call give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.sampling import arrays_of, build

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.ops import small_steps as programs
from stillflow.ops.samples import Sample
from stillflow.runtime.passes import small_steps

pytestmark = [
    pytest.mark.usefixtures("graph", "cpu"),
    pytest.mark.skipif(programs.step_of("Shape") is None, reason="no native library"),
]
CARDS = cards.load_all()
NATIVE = sorted(each for each in CARDS if CARDS[each].samples_part and programs.step_of(each))
OF_HANDLES = {"ResourceGather", "LookupTableFindV2"}
OF_WHOLE_NUMBERS = {"FloorDiv", "Maximum", "Minimum", "Range"}  # samples are of fractions


@pytest.fixture
def calls(monkeypatch):
    """Fuse every step that can be; return whether each call of a program ran natively."""
    ran = []

    class Noting(programs.Program):
        def _natively(self, runs, inputs):
            found = super()._natively(runs, inputs)
            ran.append(found is not None)
            return found

    monkeypatch.setattr(small_steps, "Program", Noting)
    for name, value in {
        "_MANY": 1,
        "_SHARE": 0,
        "_LEAST": 1,
        "_WIDE": 1 << 30,
    }.items():
        monkeypatch.setattr(small_steps, name, value)
    return ran


def run(monkeypatch, built, least):
    with monkeypatch.context() as patch:
        patch.setattr(small_steps, "_LEAST", least)
        try:
            return built.run_planned_without_shapes()
        except tf.errors.OpError as error:
            return type(error), error.message


def taken(array):
    """Return an array in a type that the loop has."""
    return array.astype(np.float32) if array.dtype == np.float64 else array


@pytest.mark.parametrize("name", sorted(set(NATIVE) - OF_HANDLES))
def test_every_sample_gives_the_same(monkeypatch, calls, name):
    card = CARDS[name]
    for sample in card.samples_part():
        arrays = [
            list(map(taken, each)) if isinstance(each, list) else taken(each)
            for each in arrays_of(card, sample)
        ]
        built = build(card, arrays, sample.attrs, "types", getattr(sample, "fixed", ()))
        wanted, found = run(monkeypatch, built, 1 << 30), run(monkeypatch, built, 1)
        if not isinstance(sample, Sample):
            assert str(found) == str(wanted)
            continue
        for one, other in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
            assert one.dtype == other.dtype
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=1e-6)
            else:
                np.testing.assert_array_equal(one, other)
    assert any(calls) or name in OF_WHOLE_NUMBERS


def columns():
    """Return a training step of sparse columns: strings, a vocabulary, crosses and weights."""
    fc = tf.feature_column
    city = fc.categorical_column_with_hash_bucket("city", 10)
    kind = fc.categorical_column_with_vocabulary_list("kind", ["a", "b"], num_oov_buckets=1)
    tags = fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket("tags", 9), "w")
    wide = [city, kind, tags, fc.crossed_column(["city", "kind"], 20)]
    deep = [fc.embedding_column(city, 3), fc.indicator_column(kind), fc.embedding_column(tags, 2)]
    strings = np.array(["x", "", "yy", "x", "z"], object)
    sparse = tf.sparse_placeholder(tf.string, [None, 3]), tf.sparse_placeholder(tf.float32)
    features = {
        "city": tf.placeholder(tf.string, [None]),
        "kind": tf.placeholder(tf.string, [None]),
    }
    rows = [[0, 0], [0, 1], [2, 0], [4, 2]]
    feed = {
        features["city"]: strings, features["kind"]: np.array(["a", "b", "c", "a", ""], object),
        sparse[0]: tf.SparseTensorValue(rows, ["p", "q", "p", "r"], [5, 3]),
        sparse[1]: tf.SparseTensorValue(rows, [1.0, 2.0, 0.5, 4.0], [5, 3]),
    }  # fmt: skip
    features.update(tags=sparse[0], w=sparse[1])
    x = tf.concat([fc.input_layer(features, deep), fc.linear_model(features, wide)], 1)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(x, 1) - 1))
    return [loss, tf.train.FtrlOptimizer(0.5).minimize(loss)], feed


@pytest.mark.parametrize("gives_up", [lambda n: False, lambda n: n % 2, lambda n: True])
def test_models_of_sparse_columns_learn_the_same(monkeypatch, calls, gives_up):
    natively = small_steps.Program._natively

    def some(self, runs, inputs):
        self._pause = 0
        return None if gives_up(len(calls)) else natively(self, runs, inputs)

    losses = []
    for way in ("many", "single"):
        with monkeypatch.context() as patch, tf.Graph().as_default(), tf.Session() as session:
            patch.setattr(small_steps.Program, "_natively", some)
            patch.setattr(small_steps, "_MANY", 1 if way == "many" else 1 << 30)
            tf.set_random_seed(3)
            fetches, feed = columns()
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            losses.append([session.run(fetches, feed)[0] for _ in range(10)])
            assert way == "single" or gives_up(0) or (calls and all(calls))
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_strings_come_out_as_they_are(calls):
    x = tf.placeholder(tf.string, [None, 2])
    taken = tf.gather_nd(tf.reshape(x, [-1]), tf.where(tf.not_equal(tf.reshape(x, [-1]), b"")))
    with tf.Session() as session:
        for _ in range(100):
            fed = np.array([[b"a", b""], [b"b" * 100, b"c"]], object)
            assert session.run(taken, {x: fed}).tolist() == [b"a", b"b" * 100, b"c"]
    assert all(calls)


def test_an_index_out_of_range_is_refused_by_the_operation(calls):
    x, ids = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    taken = tf.gather(x * 2, ids + 1, name="mine")
    with tf.Session() as session:
        feed = {x: np.ones([3, 2]), ids: [0, 2]}
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 3") as caught:
                session.run(taken, feed)
            assert caught.value.op.name == "mine"
        assert session.run(taken, {**feed, ids: [0]}).tolist() == [[2, 2]]


def test_many_numbers_take_more_room_and_too_many_go_one_by_one(calls):
    x = tf.placeholder(tf.int64, [None])
    y = tf.tile(x + 1, [3])
    with tf.Session() as session:
        for size in (10, 10000, 100000):
            assert session.run(y, {x: np.arange(size)})[-1] == size
    assert calls == [True, True, False]


def columns_of_classes(count):
    """Return the feeds, and the sum of embeddings, of dense columns of classes below 50."""
    column = tf.feature_column
    features = {f"c{i}": tf.placeholder(tf.int64, [None, 1]) for i in range(count)}
    given = [
        column.embedding_column(column.categorical_column_with_identity(name, 50), 4)
        for name in features
    ]
    return list(features.values()), tf.reduce_sum(column.input_layer(features, given))


def test_columns_of_known_shapes_are_looked_up_together(calls):
    feeds, total = columns_of_classes(4)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ids = {feed: np.arange(i, i + 12)[:, None] for i, feed in enumerate(feeds)}
        found = session.run(total, ids)
        tables = session.run(tf.trainable_variables())
        assert calls == [True] * 3, "before all assertions, behind them, and the sum"
    expected = [table[i : i + 12] for i, table in enumerate(tables)]
    np.testing.assert_allclose(found, np.sum(expected, dtype=np.float64), atol=1e-4)


@pytest.mark.parametrize("wrong", [-3, 50])
def test_an_assertion_fails_before_the_lookups_behind_it(calls, wrong):
    feeds, total = columns_of_classes(3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ids = {feed: np.arange(12)[:, None] for feed in feeds}
        ids[feeds[1]][7] = wrong
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"column \\?\"c1"):
            session.run(total, ids)
    assert calls, "the columns run in programs"
