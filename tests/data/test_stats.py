"""Numbers that pipelines report, and what datasets write and read of other formats."""

from __future__ import annotations

import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

Dataset = tf.data.Dataset


def reported(dataset, steps):
    """Walk a dataset; give the values of its summary by tag."""
    aggregator = tf.data.experimental.StatsAggregator()
    options = tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = "mine"
    iterator = tf.data.make_initializable_iterator(dataset.with_options(options))
    element, summary = iterator.get_next(), aggregator.get_summary()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(steps):
            session.run(element)
        found = tf.Summary.FromString(session.run(summary))
    return {value.tag: value for value in found.value}


def test_bytes_and_times_are_counted():
    dataset = Dataset.range(5).map(lambda x: tf.fill([x], x))
    dataset = dataset.apply(tf.data.experimental.bytes_produced_stats("bytes"))
    dataset = dataset.apply(tf.data.experimental.latency_stats("time"))
    values = reported(dataset, 4)
    sizes = values["mine::bytes"].histo
    assert (sizes.num, sizes.sum, sizes.min, sizes.max) == (4, 8 * 6, 0, 24)
    assert sum(sizes.bucket) == 4
    assert values["mine::time"].histo.num == 4


def test_filters_and_buffers_report():
    dataset = Dataset.range(9).filter(lambda x: tf.equal(x % 3, 0)).prefetch(2)
    values = reported(dataset, 3)
    by_kind = {tag.rpartition("::")[2]: value for tag, value in values.items()}
    assert by_kind["filtered_elements"].simple_value == 3
    assert by_kind["buffer_capacity"].simple_value == 2
    assert by_kind["buffer_utilization"].histo.num == 3


def test_threads_of_a_parallel_map_report():
    values = reported(Dataset.range(6).map(lambda x: x + 1, num_parallel_calls=2), 6)
    (used,) = [v.simple_value for tag, v in values.items() if tag.endswith("thread_utilization")]
    assert 0 <= used <= 1
    assert any(tag.endswith("execution_time") and v.histo.num >= 6 for tag, v in values.items())


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_dataset_is_written_to_a_file(tmp_path, compression):
    path = str(tmp_path / "out")
    words = Dataset.from_tensor_slices(["a", "bb", ""])
    write = tf.data.experimental.TFRecordWriter(path, compression).write(words)
    with tf.Session() as session:
        session.run(write)
    assert list(tf.io.tf_record_iterator(path, tf.io.TFRecordOptions(compression))) == [
        b"a", b"bb", b"",
    ]  # fmt: skip


def test_only_strings_are_written(tmp_path):
    writer = tf.data.experimental.TFRecordWriter(str(tmp_path / "out"))
    with pytest.raises(TypeError, match="must produce scalar `DT_STRING`"):
        writer.write(Dataset.range(2))


def test_features_of_examples_are_counted():
    """Count like TensorFlow 1.15.5: all features, and the values of the requested ones."""

    def example(number):
        feature = {
            "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * number)),
            "b": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
            "other": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
        }
        if number == 3:
            del feature["b"]
            feature["c"] = tf.train.Feature()
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    parse = tf.data.experimental.parse_example_dataset(
        {
            "a": tf.VarLenFeature(tf.int64),
            "b": tf.FixedLenFeature([2], tf.float32, [0.0, 0.0]),
            "c": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        }
    )
    examples = Dataset.from_tensor_slices([example(number) for number in range(4)])
    found = reported(examples.batch(2).apply(parse), 2)
    counts = {tag.rpartition("::")[2]: value.histo for tag, value in found.items()}
    features, values = counts["features_count"], counts["feature_values_count"]
    assert (features.num, features.sum, features.min, features.max) == (4, 12, 3, 3)
    assert (values.num, values.sum, values.min, values.max) == (4, 12, 2, 4)


def test_numbers_have_the_names_of_tensorflows_nodes():
    dataset = Dataset.range(9).prefetch(2).filter(lambda x: tf.equal(x % 2, 0)).prefetch(1)
    tags = {tag.removeprefix("mine::") for tag in reported(dataset, 3)}
    kinds = ("buffer_capacity", "buffer_size", "buffer_utilization")
    assert tags == {
        "FilterDataset/_6::dropped_elements", "FilterDataset/_6::filtered_elements",
        *(f"PrefetchDataset/_5::{kind}" for kind in kinds),
        *(f"PrefetchDataset/_8::{kind}" for kind in kinds),
    }  # fmt: skip
