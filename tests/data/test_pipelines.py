"""Pipelines while they run: threads, ends, errors, files."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

Dataset = tf.data.Dataset


def elements(dataset, limit=100):
    """All elements of a dataset, as lists."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            for _ in range(limit):
                found.append(np.asarray(session.run(element)).tolist())
        except tf.errors.OutOfRangeError:
            pass
    return found


def test_calls_of_a_parallel_map_overlap():
    together, lock = [0, 0], threading.Lock()

    def slow(x):
        with lock:
            together[0] += 1
            together[1] = max(together)
        time.sleep(0.05)
        with lock:
            together[0] -= 1
        return x

    dataset = Dataset.range(8).map(lambda x: tf.py_func(slow, [x], tf.int64), 4)
    assert elements(dataset) == list(range(8))
    assert together[1] > 1


def test_prefetching_goes_on_while_nobody_asks():
    seen = []

    def note(x):
        seen.append(int(x))
        return x

    dataset = Dataset.range(10).map(lambda x: tf.py_func(note, [x], tf.int64)).prefetch(3)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(element)
        deadline = time.monotonic() + 60
        while len(seen) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(seen) >= 4


@pytest.mark.parametrize("parallel", [None, 2])
def test_after_an_error_comes_the_next_element(parallel):
    dataset = Dataset.from_tensor_slices([1.0, 0.0, 2.0])
    dataset = dataset.map(lambda x: tf.check_numerics(1 / x, "infinite"), parallel)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="infinite"):
            session.run(element)
        assert session.run(element) == 0.5
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            session.run(element)


def test_closing_the_session_ends_who_waits():
    stop = threading.Event()

    def wait(x):
        stop.wait(20)
        return x

    dataset = Dataset.range(3).map(lambda x: tf.py_func(wait, [x], tf.int64)).prefetch(1)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    raised = []

    def ask():
        try:
            session.run(element)
        except tf.errors.OpError as error:
            raised.append(type(error))

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.2)
    session.close()
    thread.join(5)
    stop.set()
    assert raised == [tf.errors.CancelledError]


def test_a_time_limit_ends_who_waits():
    stop = threading.Event()

    def wait(x):
        stop.wait(20)
        return x

    dataset = Dataset.range(3).map(lambda x: tf.py_func(wait, [x], tf.int64)).prefetch(1)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=tf.RunOptions(timeout_in_ms=200))
        stop.set()


def test_what_a_generator_raises_names_the_exception():
    def generator():
        yield 1
        raise ValueError("no more")

    dataset = Dataset.from_generator(generator, tf.int32, [])
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no more"):
            session.run(element)


def test_an_iterator_is_chosen_by_its_handle():
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
    element = chosen.get_next()
    first = tf.data.make_one_shot_iterator(Dataset.range(3))
    second = tf.data.make_initializable_iterator(Dataset.range(10, 13))
    with tf.Session() as session:
        session.run(second.initializer)
        handles = session.run([first.string_handle(), second.string_handle()])
        got = [session.run(element, {handle: handles[i]}) for i in (0, 1, 0, 1)]
    assert got == [0, 10, 1, 11]


def test_a_cache_file_is_read_instead_of_the_source(tmp_path):
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    dataset = Dataset.range(3).map(lambda x: tf.py_func(note, [x], tf.int64))
    dataset = dataset.cache(str(tmp_path / "cache"))
    assert elements(dataset) == [0, 1, 2]
    assert elements(dataset) == [0, 1, 2]
    assert calls == [0, 1, 2]


def test_records_and_lines_of_files(tmp_path):
    records, lines = str(tmp_path / "r"), str(tmp_path / "t")
    with tf.python_io.TFRecordWriter(records) as writer:
        for number in range(3):
            writer.write(b"%d" % number)
    (tmp_path / "t").write_bytes(b"a\nb\r\n\nlast")
    assert elements(tf.data.TFRecordDataset([records, records])) == [b"0", b"1", b"2"] * 2
    assert elements(tf.data.TextLineDataset(lines)) == [b"a", b"b", b"", b"last"]
    assert elements(tf.data.FixedLengthRecordDataset(lines, 3, 1)) == [b"\nb\r", b"\n\nl", b"ast"]


def test_a_record_that_is_damaged_ends_with_data_loss(tmp_path):
    path = tmp_path / "r"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"good")
        writer.write(b"damaged")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    iterator = tf.data.make_initializable_iterator(tf.data.TFRecordDataset(str(path)))
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == b"good"
        with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
            session.run(element)


def test_elements_of_about_the_same_length_share_batches():
    dataset = Dataset.range(1, 7).map(lambda x: tf.fill([x], x))
    bucket = tf.data.experimental.bucket_by_sequence_length(tf.size, [3, 5], [2, 2, 2])
    assert elements(dataset.apply(bucket)) == [
        [[1, 0], [2, 2]],
        [[3, 3, 3, 0], [4, 4, 4, 4]],
        [[5, 5, 5, 5, 5, 0], [6, 6, 6, 6, 6, 6]],
    ]


def test_transformations_of_experimental():
    experimental = tf.data.experimental
    batched = Dataset.range(5).apply(experimental.map_and_batch(lambda x: x * 2, 2))
    assert elements(batched) == [[0, 2], [4, 6], [8]]
    distinct = Dataset.from_tensor_slices([1, 2, 1, 3]).apply(experimental.unique())
    assert elements(distinct) == [1, 2, 3]
    assert elements(Dataset.range(6).apply(experimental.take_while(lambda x: x < 2))) == [0, 1]
    assert elements(Dataset.range(5).batch(4).unbatch()) == [0, 1, 2, 3, 4]


def test_a_scan_hands_its_state_on():
    sums = tf.data.experimental.scan(np.int64(10), lambda state, x: (state + x, state + x))
    assert elements(Dataset.range(4).apply(sums)) == [10, 11, 13, 16]
    assert elements(tf.data.experimental.Counter(3, 2), limit=3) == [3, 5, 7]
