"""Iterators that are saved go on where they were, also those that TensorFlow 1.15.5 saved."""

from __future__ import annotations

import base64
import json
import os

import pytest

import stillflow as tf
from stillflow.ops.io.variants import from_message
from stillflow.protos import TensorProto

from .saved_pipelines import pipelines, walk

Dataset = tf.data.Dataset
HERE = os.path.dirname(os.path.abspath(__file__))
PIPELINES = pipelines(tf)
# How many results are ready when the iterator is saved depends on threads.
THREADS = ("parallel_map", "prefetch")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(os.path.dirname(os.path.dirname(HERE)))


@pytest.fixture(scope="module")
def recorded():
    with open(os.path.join(HERE, "recorded", "states.json"), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_of_tensorflow_is_gone_on_from(name, recorded):
    state = base64.b64decode(recorded[name]["state"])
    assert walk(tf, PIPELINES[name], 0, state)[1] == recorded[name]["then"]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_of_ours_is_tensorflows(name, recorded):
    first, then, state = walk(tf, PIPELINES[name], len(recorded[name]["first"]))
    assert (first, then) == (recorded[name]["first"], recorded[name]["then"])
    assert walk(tf, PIPELINES[name], 0, state)[1] == then
    if name not in THREADS:
        ours = from_message(TensorProto.FromString(state))
        theirs = from_message(TensorProto.FromString(base64.b64decode(recorded[name]["state"])))
        assert set(ours) == set(theirs)


@pytest.mark.parametrize("taken", [0, 1, 4, 9])
def test_a_parallel_interleaving_goes_on(taken):
    def make():
        datasets = Dataset.range(4)
        return datasets.interleave(
            lambda x: Dataset.range(x, x + 3), cycle_length=2, num_parallel_calls=2
        )

    _, then, state = walk(tf, make, taken)
    assert walk(tf, make, 0, state)[1] == then


def test_an_iterator_that_is_over_stays_so():
    _, then, state = walk(tf, lambda: Dataset.range(2).repeat(2).batch(3), 3)
    assert then == [] and walk(tf, lambda: Dataset.range(2).repeat(2).batch(3), 0, state)[1] == []


def test_a_saver_keeps_iterators_beside_variables(graph, tmp_path):
    step = tf.Variable(0)
    iterator = tf.data.make_initializable_iterator(Dataset.range(10).shuffle(5))
    element = iterator.get_next()
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run([iterator.initializer, step.initializer])
        session.run([element, step.assign(7)])
        path = saver.save(session, str(tmp_path / "model"))
        then = [session.run(element) for _ in range(9)]
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert session.run(step) == 7
        # Shuffled without a seed: what is in the buffer and the order of it are kept.
        assert [session.run(element) for _ in range(9)] == then


def test_functions_with_state_are_not_saved(graph):
    iterator = tf.data.make_initializable_iterator(
        Dataset.range(3).map(lambda x: tf.random_uniform([]))
    )
    saved = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="RandomUniform is stateful"):
            session.run(saved.op)


def test_generators_are_not_saved(graph):
    dataset = Dataset.from_generator(lambda: iter([1, 2]), tf.int64)
    iterator = tf.data.make_initializable_iterator(dataset)
    saved = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="stateful"):
            session.run(saved.op)


def test_a_state_of_another_pipeline_is_refused():
    state = walk(tf, lambda: Dataset.range(3), 1)[2]
    with pytest.raises(tf.errors.NotFoundError, match="BatchV2::Range"):
        walk(tf, lambda: Dataset.range(3).batch(2), 0, state)


def test_only_initialized_iterators_are_saved(graph):
    iterator = tf.data.make_initializable_iterator(Dataset.range(3))
    saved = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Save\(\) failed because"):
            session.run(saved.op)


def test_a_cache_in_a_file_goes_on_where_it_was(tmp_path):
    name = str(tmp_path / "cache")
    make = lambda: Dataset.range(5).cache(name).repeat(2)
    first, _, state = walk(tf, make, 2, rest=1)
    assert first == [0, 1]
    assert walk(tf, make, 0, state)[1] == [2, 3, 4, 0, 1, 2, 3, 4]


def test_random_functions_draw_the_same_numbers_in_each_walk(graph):
    draw = lambda x: tf.random_uniform([], seed=1)
    both = Dataset.zip((Dataset.range(4).map(draw), Dataset.range(4).map(draw)))
    iterator = tf.data.make_initializable_iterator(both)
    element, walks = iterator.get_next(), []
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            walks.append([session.run(element) for _ in range(4)])
    assert walks[0] == walks[1]
    assert all(first == second for first, second in walks[0])
    assert len({first for first, _ in walks[0]}) == 4


def test_an_interleaving_with_a_dataset_that_failed_comes_to_its_end():
    def make():
        numbers = Dataset.from_tensor_slices([0, 9, 2, 3]).map(
            lambda place: tf.gather(tf.constant([10, 20, 30, 40], tf.int64), place)
        )
        return numbers.interleave(
            lambda x: Dataset.range(x, x + 2), cycle_length=3, num_parallel_calls=3
        )

    first, _, state = walk(tf, make, 1, rest=0)
    assert first == [10]
    assert sorted(walk(tf, make, 0, state)[1]) == [11, 30, 31, 40, 41]


@pytest.mark.parametrize("default, path", [(True, "Range"), (False, "FiniteRepeat")])
def test_datasets_that_change_nothing_are_no_part_of_optimized_paths(graph, default, path):
    dataset = Dataset.range(9).skip(0).take(-1).repeat(1).batch(2)
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = default
    iterator = tf.data.make_initializable_iterator(dataset.with_options(options))
    saved = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    with tf.Session() as session:
        session.run(iterator.initializer)
        state = from_message(TensorProto.FromString(session.run(tf.io.serialize_tensor(saved))))
    assert all(key.startswith(f"Iterator::Model::BatchV2::{path}") for key in state)
