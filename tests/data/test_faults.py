"""Faults in pipelines: each ends in the error that names it, with all threads ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

Dataset = tf.data.Dataset


def started(dataset):
    """Return a session in which a dataset is walked, and its next element."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    return session, element


@pytest.fixture(autouse=True)
def _others(monkeypatch):
    """Threads of earlier tests, whose pipelines Python has not collected yet."""
    monkeypatch.setattr(pipeline_threads, "others", set(threading.enumerate()), raising=False)


def pipeline_threads():
    own = set(threading.enumerate()) - pipeline_threads.others
    return [t for t in own if t.name.startswith("tf_data")]


def ended(limit=60.0):
    """Return True if the threads of pipelines come to their end."""
    last = time.monotonic() + limit
    while pipeline_threads() and time.monotonic() < last:
        time.sleep(0.01)
    return not pipeline_threads()


def records(path, count):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(count):
            writer.write(b"record %d" % number)
    return str(path)


def test_an_error_of_a_generator_is_the_elements():
    def numbers():
        yield 1
        raise LookupError("no more numbers")

    session, element = started(Dataset.from_generator(numbers, tf.int64))
    assert session.run(element) == 1
    with pytest.raises(tf.errors.UnknownError, match="LookupError: no more numbers"):
        session.run(element)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(element)


@pytest.mark.parametrize("calls", [None, 3])
def test_elements_follow_an_error_of_a_function(calls):
    def checked(x):
        if x == 2:
            raise ValueError(f"{x} is not wanted")
        return x

    dataset = Dataset.range(5).map(lambda x: tf.py_func(checked, [x], tf.int64), calls)
    session, element = started(dataset)
    assert [session.run(element) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 is not wanted"):
        session.run(element)
    assert [session.run(element) for _ in range(2)] == [3, 4]


@pytest.mark.parametrize("reads", [None, 2])
def test_a_damaged_record_names_file_and_place(tmp_path, reads):
    path = records(tmp_path / "numbers.tfrecord", 5)
    content = bytearray((tmp_path / "numbers.tfrecord").read_bytes())
    size = len(content) // 5
    content[2 * size + 14] ^= 0xFF  # in the data of the third record
    (tmp_path / "numbers.tfrecord").write_bytes(content)
    session, element = started(tf.data.TFRecordDataset([path], num_parallel_reads=reads))
    assert [session.run(element) for _ in range(2)] == [b"record 0", b"record 1"]
    with pytest.raises(tf.errors.DataLossError, match=f"corrupted record at {2 * size + 12}") as e:
        session.run(element)
    assert path in str(e.value)


def test_records_of_an_unknown_compression_are_read_as_they_are(tmp_path):
    path = records(tmp_path / "numbers.tfrecord", 1)
    session, element = started(tf.data.TFRecordDataset(path, compression_type="LZMA"))
    assert session.run(element) == b"record 0"


def test_damaged_elements_can_be_left_out(tmp_path):
    good, bad = records(tmp_path / "good", 2), records(tmp_path / "bad", 1)
    content = bytearray((tmp_path / "bad").read_bytes())
    content[13] ^= 1
    (tmp_path / "bad").write_bytes(content)
    dataset = tf.data.TFRecordDataset([bad, good]).apply(tf.data.experimental.ignore_errors())
    session, element = started(dataset)
    assert [session.run(element) for _ in range(2)] == [b"record 0", b"record 1"]


@pytest.mark.parametrize("kind", ["TFRecordDataset", "TextLineDataset", "csv"])
def test_a_file_that_vanished_is_named(tmp_path, kind):
    first, second = records(tmp_path / "first", 1), str(tmp_path / "second")
    if kind == "csv":
        dataset = tf.data.experimental.CsvDataset([first, second], [tf.string])
    else:
        dataset = getattr(tf.data, kind)([first, second])
    session, element = started(dataset)
    session.run(element)
    with pytest.raises(tf.errors.NotFoundError, match="second; No such file"):
        while True:
            session.run(element)


def test_a_row_that_cannot_be_read_is_followed_by_others(tmp_path):
    (tmp_path / "table.csv").write_text("1\ntwo\n3\n")
    session, element = started(
        tf.data.experimental.CsvDataset(str(tmp_path / "table.csv"), [tf.int32])
    )
    assert session.run(element) == (1,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a valid int32: two"):
        session.run(element)
    assert session.run(element) == (3,)


def test_a_query_with_a_mistake_says_so(tmp_path):
    dataset = tf.data.experimental.SqlDataset(
        "sqlite", str(tmp_path / "empty.db"), "SELECT * FROM people", (tf.int32,)
    )
    session, element = started(dataset)
    with pytest.raises(tf.errors.UnknownError, match="no such table: people"):
        session.run(element)


def test_closing_the_session_ends_a_wait_and_all_threads():
    held = threading.Event()

    def wait(x):
        held.wait(20)
        return x

    dataset = Dataset.range(9).map(lambda x: tf.py_func(wait, [x], tf.int64), 2).prefetch(2)
    session, element = started(dataset)
    failures = []

    def run():
        try:
            session.run(element)
        except tf.errors.CancelledError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.2)
    session.close()
    thread.join(5)
    assert failures and not thread.is_alive()
    held.set()
    assert ended()


def test_an_iterator_that_starts_anew_ends_its_threads():
    iterator = tf.data.make_initializable_iterator(Dataset.range(100).repeat().prefetch(4))
    element = iterator.get_next()
    with tf.Session() as session:
        for _ in range(4):
            session.run(iterator.initializer)
            session.run(element)
        last = time.monotonic() + 60
        while len(pipeline_threads()) > 1 and time.monotonic() < last:
            time.sleep(0.01)
        assert len(pipeline_threads()) == 1
    assert ended()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_a_wait_for_an_element():
    program = """
        import os, time
        import stillflow as tf

        def slow(x):
            os.write(1, b"waiting\\n")
            time.sleep(2)
            return x

        dataset = tf.data.Dataset.range(3).map(lambda x: tf.py_func(slow, [x], tf.int64), 2)
        element = tf.data.make_one_shot_iterator(dataset.prefetch(1)).get_next()
        with tf.Session() as session:
            try:
                session.run(element)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "interrupted" in out
    assert process.returncode == 0


@pytest.mark.parametrize("kind", ["generator", "map", "parallel map"])
def test_nothing_is_called_any_more_for_closed_sessions(kind):
    made: list[int] = []

    def make():
        time.sleep(0.002)
        made.append(len(made))
        return np.int64(made[-1])

    def generate():
        while True:
            yield make()

    if kind == "generator":
        dataset = Dataset.from_generator(generate, tf.int64)
    else:
        several = 2 if kind == "parallel map" else None
        dataset = Dataset.range(10**6).map(lambda i: tf.py_func(make, [], tf.int64), several)
    session, element = started(dataset.batch(100).prefetch(100))
    session.run(element)  # the next batch is being made
    session.close()
    for _ in range(50):  # calls that had begun may end later
        before = len(made)
        time.sleep(0.1)
        if len(made) == before:
            break
    else:
        raise AssertionError(f"{len(made)} calls, and no end of them")
