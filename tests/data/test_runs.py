"""Parallel maps of pure functions, whose results are made for several elements at once."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.functions.callables import CompiledFunction

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def together(monkeypatch):
    """Return the lengths of runs whose results were made together."""
    lengths = []
    compute = CompiledFunction.on_rows

    def noting(self, elements, captured=()):
        found = compute(self, elements, captured)
        if found is not None:
            lengths.append(len(elements))
        return found

    monkeypatch.setattr(CompiledFunction, "on_rows", noting)
    return lengths


def write_examples(path, images):
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for image in images:
            example = tf.train.Example()
            example.features.feature["image"].bytes_list.value.append(image)
            writer.write(example.SerializeToString())
    return str(path)


def parse(text):
    image = tf.parse_single_example(text, {"image": tf.FixedLenFeature([], tf.string)})["image"]
    return tf.cast(tf.reshape(tf.decode_raw(image, tf.uint8), [2]), tf.float32)


def elements(dataset, count):
    """Return the first elements, an error in the place of those that fail."""
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        for _ in range(count):
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
    return found


def test_results_are_those_of_single_calls_in_order(tmp_path, together):
    path = write_examples(tmp_path / "a", [bytes([i, 1]) for i in range(90)])
    data = tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2)
    assert elements(data, 91) == [[i, 1] for i in range(90)] + ["OutOfRangeError"]
    assert max(together) > 8


def test_an_error_comes_in_the_place_of_its_element(tmp_path):
    images = [bytes([i, 1]) for i in range(40)]
    images[21] = b"odd"
    path = write_examples(tmp_path / "a", images)
    data = tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2)
    found = elements(data, 41)
    assert found[21] == "InvalidArgumentError"
    assert found[:21] + found[22:40] == [[i, 1] for i in range(40) if i != 21]
    assert found[40] == "OutOfRangeError"


def test_a_damaged_file_gives_what_is_before_the_damage(tmp_path):
    path = write_examples(tmp_path / "a", [bytes([i, 1]) for i in range(40)])
    data = bytearray((tmp_path / "a").read_bytes())
    data[len(data) * 3 // 4] ^= 1
    (tmp_path / "a").write_bytes(data)
    found = elements(tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2), 32)
    assert found == [[i, 1] for i in range(30)] + ["DataLossError", "OutOfRangeError"]


def test_captured_tensors_are_the_same_for_all_elements(together):
    offset = tf.constant([10.0, 20.0])
    data = tf.data.Dataset.range(50)
    data = data.map(lambda i: tf.cast(i, tf.float32) + offset, num_parallel_calls=2)
    iterator = data.make_initializable_iterator()
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(iterator.initializer)
        found = [session.run(following).tolist() for _ in range(50)]
    assert found == [[i + 10, i + 20] for i in range(50)]
    assert together


def test_elements_that_differ_in_shape_are_taken_singly(tmp_path, together):
    data = tf.data.Dataset.range(1, 60).map(lambda i: tf.fill([i], i))
    data = data.map(lambda row: row * 2, num_parallel_calls=2)
    assert elements(data, 59) == [[2 * i] * i for i in range(1, 60)]
    assert not together


def test_a_generator_is_not_asked_before_its_time(together):
    asked = []

    def numbers():
        for number in range(100):
            asked.append(number)
            yield number

    data = tf.data.Dataset.from_generator(numbers, tf.int64, [])
    assert elements(data.map(lambda x: x + 1, num_parallel_calls=2), 20) == list(range(1, 21))
    assert len(asked) < 30
    assert not together


def test_batches_are_made_of_runs(together):
    data = tf.data.Dataset.range(100)
    data = data.apply(tf.data.experimental.map_and_batch(lambda i: i * i, 30, num_parallel_calls=2))
    batches = elements(data, 4)
    np.testing.assert_array_equal(np.concatenate(batches), np.arange(100) ** 2)
    assert together


def test_an_iterator_goes_on_where_it_was_saved_within_a_run(tmp_path):
    def build():
        data = tf.data.Dataset.range(200).map(lambda i: i * 3, num_parallel_calls=2)
        iterator = data.shuffle(7, seed=5).make_initializable_iterator()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        return iterator, iterator.get_next(), tf.train.Saver([saveable])

    path = str(tmp_path / "state")
    iterator, following, saver = build()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(50):
            session.run(following)
        saver.save(session, path, write_meta_graph=False)
        rest = [session.run(following) for _ in range(150)]
    with tf.Graph().as_default(), tf.Session() as session:
        iterator, following, saver = build()
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [session.run(following) for _ in range(150)] == rest
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
