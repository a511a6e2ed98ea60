"""Operations that write summaries themselves: graphs, and the events in the files."""

from __future__ import annotations

import numpy as np
from tests.golden.event_files import empty_directory, events_in
from tests.golden.registry import Run, describe_error, program, raised


def writes(tf, build, runs=1, feeds=None, **keywords):
    """Write the events of `build(summary)` into a new file, `runs` times."""
    summary = tf.contrib.summary
    writer = summary.create_file_writer("logs", max_queue=0, name="writer", **keywords)
    with writer.as_default(), summary.always_record_summaries():
        extra = build(summary) or []
    setup = summary.summary_writer_initializer_op()
    operations = summary.all_summary_ops()
    closing = writer.close()

    def call(session):
        with empty_directory():
            session.run(setup)
            session.run(tf.global_variables_initializer())
            for number in range(runs):
                feed = feeds[number] if feeds else None
                for each in operations + extra:  # together they take any order
                    session.run(each, feed)
            session.run(closing)
            return {"events": events_in(tf)}

    return Run(call=call, facts={"names": [each.name for each in operations]})


def refused(tf, build):
    """Return the error of running `build(summary)` with a writer."""
    summary = tf.contrib.summary
    writer = summary.create_file_writer("logs", max_queue=0, name="writer")
    with writer.as_default(), summary.always_record_summaries():
        operation = build(summary)
    setup = summary.summary_writer_initializer_op()

    def call(session):
        with empty_directory():
            session.run(setup)
            try:
                session.run(operation)
            except Exception as error:
                return {"error": describe_error(error)}
        raise AssertionError("nothing was raised")

    return Run(call=call)


@program
def numbers(tf):
    def build(summary):
        summary.scalar("float", 2.5, step=1)
        summary.scalar("large", tf.constant(1e300, tf.float64), step=2**40)
        summary.scalar("small", tf.constant(-3, tf.int8), step=-1)
        summary.scalar("first of several", tf.constant([4.0]), step=3)

    return writes(tf, build)


@program
def scopes_and_families(tf):
    def build(summary):
        with tf.name_scope("outer"):
            summary.scalar("a", 1.0, step=1)
            summary.scalar("a", 2.0, step=1)
            with tf.name_scope("inner"):
                summary.scalar("b c", 3.0, family="fam", step=1)
        summary.scalar("outer/a", 4.0, step=1)
        summary.histogram("h", [1.0], family="fam", step=1)

    return writes(tf, build)


@program
def global_steps(tf):
    step = tf.train.get_or_create_global_step()
    following = tf.assign_add(step, 3)

    def build(summary):
        with tf.control_dependencies([following]):
            summary.scalar("s", 1.0)
        return [following]

    return writes(tf, build, runs=3)


@program
def spreads(tf):
    x = tf.placeholder(tf.float32)
    rng = np.random.RandomState(5)
    feeds = [{x: rng.randn(100)}, {x: []}, {x: [0.0, -0.0, 1e30]}]

    def build(summary):
        summary.histogram("h", x, step=1)

    return writes(tf, build, 3, feeds)


@program
def spreads_of_integers(tf):
    def build(summary):
        for kind in (tf.int32, tf.uint8, tf.int64, tf.float64, tf.float16):
            summary.histogram(kind.name, tf.constant([1, 2, 2, 100], kind), step=1)

    return writes(tf, build)


@program
def sounds(tf):
    clip = np.sin(np.arange(12, dtype=np.float32)).reshape(2, 6)

    def build(summary):
        summary.audio("one", clip, 8000.0, 1, step=1)
        summary.audio("two", clip.reshape(2, 3, 2), tf.constant(44100.0), 2, step=2)

    return writes(tf, build)


@program
def tensors(tf):
    metadata = tf.SummaryMetadata(display_name="shown", summary_description="text")

    def build(summary):
        summary.generic("plain", tf.constant([[1, 2]]), step=1)
        summary.generic("text", tf.constant([b"a", b"\xff"]), metadata, step=1)
        summary.generic("bytes", 1.0, metadata.SerializeToString(), step=1, family="f")
        summary.generic("half", tf.constant([1.5], tf.float16), step=1)
        summary.generic("none", tf.zeros([0, 3]), step=1)

    return writes(tf, build)


@program
def conditions(tf):
    def build(summary):
        with summary.never_record_summaries():
            summary.scalar("never", 1.0, step=1)
        with summary.record_summaries_every_n_global_steps(2):
            summary.scalar("even", 1.0)
            summary.histogram("even h", [1.0])
        return [tf.assign_add(tf.train.get_global_step(), 1)]

    run = writes(tf, build, runs=3)
    run.facts["should"] = tf.contrib.summary.should_record_summaries().name
    return run


@program
def without_a_writer(tf):
    summary = tf.contrib.summary
    found = [summary.scalar("a", 1.0), summary.flush(), summary.graph(tf.constant(b"")),
             summary.audio("b", [[1.0]], 1.0, 1)]
    nothing = summary.create_file_writer(None)
    with nothing.as_default() as inside:
        found.append(summary.scalar("c", 1.0))
    return Run(facts={
        "operations": [each.type for each in found], "inside": inside is None,
        "init": nothing.init() is None, "close": nothing.close() is None,
        "no tensor": raised(summary.graph, 1),
        "not ready": raised(tf.summary.initialize),
        "folders": [summary.eval_dir("a"), summary.eval_dir("a", "b")],
    })


