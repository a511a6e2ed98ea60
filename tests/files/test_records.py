"""TFRecord files: TensorFlow's bytes, its errors, and nothing worse on damaged files."""

from __future__ import annotations

import importlib.util
import random
import struct
import threading
import tracemalloc
import zlib
from pathlib import Path

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files.crc32c import masked_crc32c
from stillflow.files.records import Cursor, open_records, read_records

pytestmark = pytest.mark.usefixtures("either_way")
HERE = Path(__file__).parent
RECORDED = HERE / "recorded" / "records"
_spec = importlib.util.spec_from_file_location("record_records", HERE / "record_records.py")
recorder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recorder)
CONTENTS = recorder.contents()
needs_zlib = pytest.mark.skipif(
    not zlib.ZLIB_RUNTIME_VERSION.startswith(("1.2", "1.3")) or "ng" in zlib.ZLIB_RUNTIME_VERSION,
    reason="another zlib packs otherwise",
)


def write(path, records, options=None):
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    return Path(path).read_bytes()


def read(path, kind=""):
    """Return the records before an error, and the error's class and first line."""
    found = []
    try:
        for record in read_records(str(path), kind):
            found.append(record)
    except errors.OpError as error:
        return found, (type(error).__name__, error.message.splitlines()[0])
    return found, None


def test_plain_files_have_the_bytes_that_tensorflow_writes(tmp_path):
    assert write(tmp_path / "f", CONTENTS) == (RECORDED / "plain").read_bytes()


@needs_zlib
@pytest.mark.parametrize("name", ["zlib", "gzip"])
def test_compressed_files_have_the_bytes_that_tensorflow_writes(tmp_path, name):
    written = write(tmp_path / "f", CONTENTS, recorder.KINDS[name])
    assert written == (RECORDED / name).read_bytes()


@needs_zlib
def test_flushing_gives_the_bytes_that_tensorflow_writes(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "f"), "ZLIB") as writer:
        for record in CONTENTS:
            writer.write(record)
            writer.flush()
    assert (tmp_path / "f").read_bytes() == (RECORDED / "flushed").read_bytes()


@needs_zlib
def test_options_reach_zlib(tmp_path):
    options = tf.io.TFRecordOptions(
        "GZIP",
        flush_mode=2,
        input_buffer_size=100,
        compression_level=9,
        mem_level=3,
        window_bits=31,
        compression_strategy=1,
    )
    assert write(tmp_path / "f", CONTENTS, options) == (RECORDED / "options").read_bytes()


@pytest.mark.parametrize(
    ("name", "kind"), [*recorder.KINDS.items(), ("flushed", "ZLIB"), ("options", "GZIP")]
)
def test_files_of_tensorflow_are_read(name, kind):
    assert list(read_records(str(RECORDED / name), kind)) == CONTENTS
    assert list(tf.python_io.tf_record_iterator(str(RECORDED / name), kind)) == CONTENTS


def test_an_example_of_tensorflow_is_read():
    [record] = read_records(str(RECORDED / "examples"))
    assert tf.train.Example.FromString(record) == recorder.example(tf)


def test_long_files_of_all_sizes_survive(tmp_path):
    noise = random.Random(0)
    sizes = [noise.choice([0, 3, 50, 50, 50, 1000, 70000, 300000]) for _ in range(150)]
    sizes += [100] * 5000
    records = [noise.randbytes(size) for size in sizes]
    for kind in ("", "GZIP"):
        write(tmp_path / "f", records, kind)
        assert list(read_records(str(tmp_path / "f"), kind)) == records


def test_a_truncated_file_gives_what_is_whole(tmp_path):
    records = [b"one", b"", b"three" * 3]
    data = write(tmp_path / "f", records)
    ends = [0, 19, 35, 66]
    assert ends[-1] == len(data)
    for cut in range(len(data)):
        (tmp_path / "f").write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends) - 1
        found, error = read(tmp_path / "f")
        assert found == records[:whole]
        # TensorFlow takes a header cut off for the end of the file.
        if cut - ends[whole] < 12:
            assert error is None
        else:
            assert error == ("DataLossError", f"truncated record at {ends[whole]}")


@pytest.mark.parametrize("name", ["zlib", "gzip"])
def test_a_truncated_compressed_file_gives_what_is_whole(tmp_path, name):
    data = (RECORDED / name).read_bytes()
    for cut in range(len(data)):
        (tmp_path / "f").write_bytes(data[:cut])
        found, error = read(tmp_path / "f", recorder.KINDS[name])
        assert found == CONTENTS[: len(found)]
        assert error is None or error[0] == "DataLossError"


