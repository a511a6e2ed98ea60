"""tf.summary.FileWriter and what belongs to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

import stillflow as tf
from stillflow import errors
from stillflow.summary import event_file_writer, plugin_asset
from stillflow.summary.old_writer import SummaryWriter

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def events(folder):
    """All events in a directory."""
    paths = sorted(Path(folder).glob("events*"))
    return [event for path in paths for event in tf.train.summary_iterator(str(path))]


def summary(value=1.0, tag="t"):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_everything_that_can_be_added(tmp_path):
    tf.constant(1.0, name="c")
    graph = tf.get_default_graph()
    with tf.summary.FileWriter(str(tmp_path / "new" / "logs"), graph) as writer:
        writer.add_summary(summary(), 1)
        writer.add_summary(summary().SerializeToString(), tf.constant(2).name and 2)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 3)
        writer.add_run_metadata(tf.RunMetadata(), "run", 4)
        writer.add_event(tf.Event(step=5, wall_time=1))
        writer.add_graph(graph)
        writer.add_meta_graph(tf.MetaGraphDef(), 6)
        assert writer.get_logdir() == str(tmp_path / "new" / "logs")
    found = events(tmp_path / "new" / "logs")
    assert [(event.WhichOneof("what"), event.step) for event in found] == [
        ("file_version", 0),
        ("graph_def", 0),
        ("meta_graph_def", 0),
        ("summary", 1),
        ("summary", 2),
        ("session_log", 3),
        ("tagged_run_metadata", 4),
        (None, 5),
        ("graph_def", 0),
        ("meta_graph_def", 6),
    ]
    assert abs(found[3].wall_time - time.time()) < 60
    written = tf.GraphDef.FromString(found[1].graph_def)
    assert written.node[0].attr["_output_shapes"].list.shape[0].dim == []
    meta = tf.MetaGraphDef.FromString(found[2].meta_graph_def)
    assert meta.graph_def == written
    assert [op.name for op in meta.meta_info_def.stripped_op_list.op] == ["Const"]


def test_a_file_is_made_with_the_first_event(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.flush()
        assert not list(tmp_path.iterdir())
        writer.add_summary(summary())
        writer.flush()
        assert len(events(tmp_path)) == 2


def test_metadata_are_written_with_the_first_value_of_a_tag(tmp_path):
    metadata = tf.SummaryMetadata(display_name="shown")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for _ in range(2):
            value = tf.Summary.Value(tag="a", simple_value=1, metadata=metadata)
            writer.add_summary(tf.Summary(value=[value]))
    assert [event.summary.value[0].HasField("metadata") for event in events(tmp_path)[1:]] == [
        True,
        False,
    ]


def test_what_a_run_merged_is_written_like_a_message(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1234.5)
    x = tf.placeholder(tf.float32, [None])
    parts = [tf.summary.histogram("h", x), tf.summary.scalar("s", tf.reduce_sum(x))]
    with tf.Session() as session:
        merged = session.run(tf.summary.merge(parts), {x: [1, 2, 3]})
    with_metadata = tf.Summary(value=[{"tag": "s", "metadata": {"display_name": "shown"}}])
    for folder, content in (("bytes", merged), ("message", tf.Summary.FromString(merged))):
        with tf.summary.FileWriter(str(tmp_path / folder)) as writer:
            for step in (None, 0, 7, -1, 1 << 40):
                writer.add_summary(content, step)
            writer.add_summary(with_metadata)  # of a tag that was seen before
        with pytest.warns(UserWarning, match="closed FileWriter"):
            writer.add_summary(content)
    assert events(tmp_path / "bytes") == events(tmp_path / "message")
    steps = [event.step for event in events(tmp_path / "bytes") if event.summary.value]
    assert steps == [0, 0, 7, -1, 1 << 40, 0]


def test_what_is_no_summary_is_refused(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for content in (b"\x0a", b"\x0a\x03\x0a\x01\xff", b"\x0a\x05\x2a\x03\x32\x01a"):
            with pytest.raises(DecodeError):
                writer.add_summary(content)
    assert not events(tmp_path)


def test_events_are_written_as_they_were_when_they_were_added(tmp_path):
    event = tf.Event(step=1)
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_event(event)
        event.step = 2
    assert events(tmp_path)[1].step == 1


def test_a_closed_writer_warns_and_can_be_reopened(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), filename_suffix=".one")
    writer.add_summary(summary(), 1)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
        writer.add_summary(summary(), 2)
    writer.reopen()
    writer.reopen()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        time.sleep(1.1)  # a file's name tells the second
        writer.add_summary(summary(), 3)
    writer.close()
    assert [event.step for event in events(tmp_path) if event.HasField("summary")] == [1, 3]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_refused(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        writer.add_graph("graph")
    with pytest.raises(ValueError, match="pass only graph, or graph_def"):
        writer.add_graph(tf.get_default_graph(), graph_def=tf.GraphDef())
    with pytest.raises(TypeError, match="meta_graph_def must be type MetaGraphDef"):
        writer.add_meta_graph("meta")
    writer.add_run_metadata(tf.RunMetadata(), "tag")
    with pytest.raises(ValueError, match="tag was already used"):
        writer.add_run_metadata(tf.RunMetadata(), "tag")
    writer.close()


def test_one_writer_for_each_directory(tmp_path):
    cache = tf.summary.FileWriterCache
    first = cache.get(str(tmp_path))
    assert cache.get(str(tmp_path)) is first
    assert cache.get(str(tmp_path / "other")) is not first
    cache.clear()
    assert cache.get(str(tmp_path)) is not first
    cache.clear()


def test_adding_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    gate = threading.Event()
    writer = event_file_writer.EventFileWriter(str(tmp_path), max_queue=1)
    write = writer._events.write_serialized
    written = []

    def wait_and_write(event):
        gate.wait(20)
        written.append(event)
        write(event)

    monkeypatch.setattr(writer._events, "write_serialized", wait_and_write)
    for step in range(1000):
        writer.add_event(tf.Event(step=step))
    assert not written  # an event that is waited for would have been
    gate.set()
    writer.close()
    assert [event.step for event in events(tmp_path)[1:]] == list(range(1000))


def test_waiting_events_are_flushed_in_time(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), flush_secs=0.2)
    writer.add_summary(summary(), 1)
    writer.add_summary(summary(), 2)
    deadline = time.monotonic() + 20
    while len(events(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [event.step for event in events(tmp_path)] == [0, 1, 2]
    writer.close()


@pytest.fixture
def told(monkeypatch):
    """Return the errors that are logged."""
    found = []
    monkeypatch.setattr(event_file_writer.logging, "error", found.append)
    return found


def test_a_full_disk_is_told_once_and_does_not_stop_the_program(tmp_path, monkeypatch, told):
    def full(self, event):
        raise errors.ResourceExhaustedError(None, None, "f; No space left on device")

    monkeypatch.setattr("stillflow.files.events.EventsWriter.write_serialized", full)
    writer = tf.summary.FileWriter(str(tmp_path))
    for step in range(20):
        writer.add_summary(summary(), step)
        writer.flush()
    writer.close()
    assert told == ["Events cannot be written: f; No space left on device"]


def test_training_ends_with_its_checkpoint_whatever_becomes_of_its_log(tmp_path, monkeypatch, told):
    def refuse(self, *arguments):
        raise errors.PermissionDeniedError(None, None, "logs; Read-only file system")

    monkeypatch.setattr("stillflow.files.events.EventsWriter._init", refuse)
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("step", tf.cast(step, tf.float32))
    one_more = tf.assign_add(step, 1)
    hooks = [tf.train.StopAtStepHook(last_step=5)]
    folder = str(tmp_path)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_summaries_steps=1
    ) as session:
        while not session.should_stop():
            session.run(one_more)
    assert tf.train.latest_checkpoint(folder) == str(tmp_path / "model.ckpt-5")
    assert told == ["Events cannot be written: logs; Read-only file system"]


def test_a_log_that_was_swept_away_goes_on_in_a_new_file(tmp_path):
    folder = tmp_path / "logs"
    writer = tf.summary.FileWriter(str(folder))
    writer.add_summary(summary(), 1)
    writer.flush()
    shutil.rmtree(folder)
    for step in (2, 3):
        writer.add_summary(summary(), step)
        writer.flush()
    writer.close()
    assert [event.step for event in events(folder)][-1] == 3


def test_a_log_that_was_swept_away_before_its_first_event_is_made_anew(tmp_path):
    folder = tmp_path / "logs"
    writer = tf.summary.FileWriter(str(folder))
    shutil.rmtree(folder)
    writer.add_summary(summary(), 1)
    writer.close()
    assert [event.step for event in events(folder)] == [0, 1]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(errors.FailedPreconditionError, match="Not a directory"):
        tf.summary.FileWriter(str(tmp_path / "file" / "logs"))


def test_a_folder_that_cannot_be_written_to_does_not_stop_the_program(tmp_path, monkeypatch, told):
    def refuse(*arguments):
        raise errors.PermissionDeniedError(None, None, "logs; Permission denied")

    monkeypatch.setattr(event_file_writer.EventsWriter, "write_serialized", refuse)
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_summary(summary(), 1)
    writer.flush()
    writer.add_summary(summary(), 2)
    writer.close()
    assert told == ["Events cannot be written: logs; Permission denied"]


def test_a_name_that_no_file_can_have_is_told(tmp_path, told):
    with tf.summary.FileWriter(str(tmp_path), filename_suffix="/none/such") as writer:
        writer.add_summary(summary(), 1)
    assert len(told) == 1 and told[0].endswith("/none/such; No such file or directory")
    assert not list(tmp_path.iterdir())


def test_what_is_left_open_is_written_when_the_program_ends(tmp_path):
    program = (
        "import sys; import stillflow as tf\n"
        "writer = tf.summary.FileWriter(sys.argv[1])\n"
        "for step in range(50): writer.add_event(tf.Event(step=step))\n"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=True,
        timeout=60,
        env={"PYTHONPATH": str(Path(tf.__file__).parents[1]), "PATH": ""},
    )
    assert [event.step for event in events(tmp_path)[1:]] == list(range(50))


class Asset(plugin_asset.PluginAsset):
    plugin_name = "plugin"

    def assets(self):
        return {"a.txt": "contents"}


def test_what_a_dropped_writer_holds_is_written_when_the_program_ends(tmp_path):
    program = (
        "import sys; import stillflow as tf\n"
        "def train():\n"
        "    writer = tf.summary.FileWriter(sys.argv[1])\n"
        "    for step in range(50): writer.add_event(tf.Event(step=step))\n"
        "train()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(Path(tf.__file__).parents[1]), "PATH": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [event.step for event in events(tmp_path)[1:]] == list(range(50))


def test_the_thread_of_a_dropped_writer_ends(tmp_path):
    writer = event_file_writer.EventFileWriter(str(tmp_path))
    writer.add_event(tf.Event(step=1))
    worker = writer._worker
    del writer
    worker.join(60)
    assert not worker.is_alive()
    assert [event.step for event in events(tmp_path)] == [0, 1]


def test_assets_of_plugins_are_written_with_the_graph(tmp_path):
    asset = plugin_asset.get_plugin_asset(Asset)
    assert plugin_asset.get_plugin_asset(Asset) is asset
    assert plugin_asset.get_all_plugin_assets() == [asset]
    tf.summary.FileWriter(str(tmp_path), tf.get_default_graph()).close()
    assert (tmp_path / "plugins" / "plugin" / "a.txt").read_text() == "contents"


def test_a_description_of_a_tensor_summary():
    node = tf.NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "hint"}'
    assert tf.summary.get_summary_description(node).type_hint == "hint"
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(tf.NodeDef(op="Const"))


def test_the_writer_of_the_first_programs_is_the_same_under_its_old_name(tmp_path):
    with SummaryWriter(str(tmp_path), None, 1, 1) as writer:
        writer.add_summary(summary(), 3)
    assert [event.step for event in events(tmp_path)] == [0, 3]


def test_the_file_is_there_when_the_first_event_was_added(tmp_path):
    for name in ("a", "b", "c"):
        folder = tmp_path / name
        writer = tf.summary.FileWriter(str(folder))
        assert not list(folder.iterdir())
        writer.add_summary(summary())
        assert len(list(folder.iterdir())) == 1
        writer.close()
        assert len(list(folder.iterdir())) == 1
