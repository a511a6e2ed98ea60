"""Damaged files of every format: an error that says so, or the very values; never anything else."""

from __future__ import annotations

import os
import random
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.files.damage import damages

from stillflow import errors
from stillflow.cli.inspect import inspect
from stillflow.files import records, safetensors, tensor_types, v1_checkpoint
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.checkpoint_reader import CheckpointReader
from stillflow.files.events import EventsWriter, read_events
from stillflow.files.safetensors import StoredTensor
from stillflow.files.tensor_slice import TensorSlice
from stillflow.protos import Event, GraphDef

REFUSED = (errors.DataLossError, errors.InvalidArgumentError, errors.NotFoundError,
           errors.InternalError, errors.UnimplementedError, errors.OutOfRangeError)  # fmt: skip
VALUES = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": np.empty((0, 2), np.int64),
    "s": np.array([b"one", b"", b"three"], object),
}


def tensors() -> Iterator[tuple[str, np.ndarray, int]]:
    for name, array in VALUES.items():
        yield name, array, tensor_types.number_of(array)


def write_v2(path: Path) -> None:
    with BundleWriter(str(path)) as writer:
        for name, array, number in tensors():
            writer.add(name.encode(), array, number)
        part = TensorSlice(((0, 1), (0, -1)))
        writer.add_slice(b"parts", (2, 2), part, np.ones((1, 2), np.float32), 1)


def write_v1(path: Path) -> None:
    saved = [
        v1_checkpoint.Saved(name.encode(), array, number, array.shape, TensorSlice.full(array.ndim))
        for name, array, number in tensors()
        if array.size
    ]
    v1_checkpoint.write(str(path), saved)


def read_checkpoint(path: Path) -> Any:
    reader = CheckpointReader(str(path))
    found = {}
    for name in reader.get_variable_to_shape_map():
        if name != "parts":
            found[name] = np.asarray(reader.get_tensor(name)).tolist()
    return found


def write_records(path: Path, kind: str = "") -> None:
    with records.TFRecordWriter(str(path), kind) as writer:
        for size in (0, 5, 300):
            writer.write(b"r" * size)


def read_records(path: Path, kind: str = "") -> Any:
    return list(records.read_records(str(path), kind))


def write_graph(path: Path) -> None:
    graph = GraphDef()
    for i in range(5):
        node = graph.node.add(name=f"n{i}", op="Const")
        node.attr["value"].tensor.tensor_content = b"12345678"
    path.write_bytes(graph.SerializeToString())


def write_safetensors(path: Path) -> None:
    safetensors.write(str(path), [StoredTensor(*each) for each in reordered()])


def reordered() -> Iterator[tuple[str, int, np.ndarray]]:
    for name, array, number in tensors():
        yield name, number, array


def read_safetensors(path: Path) -> Any:
    return {tensor.name: tensor.array.tolist() for tensor in safetensors.read(str(path))}


# Name: how to write the file, the name of its file to damage, how to read it, and whether the
# result must be the values (a checksum covers them), may be some of them, or may be anything.
FORMATS: dict[str, tuple[Callable[[Path], None], str, Callable[[Path], Any], str]] = {
    "v2_index": (write_v2, ".index", read_checkpoint, "values"),
    "v2_data": (write_v2, ".data-00000-of-00001", read_checkpoint, "values"),
    "v1": (write_v1, "", read_checkpoint, "values"),
    "records": (write_records, "", read_records, "some"),
    "records_zlib": (
        lambda path: write_records(path, "ZLIB"), "", lambda path: read_records(path, "ZLIB"),
        "some",
    ),
    "records_gzip": (
        lambda path: write_records(path, "GZIP"), "", lambda path: read_records(path, "GZIP"),
        "some",
    ),
    "safetensors": (write_safetensors, "", read_safetensors, "anything"),
    "inspected_graph": (write_graph, "", lambda path: inspect(str(path)), "anything"),
    "inspected_index": (write_v2, ".index", lambda path: inspect(str(path)), "anything"),
    "inspected_v1": (write_v1, "", lambda path: inspect(str(path)), "anything"),
    "inspected_records": (write_records, "", lambda path: inspect(str(path)), "anything"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, bytes, Any]]:
    """Return for each format the path to read, the bytes to damage, and the undamaged result."""
    found = {}
    for name, (write, suffix, read, _) in FORMATS.items():
        path = tmp_path_factory.mktemp(name) / "file"
        write(path)
        target = Path(f"{path}{suffix}")
        content = target.read_bytes()
        expected = read(path)
        found[name] = path, content, expected
    return found


def judge(name: str, whole: dict[str, tuple[Path, bytes, Any]], content: bytes) -> None:
    """Read a damaged file; fail unless it raises an error or gives the right result."""
    _, suffix, read, promise = FORMATS[name]
    path, _, expected = whole[name]
    target = Path(f"{path}{suffix}")
    target.write_bytes(content)
    try:
        got = read(path)
    except REFUSED as error:
        assert str(path) in error.message or "Key" in error.message, error.message
        return
    if promise == "values":
        assert got == expected or got == {key: expected[key] for key in got if key in expected}
    elif promise == "some":
        assert got == expected[: len(got)]


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(damage=damages())
def test_damaged_files_are_told(whole: Any, name: str, damage: Callable[[bytes], bytes]) -> None:
    judge(name, whole, damage(whole[name][1]))


@pytest.mark.parametrize("name", FORMATS)
def test_cut_files_are_told(whole: Any, name: str) -> None:
    content = whole[name][1]
    for size in range(0, len(content), max(1, len(content) // 100)):
        judge(name, whole, content[:size])


@pytest.mark.parametrize("name", ["v2_index", "v2_data", "v1", "records", "safetensors"])
def test_damage_never_costs_memory(whole: Any, name: str) -> None:
    content = whole[name][1]
    generator = random.Random(1)
    judge(name, whole, content)
    tracemalloc.start()
    try:
        for _ in range(100):
            damaged = bytearray(content)
            for _ in range(4):
                damaged[generator.randrange(len(damaged))] = generator.choice([0x7F, 0xFF])
            judge(name, whole, bytes(damaged))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_cut_at_any_byte_they_are_told(whole: Any, name: str) -> None:
    content = whole[name][1]
    for size in range(len(content)):
        judge(name, whole, content[:size])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_five_thousand_flips(whole: Any, name: str) -> None:
    content = whole[name][1]
    generator = random.Random(0)
    for _ in range(5000):
        damaged = bytearray(content)
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        judge(name, whole, bytes(damaged))


def test_event_files_stop_where_they_are_damaged(tmp_path: Path) -> None:
    writer = EventsWriter(str(tmp_path / "events"))
    for step in range(3):
        writer.WriteEvent(Event(step=step))
    writer.Close()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    whole_steps = [event.step for event in read_events(str(path))]
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 16
        path.write_bytes(damaged)
        steps = []
        try:
            for event in read_events(str(path)):
                steps.append(event.step)
        except REFUSED:
            pass
        assert steps == whole_steps[: len(steps)]


def test_hostile_folders_are_told(tmp_path: Path) -> None:
    write_v2(tmp_path / "model")
    os.remove(tmp_path / "model.data-00000-of-00001")
    (tmp_path / "model.data-00000-of-00001").mkdir()
    with pytest.raises(errors.OpError, match="model"):
        read_checkpoint(tmp_path / "model")
    shutil.rmtree(tmp_path / "model.data-00000-of-00001")
    with pytest.raises(errors.NotFoundError, match="model"):
        read_checkpoint(tmp_path / "model")
