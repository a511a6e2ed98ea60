"""Damaged graphs: an error of TensorFlow's classes in time, or an import."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from tests.files.damage import damages

import stillflow as tf
from stillflow import errors
from stillflow.protos import GraphDef

# No checksum covers a graph: names, types and edges are what can be found wrong. KeyError is what
# TensorFlow raises for a name that is not there.
REFUSED = (errors.OpError, ValueError, TypeError, OSError, KeyError, NotImplementedError)
LONGEST = 10.0  # seconds of this thread, independent of the machine's other load


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with a SavedModel and a checkpoint: variables, a loop, a branch."""
    folder = tmp_path_factory.mktemp("model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [3, 2])), name="y")
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], name="loop")
        tf.cond(tf.reduce_sum(x) > 0, lambda: y, lambda: -y)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "export"), {"x": x}, {"y": y})
        tf.train.Saver().save(session, str(folder / "model"))
        (folder / "graph.pb").write_bytes(session.graph.as_graph_def().SerializeToString())
    yield folder


def read_graph(folder: Path) -> None:
    message = GraphDef()
    try:
        message.ParseFromString((folder / "graph.pb").read_bytes())
    except DecodeError:  # of the program's own reading
        return
    with tf.Graph().as_default():
        tf.import_graph_def(message)


def read_meta_graph(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(folder / "model.meta"))
        if saver is not None:
            saver.restore(session, str(folder / "model"))


def read_saved_model(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            tf.saved_model.load(session, ["serve"], str(folder / "export"))
        except RuntimeError as error:
            assert "associated with tags" in str(error)
            return
        session.run("y:0", {"x:0": np.ones((1, 3))})


FORMATS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "graph": ("graph.pb", read_graph),
    "meta_graph": ("model.meta", read_meta_graph),
    "saved_model": ("export/saved_model.pb", read_saved_model),
}


def judge(name: str, folder: Path, content: bytes) -> None:
    """Read a damaged file; fail unless it raises an error, or is read, in time."""
    file, read = FORMATS[name]
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(content)
    start = time.thread_time()
    try:
        read(folder)
    except REFUSED:
        pass
    finally:
        (folder / file).write_bytes(whole)
    assert time.thread_time() - start < LONGEST


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(damage=damages())
def test_damaged_graphs_are_refused_or_read(
    model: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    judge(name, model, damage((model / FORMATS[name][0]).read_bytes()))


@pytest.mark.parametrize("name", FORMATS)
def test_cut_graphs_are_refused_or_read(model: Path, name: str) -> None:
    content = (model / FORMATS[name][0]).read_bytes()
    for size in range(0, len(content), max(1, len(content) // 60)):
        judge(name, model, content[:size])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_five_thousand_flips(model: Path, name: str) -> None:
    content = (model / FORMATS[name][0]).read_bytes()
    generator = random.Random(0)
    for _ in range(5000):
        damaged = bytearray(content)
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        judge(name, model, bytes(damaged))


def test_damaged_files_are_named(model: Path, tmp_path: Path) -> None:
    for name, read in (
        ("model.meta", tf.train.import_meta_graph),
        ("saved_model.pb", lambda _: tf.saved_model.load(None, [], str(tmp_path))),
    ):
        (tmp_path / name).write_bytes(b"\xff" * 20)
        with pytest.raises(OSError, match=str(tmp_path / name)):
            read(str(tmp_path / name))
