"""State of datasets that outlives iterators, and waiting; orders are those of TensorFlow 1.15.5."""

from __future__ import annotations

import threading
import time

import pytest

import stillflow as tf
from stillflow.data.iterator import IteratorV2
from stillflow.data.sleeping import sleep
from stillflow.data.stats import StatsAggregatorV2
from stillflow.eager import v2_behavior
from stillflow.summary.resource_writer import summary_writer_initializer_op

Dataset = tf.data.Dataset


@pytest.fixture
def second_generation():
    tf.reset_default_graph()
    v2_behavior.enable_v2_behavior()
    tf.set_random_seed(3)
    yield
    v2_behavior.disable_v2_behavior()


def walked(dataset):
    return [int(element) for element in dataset]


@pytest.mark.usefixtures("second_generation")
def test_every_epoch_has_an_order_of_its_own():
    seeded = Dataset.range(6).shuffle(6, seed=7)
    assert [walked(seeded) for _ in range(3)] == [
        [0, 2, 3, 1, 4, 5], [1, 0, 2, 5, 4, 3], [2, 5, 1, 0, 4, 3]
    ]  # fmt: skip
    plain = Dataset.range(6).shuffle(6)
    assert [walked(plain) for _ in range(3)] == [
        [3, 4, 0, 5, 1, 2], [4, 0, 2, 3, 5, 1], [0, 4, 2, 5, 1, 3]
    ]  # fmt: skip
    same = Dataset.range(6).shuffle(6, seed=7, reshuffle_each_iteration=False)
    assert walked(same) == walked(same) == [4, 2, 3, 1, 0, 5]


@pytest.mark.usefixtures("second_generation")
def test_a_repeat_draws_seeds_for_the_epoch_after_the_last_one():
    repeated = Dataset.range(6).shuffle(6, seed=7).repeat(2)
    assert walked(repeated) == [0, 2, 3, 1, 4, 5, 1, 0, 2, 5, 4, 3]
    assert walked(repeated) == [2, 0, 5, 3, 1, 4, 4, 1, 5, 2, 0, 3]


@pytest.mark.usefixtures("second_generation")
def test_a_cache_serves_all_iterators():
    begun = []

    def numbers():
        begun.append(True)
        yield from range(3)

    cached = Dataset.from_generator(numbers, tf.int32).cache()
    assert walked(cached) == walked(cached) == [0, 1, 2]
    assert len(begun) == 1


@pytest.mark.usefixtures("second_generation")
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda d: d.cache(), "CacheDatasetOp::MemoryDataset depends on memory cache resource."),
        (
            lambda d: d.shuffle(3).batch(2),
            r"ShuffleDatasetOp\(3\)::ReshufflingDataset depends on random seed generator resource.",
        ),
    ],
)
def test_such_iterators_are_not_saved(make, message):
    iterator = iter(make(Dataset.range(6)))
    assert isinstance(iterator, IteratorV2)
    with pytest.raises(tf.errors.FailedPreconditionError, match=message):
        tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)


@pytest.mark.usefixtures("second_generation")
def test_functions_delete_what_their_datasets_kept():
    @tf.function
    def total():
        found = tf.constant(0, tf.int64)
        for x in Dataset.range(6).shuffle(6, seed=7).cache().take(2):
            found = found * 10 + x
        return found

    assert int(total()) == int(total()) == 2
    kinds = [op.type for op in total.get_concrete_function().graph.get_operations()]
    # In the order in which Python lets go of them, which differs between its versions.
    assert sorted(kinds[-3:-1]) == ["DeleteMemoryCache", "DeleteRandomSeedGenerator"]
    assert {"ShuffleDatasetV2", "CacheDatasetV2"} < set(kinds)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    "make, order",
    [
        (lambda d: d.repeat(2).repeat(2), "0213103203122103"),
        (lambda d: d.repeat().take(10).repeat(2), "02131032300312210320"),
    ],
)
def test_repeats_of_repeats_draw_the_seeds_that_tensorflow_draws(make, order):
    dataset = make(Dataset.range(4).shuffle(4, seed=7).map(lambda x: x))
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        assert "".join(str(session.run(element)) for _ in order) == order


@pytest.mark.usefixtures("graph")
def test_a_session_that_is_closed_wakes_who_sleeps():
    dataset = Dataset.range(3).apply(sleep(60_000_000))
    iterator = tf.data.make_initializable_iterator(dataset)
    element, session = iterator.get_next(), tf.Session()
    session.run(iterator.initializer)
    threading.Timer(0.5, session.close).start()
    before = time.monotonic()
    with pytest.raises(tf.errors.CancelledError):
        session.run(element)
    assert time.monotonic() - before < 55  # of 60


@pytest.mark.usefixtures("graph")
def test_an_aggregator_writes_events():
    aggregator = StatsAggregatorV2()
    options = tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = "mine"
    dataset = Dataset.range(5).filter(lambda x: tf.equal(x % 2, 0))
    dataset = dataset.apply(tf.data.experimental.bytes_produced_stats("bytes"))
    iterator = tf.data.make_initializable_iterator(dataset.with_options(options))
    element, writer = iterator.get_next(), aggregator._summary_writer
    (begin,) = [
        op for op in tf.get_default_graph().get_operations()
        if op.type == "StatsAggregatorSetSummaryWriter"
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(summary_writer_initializer_op())
        session.run(begin)
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(element)
        session.run(writer.flush())
    (name,) = tf.gfile.ListDirectory(aggregator._logdir)
    found = [
        (event.step, value.tag.rpartition("::")[2], value.simple_value or value.histo.num)
        for event in tf.train.summary_iterator(f"{aggregator._logdir}/{name}")
        for value in event.summary.value
    ]
    assert found == [
        (0, "filtered_elements", 1), (0, "bytes", 1), (1, "dropped_elements", 1),
        (1, "filtered_elements", 2), (1, "bytes", 2), (2, "dropped_elements", 2),
        (2, "filtered_elements", 3), (2, "bytes", 3),
    ]  # fmt: skip