@program
def graphs_and_events(tf):
    event = tf.Event(step=7, wall_time=1.0, summary=tf.Summary(
        value=[tf.Summary.Value(tag="t", simple_value=1)]))
    graph = tf.GraphDef(node=[tf.NodeDef(name="n", op="NoOp")])

    def build(summary):
        return [summary.import_event(event.SerializeToString()),
                summary.graph(tf.constant(graph.SerializeToString()), step=3)]

    return writes(tf, build)


@program
def messages(tf):
    one = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1)]).SerializeToString()

    def build(summary):
        v2 = tf.compat.v2.summary
        v2.experimental.write_raw_pb([one, one], step=4)
        v2.experimental.set_step(9)
        v2.write("tag/any thing", tf.constant(1), name="chosen")
        with v2.record_if(False):
            v2.experimental.write_raw_pb(one)
        with v2.experimental.summary_scope("a b", values=[]) as (tag, _):
            v2.write(tag, 2.0, metadata=tf.SummaryMetadata(display_name="d"))
        v2.experimental.set_step(None)

    return writes(tf, build)


@program
def refused_values(tf):
    return [
        refused(tf, lambda summary: summary.scalar("s", tf.zeros([], tf.bfloat16), step=0)),
        refused(tf, lambda summary: summary.histogram("h", [1.0, np.nan], step=1)),
        refused(tf, lambda summary: summary.histogram("h", [-np.inf], step=1)),
        refused(tf, lambda summary: summary.image("i", np.zeros([1, 2, 3], "f"), step=1)),
        refused(tf, lambda summary: summary.audio("a", [[1.0]], 0.0, 1, step=1)),
        refused(tf, lambda summary: summary.import_event(b"\xff")),
        refused(tf, lambda summary: summary.graph(tf.constant(b"\xff"), step=1)),
        refused(tf, lambda summary: tf.raw_ops.WriteRawProtoSummary(
            writer=tf.raw_ops.SummaryWriter(shared_name="writer"), step=1, tensor=[b"", b"\xff"])),
        refused(tf, lambda summary: tf.raw_ops.WriteRawProtoSummary(
            writer=tf.raw_ops.SummaryWriter(shared_name="writer"), step=[1], tensor=b"")),
    ]


@program
def life_of_a_writer(tf):
    """Return a writer is shared by name.

    It has to be made, and can be made again once it is closed.
    """
    summary = tf.contrib.summary
    first = summary.create_file_writer("logs", flush_millis=10**6, filename_suffix=".a")
    second = summary.create_file_writer("logs", filename_suffix=".b")
    with first.as_default(), summary.always_record_summaries():
        write = summary.scalar("s", 1.0, step=1)
    init, flush, close = first.init(), second.flush(), second.close()

    def attempt(session, operation):
        try:
            session.run(operation)
        except Exception as error:
            return describe_error(error)
        return None

    def call(session):
        with empty_directory():
            found = {"early": [attempt(session, each) for each in (write, flush, close)]}
            session.run(init)
            session.run(init)
            session.run(write)
            found["waiting"] = events_in(tf)
            session.run(flush)
            found["flushed"] = events_in(tf)
            session.run(write)
            session.run(close)
            found["closed"] = events_in(tf)
            found["late"] = [attempt(session, each) for each in (write, flush, close)]
        return found

    return Run(call=call, facts={
        "initializers": len(summary.summary_writer_initializer_op()),
        "names": [each.name for each in tf.get_default_graph().get_operations()],
    })


@program
def the_graph_as_it_was_before_it_is_written(tf):
    writer = tf.contrib.summary.create_file_writer("logs", max_queue=0, name="writer")
    with writer.as_default(), tf.contrib.summary.always_record_summaries():
        tf.contrib.summary.scalar("a", 1.0, step=tf.constant(3, tf.int64))
    closing = writer.close()

    def call(session):
        with empty_directory(), writer.as_default():
            tf.contrib.summary.initialize(session.graph, session)
            session.run(closing)
            return {"events": events_in(tf)}

    return Run(call=call)


@program
def initialized_together(tf):
    summary = tf.contrib.summary
    writer = summary.create_file_writer("logs", max_queue=0)
    graph = tf.GraphDef(node=[tf.NodeDef(name="n", op="NoOp")])

    def call(session):
        with empty_directory(), writer.as_default():
            tf.summary.initialize(graph, session)
            return {"events": events_in(tf)}

    with writer.as_default():
        facts = {"no session": raised(tf.summary.initialize)}
    return Run(call=call, facts=facts)


@program
def names_of_databases(tf):
    create = tf.contrib.summary.create_db_writer
    return Run(facts={
        "experiment": raised(create, "file:x", experiment_name="\x00"),
        "run": raised(create, "file:x", "e", run_name="<"),
        "user": raised(create, "file:x", "e", "r", user_name="a b"),
        "made": type(create("file:x", "e", "r", "u", name="db")).__name__,
    })
