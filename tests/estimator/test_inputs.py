"""Input functions over arrays and data frames."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.estimator.inputs.feeding import BatchFeeder

X = np.arange(10, dtype=np.float32).reshape(5, 2)
Y = np.arange(5)


def run(input_fn, limit=100):
    """Return the batches of an input function."""
    with tf.Graph().as_default():
        tensors = input_fn()
        batches = []
        with tf.train.MonitoredSession() as session:
            while not session.should_stop() and len(batches) < limit:
                batches.append(session.run(tensors))
        return batches


def numpy_input(*args, **kwargs):
    return tf.estimator.inputs.numpy_input_fn(*args, **{"shuffle": False, **kwargs})


def test_batches_of_an_array_end_with_a_shorter_one():
    batches = run(numpy_input(X, batch_size=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate(batches), X)


def test_epochs_run_into_each_other():
    batches = run(numpy_input({"x": X}, Y, batch_size=4, num_epochs=2))
    labels = [label for _, y in batches for label in y]
    assert labels == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert set(batches[0][0]) == {"x"}


def test_goes_on_without_end():
    batches = run(numpy_input(X, {"a": Y, "b": Y}, batch_size=3, num_epochs=None), limit=7)
    assert [list(y["b"]) for _, y in batches[:2]] == [[0, 1, 2], [3, 4, 0]]
    assert len(batches) == 7


def test_shuffles_and_gives_each_example_once():
    batches = run(numpy_input(X, Y, batch_size=2, shuffle=True, queue_capacity=4))
    assert sorted(label for _, y in batches for label in y) == list(Y)


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        ({}, None, ValueError, "x cannot be an empty dict"),
        (np.zeros(0), None, ValueError, "x cannot be an empty array"),
        ([1], None, TypeError, "x must be a dict or array; got list"),
        (X, {}, ValueError, "y cannot be empty dict"),
        ({"a": X}, {"a": Y}, ValueError, "1 duplicate keys are found"),
        (X, Y[:3], ValueError, "Length of tensors in x and y is mismatched"),
    ],
)
def test_refuses_arrays_that_do_not_go_together(x, y, error, message):
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        numpy_input(x, y)()


def test_wants_to_be_told_whether_to_shuffle():
    with pytest.raises(ValueError, match="shuffle must be provided"):
        tf.estimator.inputs.numpy_input_fn(X)


def test_a_feeder_ends_with_an_error_that_queues_know():
    feed = BatchFeeder(["index", "x"], None, [X], 4, num_epochs=1)
    assert [len(feed()["x"]), len(feed()["x"])] == [4, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="Already emitted 1 epochs"):
        feed()


class TestPandas:
    @pytest.fixture(autouse=True)
    def _pandas(self):
        self.pandas = pytest.importorskip("pandas")

    def frame(self):
        return self.pandas.DataFrame({"a": X[:, 0], "b": Y}, index=Y + 100)

    def make(self, *args, **kwargs):
        return tf.estimator.inputs.pandas_input_fn(*args, **{"shuffle": False, **kwargs})

    def test_columns_become_features(self):
        (first, *_) = run(self.make(self.frame(), batch_size=3))
        assert list(first["a"]) == [0, 2, 4]

    def test_a_series_gives_labels_and_a_frame_labels_by_name(self):
        series = self.pandas.Series(Y * 2, index=Y + 100)
        ((_, labels), *_) = run(self.make(self.frame(), series, batch_size=5))
        assert list(labels) == [0, 2, 4, 6, 8]
        many = self.pandas.DataFrame({"a": Y, "z": Y + 1}, index=Y + 100)
        ((_, labels), *_) = run(self.make(self.frame(), many, batch_size=5))
        assert {name: list(value)[:2] for name, value in labels.items()} == {
            "a": [0, 1], "z": [1, 2],
        }  # fmt: skip

    def test_refuses_labels_of_another_index(self):
        with pytest.raises(ValueError, match="Index for x and y are mismatched"):
            self.make(self.frame(), self.pandas.Series(Y))
