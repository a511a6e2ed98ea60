"""Summaries of `tf.compat.v2.summary` by kind: graphs, and the events in the files."""

from __future__ import annotations

import numpy as np
from tests.golden.event_files import empty_directory, events_in
from tests.golden.registry import Run, eagerly, program, raised


def named_writer(tf):
    """Return a writer whose file's name has no process in it, as that of TensorFlow 2 has."""
    return tf.contrib.summary.create_file_writer("logs", max_queue=0, name="writer")


def writes(tf, build):
    """Return a run whose events are those that `build(summary)` writes into a new file."""
    writer = named_writer(tf)
    with writer.as_default():
        build(tf.compat.v2.summary)
    operations = tf.compat.v1.summary.all_v2_summary_ops()
    setup, closing = writer.init(), writer.close()

    def call(session):
        with empty_directory():
            session.run(setup)
            for each in operations:  # together they take any order
                session.run(each)
            session.run(closing)
            return {"events": events_in(tf)}

    return Run(call=call, facts={"names": [each.name for each in operations]})


@program
def numbers(tf):
    def build(summary):
        summary.scalar("float", 2.5, step=1)
        summary.scalar("a b/c?", tf.constant(3, tf.int64), step=2, description="*three*")
        with tf.name_scope("outer"):
            summary.scalar("inner", True, tf.constant(7, tf.int64))

    return writes(tf, build)


@program
def histograms(tf):
    def build(summary):
        summary.histogram("many", np.arange(40.0).reshape(4, 10) ** 2, step=1)
        summary.histogram("few", tf.constant([1, 5, 2, 2]), step=1, buckets=3)
        summary.histogram("same", [2.0, 2.0], step=2, description="one number")
        summary.histogram("none", np.zeros([0], np.float32), step=3)

    return writes(tf, build)


@program
def pictures(tf):
    def build(summary):
        summary.image("grey", np.linspace(0, 1, 24).reshape(4, 2, 3, 1).astype("f"), step=1)
        summary.image("colours", np.arange(12, dtype="u1").reshape(1, 2, 2, 3), 1, max_outputs=2)
        summary.image("none", np.zeros([0, 2, 2, 3], "u1"), step=1, description="nothing")

    return writes(tf, build)


@program
def sounds(tf):
    def build(summary):
        waves = np.sin(np.arange(24.0)).reshape(4, 3, 2).astype("f")
        summary.audio("waves", waves, 8000, step=1)
        summary.audio("one", waves, tf.constant(100), 1, 1, "wav", "short")

    return writes(tf, build)


@program
def texts(tf):
    def build(summary):
        summary.text("one", "*word*", step=1)
        summary.text("table", tf.constant([["a", "b"]]), step=1, description="letters")

    return writes(tf, build)


@program
def refused(tf):
    summary = tf.compat.v2.summary
    found = {
        "no scalar": raised(summary.scalar, "s", [1.0], step=1),
        "rank of pictures": raised(summary.image, "i", np.zeros([2, 2, 3], "f"), step=1),
        "rank of sounds": raised(summary.audio, "a", [[1.0]], 8000, step=1),
        "encoding": raised(summary.audio, "a", [[[1.0]]], 8000, step=1, encoding="mp3"),
        "no text": raised(summary.text, "t", 1, step=1),
    }
    with named_writer(tf).as_default():
        found["no step"] = raised(summary.scalar, "s", 1.0)
    return Run(facts=found)


@program
def at_once(tf):
    def compute(tf):
        summary = tf.compat.v2.summary
        with empty_directory():
            with named_writer(tf).as_default():
                found = [bool(summary.scalar("s", 1.5, step=1))]
                with summary.record_if(False):
                    found.append(bool(summary.scalar("s", 2.5, step=2)))
                summary.experimental.set_step(3)
                found.append(bool(summary.histogram("h", [1.0, 2.0, 4.0], buckets=2)))
                summary.experimental.set_step(None)
                summary.flush()
            found.append(bool(summary.scalar("s", 1.5, step=1)))
            return {"written": found, "events": events_in(tf)}

    return eagerly(tf, compute)
