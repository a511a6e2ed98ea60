"""``stillflow inspect``."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow.cli import inspect as command
from stillflow.cli.inspection import tree
from stillflow.files import safetensors, sstable
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.safetensors import StoredTensor
from stillflow.protos import BundleEntryProto

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

RECORDED = Path(__file__).parents[1] / "files" / "recorded" / "records"


def report(path):
    found = command.inspect(str(path))
    json.dumps(found)
    return found


@pytest.mark.parametrize(("name", "kind"), [("plain", "none"), ("zlib", "ZLIB"), ("gzip", "GZIP")])
def test_records(name, kind):
    found = report(RECORDED / name)
    assert found["kind"] == "TFRecord file"
    assert (found["compression"], found["records"], found["checksums"]) == (kind, 7, "right")
    assert (found["smallest record"], found["largest record"]) == (0, 3000)


def test_examples():
    found = report(RECORDED / "examples")
    assert found["messages"] == {"Example": 1}
    assert found["features"]["label"] == {"type": "int64", "values": "2", "records": 1, "first": -1}
    assert found["features"]["image"]["first"] == r"\xff\x00"


def test_sequence_examples(tmp_path):
    message = tf.train.SequenceExample()
    message.context.feature["length"].int64_list.value.append(2)
    for word in (b"a", b"b"):
        message.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(word)
    with tf.io.TFRecordWriter(str(tmp_path / "f")) as writer:
        writer.write(message.SerializeToString())
    found = report(tmp_path / "f")
    assert found["messages"] == {"SequenceExample": 1}
    assert set(found["features"]) == {"context/length", "steps/words"}


def test_events():
    found = report(RECORDED / "events")
    assert found["kind"] == "event file"
    assert found["kinds"] == {"file_version": 1, "summary": 1, "session_log": 1}
    assert found["tags"] == {
        "loss": {"kind": "simple_value", "count": 1, "last step": 7, "last value": 0.25}
    }
    assert found["checksums"] == "right"


def test_damage_is_told(tmp_path, capsys):
    data = bytearray((RECORDED / "events").read_bytes())
    data[-5] ^= 1
    (tmp_path / "f").write_bytes(data)
    assert "damaged: corrupted record at" in report(tmp_path / "f")["checksums"]
    assert command.main([str(tmp_path / "f")]) == 1
    assert "damaged" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_what_is_left_of_records_is_shown_wherever_they_were_cut_off(tmp_path, kind):
    path = tmp_path / "f"
    with tf.io.TFRecordWriter(str(path), options=kind or None) as writer:
        for value in range(3):
            writer.write(bytes(range(8 * value, 8 * value + 8)))
    whole = path.read_bytes()
    frame = len(whole) // 3
    ends = [frame, 2 * frame] if not kind else []  # which nobody can tell from a whole file
    shown = set()
    for size in range(2, len(whole)):
        path.write_bytes(whole[:size])
        found = report(path)
        assert command._is_bad(found) == (size not in ends), (size, found)
        shown.add(found.get("records"))
        if "records" in found:
            assert found["checksums"].startswith("right" if size in ends else "damaged"), found
    assert {0, 1, 2} <= shown
    path.write_bytes(whole)
    assert command.main([str(path)]) == 0


def test_what_is_left_of_events_is_shown(tmp_path):
    data = (RECORDED / "events").read_bytes()
    for size in (50, 60, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:size])
        found = report(tmp_path / "cut")
        assert found["events"] and found["checksums"].startswith("damaged"), found
        assert command.main([str(tmp_path / "cut")]) == 1


def test_what_is_cut_off_is_told(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": x + 1})
        meta = tf.train.export_meta_graph().SerializeToString()
    whole = graph.as_graph_def().SerializeToString()
    for name, data, said in (
        ("g.pb", whole, "beginning of a graph"),
        ("g.meta", meta, "beginning of a graph"),
        ("m/saved_model.pb", (tmp_path / "m/saved_model.pb").read_bytes(), "of a SavedModel"),
    ):
        (tmp_path / name).write_bytes(data[:-9])
        found = report(tmp_path / name)
        assert said in found["error"] and "cut off" in found["error"], found
    (tmp_path / "noise").write_bytes(np.random.default_rng(1).bytes(999))
    assert "is no GraphDef" in report(tmp_path / "noise")["error"]


@pytest.fixture
def graph_def():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    tf.identity(tf.matmul(x, tf.constant([[1.0], [2.0]])), name="out")
    tf.write_file("name", "contents", name="write")
    message = tf.get_default_graph().as_graph_def()
    message.node.add(name="strange", op="FromAnotherWorld")
    return message


@pytest.mark.parametrize("as_text", [False, True])
def test_graphs(tmp_path, graph_def, as_text):
    tf.train.write_graph(graph_def, str(tmp_path), "graph", as_text=as_text)
    found = report(tmp_path / "graph")
    assert (found["kind"], found["message"]) == ("graph", "GraphDef")
    assert found["inputs"] == {"x": "float32 (?,2)"}
    assert found["outputs"] == {
        "out": "Identity",
        "strange": "FromAnotherWorld",
        "write": "WriteFile",
    }
    assert found["not supported"] == {"FromAnotherWorld": 1}
    assert found["effects"] == {"writes files": ["WriteFile"]}
    assert found["nodes"] == len(graph_def.node)


def test_meta_graphs_and_checkpoints(tmp_path):
    tf.get_variable("v", [3, 4])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(sess, str(tmp_path / "model"))
    found = report(prefix + ".meta")
    assert (found["kind"], found["message"]) == ("graph", "MetaGraphDef")
    assert found["variables"] == {"v": "float32 (3,4)"}
    for path in (prefix, prefix + ".index", prefix + ".data-00000-of-00001"):
        found = report(path)
        assert (found["kind"], found["format"]) == ("checkpoint", "V2")
        assert (found["count"], found["parameters"], found["checksums"]) == (1, 12, "right")
    assert list(report(tmp_path)["checkpoints"].values()) == ["there"]
    data = bytearray(Path(prefix + ".data-00000-of-00001").read_bytes())
    data[3] ^= 1
    Path(prefix + ".data-00000-of-00001").write_bytes(data)
    found = report(prefix)
    assert found["checksums"] == "damaged: 1 of 1 tensors"
    assert found["damaged"]["v"].startswith("Checksum does not match")


def test_directories_that_came_without_a_list_of_checkpoints(tmp_path):
    prefix = str(tmp_path / "bert_model.ckpt")
    with BundleWriter(prefix) as writer:
        writer.add(b"v", np.ones(2, np.float32), 1)
    assert report(tmp_path)["checkpoints"] == [prefix]
    os.remove(prefix + ".index")
    assert "no checkpoints" in report(tmp_path)["note"]
    assert "there is only bert_model.ckpt.data-00000-of-00001" in report(prefix)["error"]


def test_files_of_tensors(tmp_path):
    arrays = {"w": np.ones((2, 3), np.float16), "n": np.array(3)}
    np.savez(tmp_path / "a.npz", **arrays)
    stored = [StoredTensor("w", 19, arrays["w"]), StoredTensor("n", 9, arrays["n"])]
    safetensors.write(str(tmp_path / "a.safetensors"), stored)
    for name, half in (("a.npz", "float16"), ("a.safetensors", "half")):
        found = report(tmp_path / name)
        assert found["tensors"] == {"n": "int64 []", "w": f"{half} [2, 3]"}
        assert (found["count"], found["parameters"]) == (2, 7)
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:50])
        assert "not a" in report(tmp_path / name)["error"]


def test_what_is_none_of_these(tmp_path, capsys):
    (tmp_path / "lfs").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert "git lfs pull" in report(tmp_path / "lfs")["note"]
    (tmp_path / "text").write_text("hello")
    assert "is no GraphDef" in report(tmp_path / "text")["error"]
    (tmp_path / "empty").write_text("")
    assert report(tmp_path / "empty")["note"] == "an empty file"
    assert "No such file" in report(tmp_path / "no")["error"]
    assert "no SavedModel" in report(tmp_path)["note"]
    assert command.main([str(tmp_path / "text")]) == 1


def test_json_and_text(capsys):
    assert command.main(["--json", str(RECORDED / "events"), str(RECORDED / "plain")]) == 0
    assert [each["kind"] for each in json.loads(capsys.readouterr().out)] == [
        "event file",
        "TFRecord file",
    ]
    assert command.main([str(RECORDED / "events")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{RECORDED / 'events'}: event file\n")
    assert "last value 0.25" in shown


def test_long_lists_are_cut():
    lines = tree.lines({"many": {str(i): {"a": {}} for i in range(5)}}, limit=2)
    assert lines[-1].strip() == "… and 3 more (--all shows them)"
    assert len(tree.lines({"many": {str(i): i for i in range(5)}}, limit=None)) == 6


def test_a_checkpoint_of_a_gigabyte_is_verified_in_little_time_and_memory(tmp_path):
    count, size = 256, 4 << 20
    zeros = np.zeros(size // 4, np.float32)
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add(b"v000", zeros, 1)
    index = tmp_path / "model.index"
    items = dict(sstable.Table(index.read_bytes(), str(index)).items())
    entry = BundleEntryProto.FromString(bytes(items[b"v000"]))
    for number in range(1, count):
        entry.offset = number * size
        items[b"v%03d" % number] = entry.SerializeToString()
    index.write_bytes(sstable.build((key, bytes(items[key])) for key in sorted(items)))
    os.truncate(tmp_path / "model.data-00000-of-00001", count * size)  # a hole: it reads as zeros
    start = time.process_time()
    found = report(tmp_path / "model")
    assert time.process_time() - start < 5  # a second or less where nobody else computes
    assert found["checksums"] == "right" and found["parameters"] == count * size // 4


def test_models_of_tensorflow_lite(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        y = tf.nn.relu(tf.matmul(x, tf.ones([4, 3])), "y")
        content = tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()
    (tmp_path / "model.tflite").write_bytes(content)
    found = report(tmp_path / "model.tflite")
    assert found["kind"] == "TensorFlow Lite model"
    assert found["inputs"] == {"x": "float32 (1,4)"}
    assert found["outputs"] == {"y": "float32 (1,3)"}
    assert found["operators"] == {"FULLY_CONNECTED": 1}
    assert found["constants"] == {"count": 2, "bytes": 60}
    (tmp_path / "damaged.tflite").write_bytes(content[:200])
    assert "damaged" in report(tmp_path / "damaged.tflite")["error"]
