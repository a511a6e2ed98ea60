"""Event files, byte for byte but the times: what writers, hooks and supervisors put into them."""

from __future__ import annotations

import os

import numpy as np
from tests.golden.event_files import empty_directory, events_in
from tests.golden.registry import Run, describe_error, program, raised


def logs(tf, write, **keywords):
    """Return a run whose value is what `write(session, writer)` leaves in a folder."""

    def call(session):
        with empty_directory():
            with tf.summary.FileWriter("logs", **keywords) as writer:
                extra = write(session, writer)
            return {"files": events_in(tf), "extra": extra or {}}

    return Run(call=call)


def scalar(tf, tag="t", value=1.0, **metadata):
    kept = tf.SummaryMetadata(**metadata) if metadata else None
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value, metadata=kept)])


@program
def summaries_of_steps(tf):
    x = tf.placeholder(tf.float32, [])
    merged = tf.summary.merge([tf.summary.scalar("x", x), tf.summary.histogram("h", [x, 2 * x])])

    def write(session, writer):
        for step, value in enumerate([0.0, -1.5, 1e30]):
            writer.add_summary(session.run(merged, {x: value}), step)
        writer.add_summary(session.run(merged, {x: 3.0}))
        writer.add_summary(session.run(merged, {x: 3.0}), np.int64(2**40))

    return logs(tf, write)


@program
def messages_made_by_hand(tf):
    def write(session, writer):
        writer.add_summary(scalar(tf), 1)
        writer.add_summary(scalar(tf, "", 0.0), 0)
        writer.add_summary(tf.Summary(), 2)
        writer.add_summary(tf.Summary(value=[
            tf.Summary.Value(tag="a", simple_value=1), tf.Summary.Value(tag="a", simple_value=2),
            tf.Summary.Value(node_name="n", histo=tf.HistogramProto(min=1, bucket=[1, 2])),
            tf.Summary.Value(tag="picture", image=tf.Summary.Image(
                height=1, width=2, colorspace=3, encoded_image_string=b"png")),
        ]), -3)

    return logs(tf, write)


@program
def metadata_are_written_once(tf):
    described = {"display_name": "shown", "summary_description": "text"}

    def write(session, writer):
        for step in range(3):
            writer.add_summary(scalar(tf, "a", step, **described), step)
        writer.add_summary(scalar(tf, "b", 0, **described), 3)
        both = scalar(tf, "c", 0, **described)
        both.MergeFrom(scalar(tf, "c", 1, **described))
        writer.add_summary(both, 4)

    return logs(tf, write)


@program
def texts(tf):
    words = tf.summary.text("words", tf.constant([["a", "*b*"], ["c", ""]]))
    plain = tf.summary.tensor_summary("plain", tf.constant([1.0]), display_name="d")
    merged = tf.summary.merge([words, plain])

    def write(session, writer):
        for step in range(2):
            writer.add_summary(session.run(merged), step)

    return logs(tf, write)


@program
def events_as_they_are(tf):
    def write(session, writer):
        writer.add_event(tf.Event(wall_time=5.0, step=6, summary=scalar(tf)))
        writer.add_event(tf.Event(wall_time=5.0))
        writer.add_event(tf.Event(wall_time=5.0, file_version="x"))
        writer.add_event(tf.Event(wall_time=5.0, log_message=tf.LogMessage(message="m", level=20)))

    return logs(tf, write)


@program
def sessions_are_logged(tf):
    log = tf.SessionLog

    def write(session, writer):
        writer.add_session_log(log(status=log.START), 1)
        writer.add_session_log(log(status=log.CHECKPOINT, checkpoint_path="p", msg="m"), 2)
        writer.add_session_log(log(status=log.STOP))

    return logs(tf, write)