def test_every_flipped_bit_is_found(tmp_path):
    records = [b"one", b"", b"three" * 3]
    data = write(tmp_path / "f", records)
    starts = [0, 19, 35, 66]
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / "f").write_bytes(damaged)
        index = sum(start <= bit // 8 for start in starts) - 1
        place = starts[index] + (0 if bit // 8 - starts[index] < 12 else 12)
        assert read(tmp_path / "f") == (
            records[:index],
            ("DataLossError", f"corrupted record at {place}"),
        )


def test_a_damaged_header_at_the_end_is_told(tmp_path):
    data = write(tmp_path / "f", [b"one"])
    (tmp_path / "f").write_bytes(data + data[:11] + b"!")
    assert read(tmp_path / "f") == ([b"one"], ("DataLossError", "corrupted record at 19"))


@pytest.mark.parametrize("name", ["plain", "zlib", "gzip"])
def test_flipped_bits_never_give_wrong_records(tmp_path, name):
    data = (RECORDED / name).read_bytes()
    noise = random.Random(name)
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(noise.randrange(1, 4)):
            damaged[noise.randrange(len(data))] ^= 1 << noise.randrange(8)
        (tmp_path / "f").write_bytes(damaged)
        found, error = read(tmp_path / "f", recorder.KINDS[name])
        assert found == CONTENTS[: len(found)]
        assert error is None or error[0] == "DataLossError"


@pytest.mark.parametrize("length", [1 << 20, 1 << 40, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 13])
@pytest.mark.parametrize("kind", ["", "ZLIB"])
def test_a_hostile_length_takes_no_memory(tmp_path, length, kind):
    encoded = struct.pack("<Q", length)
    data = encoded + struct.pack("<I", masked_crc32c(encoded)) + b"x" * 1000
    (tmp_path / "f").write_bytes(zlib.compress(data) if kind else data)
    tracemalloc.start()
    assert read(tmp_path / "f", kind) == ([], ("DataLossError", "truncated record at 0"))
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_an_error_names_the_file_and_says_what_it_is(tmp_path):
    path = str(RECORDED / "gzip")
    with pytest.raises(errors.DataLossError, match=r"^corrupted record at 0\s.*\s.*a gzip file"):
        list(read_records(path))
    with pytest.raises(errors.DataLossError, match=r"inflate\(\) failed with error -3: unknown"):
        list(read_records(str(RECORDED / "plain"), "ZLIB"))


def test_what_is_missing_or_no_file_is_told_as_tensorflow_tells_it(tmp_path):
    missing = str(tmp_path / "no")
    with pytest.raises(errors.NotFoundError, match=f"^{missing}; No such file or directory$"):
        list(read_records(missing))
    with pytest.raises(errors.FailedPreconditionError, match="; Is a directory"):
        list(read_records(str(tmp_path)))
    with pytest.raises(errors.NotFoundError, match="; No such file or directory"):
        tf.io.TFRecordWriter(str(tmp_path / "no" / "f"))


def test_only_bytes_are_written(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "f")) as writer:
        with pytest.raises(TypeError, match="expected bytes, str found"):
            writer.write("text")
        writer.write(bytearray(b"array"))
    assert list(read_records(str(tmp_path / "f"))) == [b"array"]


def test_a_closed_writer_refuses(tmp_path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "f"))
    writer.close()
    writer.close()
    for use in (writer.flush, lambda: writer.write(b"x")):
        with pytest.raises(errors.FailedPreconditionError, match="previously closed"):
            use()


def test_a_writer_that_is_forgotten_writes_what_it_was_given(tmp_path):
    for kind in ("", "GZIP"):
        writer = tf.io.TFRecordWriter(str(tmp_path / "f"), kind)
        writer.write(b"kept")
        del writer
        assert list(read_records(str(tmp_path / "f"), kind)) == [b"kept"]


def test_flushed_records_can_be_read_at_once(tmp_path):
    for kind in ("", "ZLIB", "GZIP"):
        with tf.io.TFRecordWriter(str(tmp_path / "f"), kind) as writer:
            writer.write(b"one")
            writer.flush()
            assert list(read_records(str(tmp_path / "f"), kind)) == [b"one"]


def test_records_of_several_threads_do_not_mix(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "f")) as writer:

        def work(mark):
            for count in range(500):
                writer.write(bytes([mark]) * (count % 97 + 1))

        threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = list(read_records(str(tmp_path / "f")))
    assert len(found) == 2000
    assert all(len(set(record)) == 1 for record in found)


def test_wrong_compression_types_and_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match='Not a valid compression_type: "FOO"'):
        tf.io.TFRecordOptions("FOO")
    for options in ({"compression_level": 12}, {"window_bits": 3}, {"mem_level": 40}):
        with pytest.raises(errors.InvalidArgumentError, match="deflateInit failed"):
            tf.io.TFRecordWriter(str(tmp_path / "f"), tf.io.TFRecordOptions("ZLIB", **options))


def test_reading_can_begin_at_a_record(tmp_path):
    write(tmp_path / "f", [b"one", b"two", b"three"])
    with open_records(str(tmp_path / "f")) as file:
        assert list(Cursor(file, "f", offset=19)) == [b"two", b"three"]
