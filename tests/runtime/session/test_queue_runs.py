"""Queue runners that read, compute and put in several elements at once."""

from __future__ import annotations

import time

import pytest

import stillflow as tf
from stillflow.runtime.loops.rows import RowPlan

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def together(monkeypatch):
    """Return a list with the numbers of elements computed at once."""
    lengths = []
    compute = RowPlan.__call__

    def noting(self, *columns):
        found = compute(self, *columns)
        lengths.append(len(found))
        return found

    monkeypatch.setattr(RowPlan, "__call__", noting)
    return lengths


def write(path, numbers, odd=None):
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for number in numbers:
            example = tf.train.Example()
            size = 3 if number == odd else 1
            example.features.feature["number"].int64_list.value.extend([number] * size)
            writer.write(example.SerializeToString())
    return str(path)


class Pipeline:
    """A reader of files, and a queue of the numbers in them that one thread fills."""

    def __init__(self, names, capacity=32):
        self.names = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
        self.reader = tf.TFRecordReader()
        _, text = self.reader.read(self.names)
        parsed = tf.parse_single_example(text, {"number": tf.FixedLenFeature([], tf.int64)})
        self.queue = tf.FIFOQueue(capacity, tf.int64, [])
        self.runner = tf.train.QueueRunner(
            self.queue, [self.queue.enqueue(tf.cast(parsed["number"] * 2, tf.int64))]
        )
        self.next = self.queue.dequeue()
        self.produced = self.reader.num_records_produced()
        self.finished = self.reader.num_work_units_completed()
        self.size = self.queue.size()
        self.session = tf.Session()
        self.session.run(tf.local_variables_initializer())
        self.coord = tf.train.Coordinator()

    def start(self):
        self.producer = tf.train.start_queue_runners(self.session, self.coord)
        self.threads = self.runner.create_threads(self.session, self.coord, start=True)

    def take(self, count):
        return [self.session.run(self.next) // 2 for _ in range(count)]

    def wait_until_full(self, size):
        for _ in range(1000):
            if self.session.run(self.size) == size:
                break
            time.sleep(0.01)
        time.sleep(0.05)
        assert self.session.run(self.size) == size


def test_one_thread_keeps_the_order_of_all_files(tmp_path, together, cpu):
    starts = range(0, 150, 50)
    names = [write(tmp_path / f"{i}", range(i, i + 50)) for i in starts]
    pipeline = Pipeline(names)
    pipeline.start()
    assert pipeline.take(150) == list(range(150))
    with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
        pipeline.take(1)
    assert max(together) > 8
    pipeline.coord.request_stop()
    pipeline.coord.join([*pipeline.producer, *pipeline.threads])


def test_counts_are_those_of_single_turns(tmp_path, together, cpu):
    pipeline = Pipeline([write(tmp_path / "a", range(100)), write(tmp_path / "b", range(100))], 10)
    pipeline.start()
    for taken in (0, 15, 30):
        pipeline.take(taken)
        pipeline.wait_until_full(10)
        done = sum((0, 15, 30)[: (0, 15, 30).index(taken) + 1])
        # The queue's elements, and the one that waits to come in.
        assert pipeline.session.run(pipeline.produced) == done + 11
        assert pipeline.session.run(pipeline.finished) == 0
    assert together
    pipeline.coord.request_stop()
    pipeline.coord.join([*pipeline.producer, *pipeline.threads])


def test_records_whose_turn_did_not_come_are_read_by_the_next_one(tmp_path, together, cpu):
    pipeline = Pipeline([write(tmp_path / "a", range(100))], 10)
    pipeline.start()
    taken = pipeline.take(30)
    pipeline.wait_until_full(10)
    pipeline.coord.request_stop()
    pipeline.coord.join([*pipeline.producer, *pipeline.threads])
    assert together
    _, following = pipeline.reader.read(pipeline.names)
    number = tf.parse_single_example(following, {"number": tf.FixedLenFeature([], tf.int64)})
    assert taken == list(range(30))
    assert pipeline.session.run(number["number"]) == 41


def test_a_record_that_is_wrong_fails_in_its_turn(tmp_path):
    pipeline = Pipeline([write(tmp_path / "a", range(60), odd=40)], 100)
    pipeline.start()
    refusal = r"Key: number(?s:.*)ParseSingleExample"
    with pytest.raises(tf.errors.InvalidArgumentError, match=refusal):
        pipeline.coord.join(pipeline.threads)
    assert pipeline.session.run(pipeline.produced) == 41
    assert pipeline.session.run(pipeline.size) == 40


def test_a_damaged_record_fails_after_those_before_it(tmp_path):
    path = write(tmp_path / "a", range(60))
    data = bytearray((tmp_path / "a").read_bytes())
    data[len(data) // 2 + 3] ^= 1
    (tmp_path / "a").write_bytes(data)
    pipeline = Pipeline([path], 100)
    pipeline.start()
    with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
        pipeline.coord.join(pipeline.threads)
    assert pipeline.session.run(pipeline.size) == pipeline.session.run(pipeline.produced) == 30


def test_a_program_with_effects_takes_single_turns(tmp_path, together):
    path = write(tmp_path / "a", range(60))
    names = tf.train.string_input_producer([path], num_epochs=1)
    key, _ = tf.TFRecordReader().read(names)
    count = tf.Variable(0)
    with tf.control_dependencies([tf.assign_add(count, 1)]):
        batch = tf.train.batch([tf.identity(key)], 20)
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), count.initializer])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(3):
            session.run(batch)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
        assert session.run(count) >= 60
    assert not together


def test_closing_the_session_ends_the_threads(tmp_path, together):
    pipeline = Pipeline([write(tmp_path / "a", range(100))], 10)
    pipeline.start()
    pipeline.take(20)
    pipeline.wait_until_full(10)
    pipeline.session.close()
    for thread in pipeline.threads:
        thread.join(10) if not thread.name.endswith("close_on_stop") else None
    assert not any(
        thread.is_alive() for thread in pipeline.threads if "close_on_stop" not in thread.name
    )