def small_graph(tf):
    graph = tf.Graph()
    with graph.as_default(), graph.name_scope("scope"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.relu(x, name="relu")
    return graph


@program
def graphs(tf):
    graph = small_graph(tf)

    def write(session, writer):
        writer.add_graph(graph, 4)
        writer.add_graph(graph.as_graph_def())
        writer.add_graph(None, graph_def=graph)

    return [logs(tf, write), logs(tf, lambda session, writer: None, graph=small_graph(tf)),
            logs(tf, lambda session, writer: None, graph_def=small_graph(tf).as_graph_def())]


@program
def graphs_refused(tf):
    graph = small_graph(tf)

    def write(session, writer):
        meta = tf.MetaGraphDef()
        writer.add_meta_graph(meta, 1)
        return {
            "neither": raised(writer.add_graph, "graph"),
            "both": raised(writer.add_graph, graph, graph_def=graph.as_graph_def()),
            "nothing": raised(writer.add_graph, None),
            "no meta graph": raised(writer.add_meta_graph, "meta"),
        }

    return logs(tf, write)


@program
def traces(tf):
    metadata = tf.RunMetadata()
    node = metadata.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add()
    node.node_name, node.all_start_micros, node.all_end_rel_micros = "n", 5, 6

    def write(session, writer):
        writer.add_run_metadata(metadata, "first")
        writer.add_run_metadata(metadata, "second", 7)
        return {"again": raised(writer.add_run_metadata, metadata, "first")}

    return logs(tf, write)


@program
def names_of_files(tf):
    def write(session, writer):
        writer.add_summary(scalar(tf), 1)
        return {"folder": writer.get_logdir()}

    return [logs(tf, write, filename_suffix=".suffix"), logs(tf, write, max_queue=1),
            logs(tf, write, flush_secs=0)]


@program
def closed_and_opened_again(tf):
    def call(session):
        import warnings

        with empty_directory(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            writer = tf.summary.FileWriter("logs", filename_suffix=".a")
            writer.add_summary(scalar(tf), 1)
            writer.flush()
            flushed = events_in(tf)
            writer.close()
            writer.add_summary(scalar(tf), 2)
            writer.close()
            closed = events_in(tf)
            said = [str(each.message) for each in caught if "FileWriter" in str(each.message)]
            writer.reopen()
            writer.add_summary(scalar(tf), 3)
            writer.close()
            count = sum(len(events) for events in events_in(tf).values())
        return {"flushed": flushed, "closed": closed, "said": said, "in the end": count}

    return Run(call=call)


@program
def writers_are_kept(tf):
    def call(session):
        cache = tf.summary.FileWriterCache
        with empty_directory():
            cache.clear()
            first, second = cache.get("logs"), cache.get("logs")
            first.add_summary(scalar(tf), 1)
            other = cache.get("others")
            cache.clear()
            third = cache.get("logs")
            found = {"files": [len(events_in(tf, name)) for name in ("logs", "others")],
                     "same": first is second, "new": third is first, "folder": other.get_logdir()}
            cache.clear()
        return found

    return Run(call=call)


@program
def through_a_session(tf):
    x = tf.placeholder(tf.float32, [])
    summary = tf.summary.scalar("x", x)

    def call(session):
        with empty_directory():
            with session.graph.as_default():
                writer = tf.summary.FileWriter(
                    "logs", session=session, filename_suffix=".s", max_queue=100)
            writer.add_summary(session.run(summary, {x: 1.0}), 1)
            waiting = events_in(tf)
            writer.flush()
            flushed = events_in(tf)
            writer.close()
            writer.reopen()
            writer.add_summary(session.run(summary, {x: 2.0}), 2)
            writer.close()
            count = sum(len(events) for events in events_in(tf).values())
            names = [op.name for op in session.graph.get_operations() if "filewriter" in op.name]
        return {"waiting": waiting, "flushed": flushed, "in the end": count, "names": names}

    return Run(call=call)


@program
def through_a_session_by_default(tf):
    def call(session):
        with empty_directory():
            with session.graph.as_default():
                writer = tf.summary.FileWriter("logs", session=session)
            writer.add_summary(scalar(tf), 1)
            writer.close()
            return {"files": events_in(tf)}

    return Run(call=call)


@program
def folders_that_are_no_text(tf):
    def call(session):
        made = []
        with empty_directory():
            for folder in (None, 3, 2.5):
                with tf.summary.FileWriter(folder) as writer:
                    writer.add_summary(scalar(tf), 1)
                    made.append(writer.get_logdir())
            return {"folders": made, "files": events_in(tf, "."), "there": sorted(os.listdir("."))}

    return Run(call=call)


@program
def names_that_no_file_can_have(tf):
    def call(session):
        found = {}
        for name, suffix in (("a folder", "/none/such"), ("too long", "." + "z" * 300)):
            with empty_directory():
                writer = tf.summary.FileWriter("logs", filename_suffix=suffix)
                returned = [writer.add_summary(scalar(tf), 1), writer.flush(), writer.close()]
                found[name] = [repr(returned), repr(sorted(os.listdir("logs")))]
        return found

    return Run(call=call)


@program
def events_are_read(tf):
    def write(session, writer):
        for step in range(3):
            writer.add_summary(scalar(tf, value=step), step)
        writer.flush()
        (name,) = os.listdir("logs")
        path = os.path.join("logs", name)
        events = tf.train.summary_iterator(path)
        found = [(event.WhichOneof("what"), event.step) for event in events]
        with open(path, "rb") as file:
            whole = file.read()
        broken = {}
        for label, content in (("short", whole[:-3]), ("bent", whole[:-5] + b"?" + whole[-4:]),
                               ("no events", b"hello world, hello")):
            with open(label, "wb") as file:
                file.write(content)
            try:
                read = []
                for event in tf.train.summary_iterator(label):
                    read.append(event.step)
                broken[label] = read
            except Exception as error:
                broken[label] = describe_error(error)["class"]
        return {"found": [str(each) for each in found], "broken": broken}

    return logs(tf, write)


def hooked(tf, make, steps=5):
    """Return the events that the hook `make(step tensor)` writes while a step is counted."""

    def call(session):
        with empty_directory(), tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            more = tf.assign_add(step, 1)
            tf.summary.scalar("s", 2.0)
            tf.summary.histogram("h", [1.0, 2.0])
            with tf.train.SingularMonitoredSession(hooks=make(step)) as monitored:
                for _ in range(steps):
                    monitored.run(more)
            tf.summary.FileWriterCache.clear()
            return {"files": events_in(tf)}

    return Run(call=call)


@program
def hooks_that_save_summaries(tf):
    saver = tf.train.SummarySaverHook

    return [
        hooked(tf, lambda step: [saver(
            save_steps=2, output_dir="logs", summary_op=tf.summary.merge_all())]),
        hooked(tf, lambda step: [saver(
            save_steps=3, output_dir="logs", scaffold=tf.train.Scaffold())]),
        hooked(tf, lambda step: [saver(save_steps=1, output_dir="logs", summary_op=[
            tf.summary.scalar("one", 1.0), tf.summary.scalar("two", 2.0)])], steps=2),
    ]


@program
def hooks_refused(tf):
    saver = tf.train.SummarySaverHook
    op = tf.summary.scalar("s", 1.0)
    return Run(facts={
        "neither": raised(saver, save_steps=1),
        "both": raised(saver, save_steps=1, summary_op=op, scaffold=tf.train.Scaffold()),
        "no time": raised(saver, summary_op=op),
        "two times": raised(saver, save_steps=1, save_secs=1, summary_op=op),
    })


@program
def a_hook_with_a_writer_of_its_own(tf):
    class Writer:
        def __init__(self):
            self.said = []

        def add_summary(self, summary, step):
            tags = [value.tag for value in tf.Summary.FromString(summary).value]
            self.said.append((int(step), tags))

        def add_session_log(self, log, step):
            self.said.append((int(step), int(log.status)))

        def flush(self):
            self.said.append("flush")

    def call(session):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            more = tf.assign_add(step, 1)
            writer = Writer()
            hook = tf.train.SummarySaverHook(
                save_steps=2, summary_writer=writer, summary_op=tf.summary.scalar("s", 1.0))
            with tf.train.SingularMonitoredSession(hooks=[hook]) as monitored:
                for _ in range(4):
                    monitored.run(more)
        return {"said": [str(each) for each in writer.said]}

    return Run(call=call)


@program
def a_supervisor_logs(tf):
    def call(session):
        with empty_directory(), tf.Graph().as_default():
            tf.summary.scalar("s", 2.0)
            tf.train.get_or_create_global_step()
            supervisor = tf.train.Supervisor(
                logdir="logs", save_summaries_secs=0, save_model_secs=0)
            with supervisor.managed_session() as managed:
                supervisor.summary_computed(managed, managed.run(supervisor.summary_op), 7)
            files = {name: events for name, events in events_in(tf).items() if "tfevents" in name}
            sizes = [len(events) for events in files.values()]
            last = [events[-2:] for events in files.values()]
        return {"sizes": sizes, "last": last}

    return Run(call=call)
