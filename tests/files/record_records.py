"""Writes recorded/records/ with a real TensorFlow 1.15.5: python tests/files/record_records.py."""

from __future__ import annotations

import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "recorded", "records")
KINDS = {"plain": "", "zlib": "ZLIB", "gzip": "GZIP"}


def contents():
    """Return the records of every file: empty, short, longer than a buffer, all bytes."""
    noise = random.Random(5)
    mixed = bytes(noise.randrange(4) for _ in range(900))
    return [b"", b"one", bytes(range(256)), b"\0" * 3000, mixed, b"one", b"\n"]


def example(tf):
    """Return an example with a feature of every kind."""
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"\xff\x00", b"x"])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 1 << 40])),
                "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
                "nothing": tf.train.Feature(),
            }
        )
    )


def main():
    import tensorflow as tf

    os.makedirs(RECORDED, exist_ok=True)
    for name, kind in KINDS.items():
        with tf.python_io.TFRecordWriter(os.path.join(RECORDED, name), kind) as writer:
            for record in contents():
                writer.write(record)
    with tf.python_io.TFRecordWriter(os.path.join(RECORDED, "flushed"), "ZLIB") as writer:
        for record in contents():
            writer.write(record)
            writer.flush()
    options = tf.python_io.TFRecordOptions(
        "GZIP",
        flush_mode=2,
        input_buffer_size=100,
        compression_level=9,
        mem_level=3,
        window_bits=31,
        compression_strategy=1,
    )
    with tf.python_io.TFRecordWriter(os.path.join(RECORDED, "options"), options) as writer:
        for record in contents():
            writer.write(record)
    with tf.python_io.TFRecordWriter(os.path.join(RECORDED, "examples")) as writer:
        writer.write(example(tf).SerializeToString())
    events = tf.summary.FileWriter(RECORDED, filename_suffix=".recorded")
    events.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.25)]), 7)
    events.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 8)
    events.close()
    os.replace(events.event_writer._ev_writer.FileName(), os.path.join(RECORDED, "events"))


if __name__ == "__main__":
    main()
