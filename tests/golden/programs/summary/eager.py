"""Eager execution: summaries that are written at once, and the writers of them."""

from __future__ import annotations

import re

from tests.golden.event_files import empty_directory, events_in
from tests.golden.registry import eagerly, program, raised


def logged(compute):
    """Return the result of `compute` in eager execution, and its events."""

    def call(tf):
        with empty_directory():
            given = compute(tf) or {}
            files = events_in(tf).items()
            shown = {
                re.sub(r"\.\d+\.\d+\.v2", ".PROCESS.NUMBER.v2", name): it for name, it in files
            }
            return {"files": shown, "given": given}

    return call


@program
def at_every_second_step(tf):
    @logged
    def compute(tf):
        summary = tf.contrib.summary
        step = tf.Variable(0, dtype=tf.int64)
        writer = summary.create_file_writer("logs")
        wanted = []
        with writer.as_default(), summary.record_summaries_every_n_global_steps(2, step):
            for number in range(5):
                step.assign_add(1)
                summary.scalar("loss", float(number), step=step)
                with tf.name_scope("scope"):
                    summary.scalar("loss", tf.constant(2.0), family="family", step=step)
                wanted.append(bool(summary.should_record_summaries().numpy()))
        writer.close()
        return {"wanted": wanted}

    return eagerly(tf, compute)


@program
def of_every_kind(tf):
    @logged
    def compute(tf):
        summary = tf.contrib.summary
        writer = summary.create_file_writer("logs", max_queue=0, filename_suffix=".s")
        with writer.as_default(), summary.always_record_summaries():
            summary.scalar("a", 1, step=9)
            summary.histogram("b", [1.0, 2.0, 2.0], step=1)
            summary.image("c", tf.fill([2, 2, 2, 3], 0.5), max_images=1, step=2)
            summary.audio("d", tf.zeros([1, 4]), 8000, 1, step=3)
            shown = tf.SummaryMetadata(display_name="shown")
            summary.generic("e", tf.constant(["x"]), shown, step=4)
            summary.graph(tf.GraphDef(node=[tf.NodeDef(name="n", op="NoOp")]), 3)
            with summary.never_record_summaries():
                summary.scalar("f", 1.0, step=5)
        writer.close()

    return eagerly(tf, compute)


@program
def nothing_to_collect(tf):
    @logged
    def compute(tf):
        summary = tf.contrib.summary
        writer = summary.create_file_writer("logs")
        with writer.as_default(), summary.always_record_summaries():
            summary.scalar("a", 1.0, step=1)
            found = [repr(summary.all_summary_ops()), repr(summary.initialize())]
        writer.close()
        return {"found": found, "setup": raised(summary.summary_writer_initializer_op)}

    return eagerly(tf, compute)


@program
def closed_writers(tf):
    @logged
    def compute(tf):
        writer = tf.compat.v2.summary.create_file_writer("logs", name="w")
        with writer.as_default():
            tf.compat.v2.summary.write("a", 1.0, step=1)
        calls = (writer.flush, writer.close, writer.close, writer.flush)
        return {
            "returned": [repr(call()) for call in calls], "init": raised(writer.init),
            "default": raised(writer.set_as_default),
            "context": raised(writer.as_default().__enter__),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def tensors_that_a_writer_cannot_take(tf):
    @logged
    def compute(tf):
        create = tf.compat.v2.summary.create_file_writer

        def message(error):
            return [line.strip() for line in str(error).splitlines() if "Invalid graph" in line]

        found = {}
        for name, arguments in (("folder", (tf.constant("x"),)), ("queue", ("x", tf.constant(3)))):
            try:
                tf.function(lambda *given: create(*given))(*arguments)
            except ValueError as error:
                found[name] = message(error)
        with tf.Graph().as_default():
            late = tf.constant("x")
        found["outside"] = raised(create, late)
        return found

    return eagerly(tf, compute)


@program
def a_name_is_free_when_its_writer_is_gone(tf):
    @logged
    def compute(tf):
        create = tf.contrib.summary.create_file_writer
        first = create("first", name="w")
        second = create("second", name="w")  # the same resource
        found = [tf.gfile.Exists(folder) for folder in ("first", "second")]
        del first
        third = create("third", name="w")
        found.append(tf.gfile.Exists("third"))
        with second.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("loss", 1.0, step=1)
        third.flush()
        return {"found": found}

    return eagerly(tf, compute)
