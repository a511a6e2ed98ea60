"""Functions of data sets run on the host, where a GPU is the first device too."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.functions import callables

ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.fixture
def made(monkeypatch):
    """Return the plans that are made of functions, as whether for the host alone."""
    found = []
    make = callables.CompiledFunction._plan_for

    def noting(self, *args):
        found.append(not self._resources.several)
        return make(self, *args)

    monkeypatch.setattr(callables.CompiledFunction, "_plan_for", noting)
    return found


def elements(dataset):
    """All elements of a data set, computed in a session."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.usefixtures("cuda", "graph")
class TestBesideAGpu:
    def test_they_run_on_the_host(self, made):
        dataset = tf.data.Dataset.from_tensor_slices(ROWS)
        dataset = dataset.filter(lambda row: tf.reduce_sum(row) > 2).map(tf.square).batch(2)
        found = elements(dataset)
        np.testing.assert_array_equal(np.concatenate(found), ROWS[1:] ** 2)
        assert made and all(made)

    def test_they_look_up_tables(self, made):
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
        dataset = tf.data.Dataset.from_tensor_slices(["b", "c", "a"])
        assert elements(dataset.map(table.lookup)) == [1, -1, 0]
        assert made and all(made)

    def test_what_is_captured_comes_from_the_gpu(self, made):
        scale = tf.tanh(tf.constant(0.5)) * 2.0
        dataset = tf.data.Dataset.from_tensor_slices(ROWS).map(lambda row: row * scale)
        np.testing.assert_allclose(elements(dataset), ROWS * 2 * np.tanh(0.5), rtol=1e-6)
        assert made and all(made)

    def test_a_variable_is_read_where_it_is(self):
        scale = tf.get_variable("scale", [2], initializer=tf.ones_initializer(), use_resource=True)
        dataset = tf.data.Dataset.from_tensor_slices(ROWS).map(lambda row: row + scale)
        np.testing.assert_array_equal(elements(dataset), ROWS + 1)

    def test_a_device_that_is_named_is_taken(self, made):
        def on_gpu(row):
            with tf.device("/gpu:0"):
                return tf.square(row)

        found = elements(tf.data.Dataset.from_tensor_slices(ROWS).map(on_gpu).batch(6))
        np.testing.assert_array_equal(found[0], ROWS**2)
        assert made and not any(made)

    def test_draws_go_on_as_without_one(self):
        def drawn():
            tf.set_random_seed(5)
            dataset = tf.data.Dataset.from_tensor_slices(ROWS)
            return elements(dataset.map(lambda row: row + tf.random_uniform([2], seed=3)))

        found = drawn()
        with tf.Graph().as_default(), tf.device("/cpu:0"):
            np.testing.assert_array_equal(found, drawn())
