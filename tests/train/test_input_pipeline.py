"""Whole input pipelines: files, readers, queues, batches, threads that end together."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def write_records(path, numbers):
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for number in numbers:
            example = tf.train.Example()
            example.features.feature["number"].int64_list.value.append(number)
            writer.write(example.SerializeToString())


def numbers_in_batches(names, epochs, size=10, threads=2):
    """Batches of the numbers in the files, shuffled."""
    queue = tf.train.string_input_producer(names, num_epochs=epochs)
    _, text = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(text, {"number": tf.FixedLenFeature([], tf.int64)})
    return tf.train.shuffle_batch(
        [parsed["number"]], size, 200, 50, num_threads=threads, allow_smaller_final_batch=True
    )


def run_to_the_end(batch, take):
    """Run the pipeline until its input ends; give the threads."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while not coord.should_stop():
                take(sess.run(batch))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
    return threads


def test_every_example_comes_once_per_epoch(tmp_path):
    names = [str(tmp_path / f"{i}.tfrecord") for i in range(3)]
    for i, name in enumerate(names):
        write_records(name, range(i * 40, i * 40 + 40))
    seen = Counter()
    threads = run_to_the_end(numbers_in_batches(names, 2), lambda b: seen.update(b.tolist()))
    assert seen == Counter(dict.fromkeys(range(120), 2))
    assert not any(thread.is_alive() for thread in threads)


def test_what_a_thread_meets_is_raised_by_join(tmp_path):
    missing = str(tmp_path / "gone.tfrecord")
    batch = numbers_in_batches([missing], None)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OpError):
            sess.run(batch)
        with pytest.raises(tf.errors.NotFoundError, match="gone"):
            coord.join(threads)
        assert not any(thread.is_alive() for thread in threads)


def test_a_corrupt_record_names_its_file(tmp_path):
    path = tmp_path / "bad.tfrecord"
    write_records(path, range(20))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(bytes(data))
    with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
        run_to_the_end(numbers_in_batches([str(path)], 1), lambda batch: None)


def test_a_session_closed_under_running_threads_ends_them(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    write_records(path, range(50))
    batch = numbers_in_batches([path], None)
    sess = tf.Session()
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    sess.run(batch)
    sess.close()
    for thread in threads[:-1]:
        thread.join(1)
    coord.request_stop()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_lines_of_text_become_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("head\n1,a\n2,b\n3,c\n")
    queue = tf.train.string_input_producer([str(path)], num_epochs=1)
    key, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    number, text = tf.decode_csv(line, [[0], [""]])
    batch = tf.train.batch([key, number, text], 2, allow_smaller_final_batch=True)
    rows = []
    run_to_the_end(batch, lambda b: rows.extend(zip(*(part.tolist() for part in b), strict=True)))
    keys = [f"{path}:{n}".encode() for n in (2, 3, 4)]
    assert rows == list(zip(keys, [1, 2, 3], [b"a", b"b", b"c"], strict=True))


def test_a_malformed_example_ends_the_pipeline(tmp_path):
    path = tmp_path / "bad.tfrecord"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\x0a\xffno example")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example"):
        run_to_the_end(numbers_in_batches([str(path)], 1), lambda batch: None)


def test_an_undecodable_image_ends_the_pipeline(tmp_path):
    names = [str(tmp_path / f"{i}.jpg") for i in range(2)]
    for name in names:
        with open(name, "wb") as file:
            file.write(b"\xff\xd8\xff, and then no picture")
    queue = tf.train.string_input_producer(names, num_epochs=1)
    _, contents = tf.WholeFileReader().read(queue)
    image = tf.image.resize_images(tf.image.decode_jpeg(contents, channels=3), [4, 4])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        run_to_the_end(tf.train.batch([image], 2), lambda batch: None)


def test_epochs_of_a_whole_pipeline_stay_apart_in_order(tmp_path):
    """Without shuffling, files come in order, epoch after epoch, each example once in each."""
    names = [str(tmp_path / f"{i}.tfrecord") for i in range(4)]
    for i, name in enumerate(names):
        write_records(name, range(i * 25, i * 25 + 25))
    queue = tf.train.string_input_producer(names, num_epochs=3, shuffle=False)
    _, text = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(text, {"number": tf.FixedLenFeature([], tf.int64)})
    batch = tf.train.batch([parsed["number"]], 7, allow_smaller_final_batch=True)
    found = []
    run_to_the_end(batch, lambda numbers: found.extend(numbers.tolist()))
    assert found == [*range(100)] * 3


SOAK = [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", SOAK)
def test_soak_with_threads_that_come_and_go(count):
    """Memory stays flat, and each example comes once."""
    import resource

    piece = 500
    queue = tf.FIFOQueue(5000, tf.int64, shapes=[[]])
    first = tf.placeholder(tf.int64, [])
    put = queue.enqueue_many(tf.range(first, first + piece))
    take, close = queue.dequeue_up_to(1000), queue.close()
    seen = bytearray(count)
    grown = []

    with tf.Session() as sess:

        def fill(start, stop):
            for place in range(start, stop, piece):
                sess.run(put, {first: place})

        def fill_all():
            for start in range(0, count, count // 20):  # one thread after the other
                thread = threading.Thread(target=fill, args=(start, start + count // 20))
                thread.start()
                thread.join()
            sess.run(close)

        filler = threading.Thread(target=fill_all)
        filler.start()
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                for number in sess.run(take).tolist():
                    assert not seen[number]
                    seen[number] = 1
                grown.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        filler.join()
    assert sum(seen) == count
    assert grown[-1] - grown[len(grown) // 5] < 64 << 10  # kB
