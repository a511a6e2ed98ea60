"""V1 and V2 checkpoints: TensorFlow's files read, the same bytes written, damage told."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.files import checkpoint_matrix as matrix

import stillflow as tf
from stillflow import errors
from stillflow.files import tensor_types, v1_checkpoint
from stillflow.files.bundle_merge import merge
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.checkpoint_reader import CheckpointReader
from stillflow.files.tensor_slice import TensorSlice, parse_shape_and_slice
from stillflow.files.v1_checkpoint import Saved, V1Reader

RECORDED = Path(__file__).parent / "recorded" / "checkpoints"
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("either_way")
WRONG = (
    errors.DataLossError, errors.NotFoundError, errors.InvalidArgumentError,
    errors.OutOfRangeError, errors.InternalError,
)  # fmt: skip


def equal(a: Any, b: Any) -> bool:
    a, b = (np.array(x, object) if isinstance(x, bytes) else np.asarray(x) for x in (a, b))
    if a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype == object else a.tobytes() == b.tobytes()


def write_matrix(directory: Path) -> None:
    """Write the checkpoints of the matrix, by our own writers."""
    found = matrix.values()
    with BundleWriter(str(directory / "all")) as writer:
        for name in sorted(found):
            writer.add(name.encode(), found[name], tensor_types.number_of(found[name]))
    with BundleWriter(str(directory / "parts")) as writer:
        for spec, part in matrix.PARTS.items():
            shape, place, _ = parse_shape_and_slice(spec)
            writer.add_slice(b"p", shape, place, part, 1)
        writer.add(b"w", np.array(3.0, np.float32), 1)
    with BundleWriter(str(directory / "many")) as writer:
        for place, name in enumerate(matrix.MANY):
            writer.add(name.encode(), np.array(place, np.float32), 1)
    saved = [
        Saved(name.encode(), array, tensor_types.number_of(array), array.shape,
              TensorSlice.full(array.ndim))
        for name, array in found.items()
        if name.split("/")[0] not in matrix.NOT_IN_VERSION_1
    ]  # fmt: skip
    v1_checkpoint.write(str(directory / "v1"), saved)
    parts = []
    for spec, part in matrix.PARTS.items():
        shape, place, _ = parse_shape_and_slice(spec)
        parts.append(Saved(b"p", part, 1, shape, place))
    v1_checkpoint.write(str(directory / "v1parts"), parts)


# ---- Against TensorFlow


@pytest.mark.parametrize("prefix", ["all", "v1"])
def test_every_type_and_shape_of_tensorflow_is_read(prefix: str) -> None:
    reader = CheckpointReader(RECORDED / prefix)
    for name, value in matrix.values().items():
        if prefix == "v1" and name.split("/")[0] in matrix.NOT_IN_VERSION_1:
            continue
        assert equal(reader.get_tensor(name), value), name


def test_what_is_written_is_tensorflows_byte_for_byte(tmp_path: Path) -> None:
    write_matrix(tmp_path)
    expected = sorted(path.name for path in RECORDED.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == expected
    for name in expected:
        assert (tmp_path / name).read_bytes() == (RECORDED / name).read_bytes(), name


@pytest.mark.parametrize("reader", [BundleReader(str(RECORDED / "parts")),
                                    V1Reader(str(RECORDED / "v1parts"))])  # fmt: skip
def test_parts_are_put_together(reader: Any) -> None:
    assert equal(reader.lookup(b"p"), matrix.WHOLE)
    part = TensorSlice.parse("3,5:1,2")
    assert equal(reader.lookup_slice(b"p", part), matrix.WHOLE[3:8, 1:3])
    assert equal(reader.lookup_slice(b"p", TensorSlice.parse("4,3:-")), matrix.WHOLE[4:7])


def test_a_part_of_a_tensor_that_was_saved_whole_is_read() -> None:
    reader = BundleReader(str(RECORDED / "all"))
    whole = matrix.values()["float64/3"]
    found = reader.lookup_slice(b"float64/3", TensorSlice.parse("1,1:-:2,2"))
    assert equal(found, whole[1:, :, 2:])


@pytest.mark.oracle
def test_tensorflow_reads_what_is_written(tmp_path: Path) -> None:
    write_matrix(tmp_path)
    assert ask_tensorflow("read", tmp_path) == json.loads(json.dumps(matrix.read(tf, RECORDED)))


@pytest.mark.oracle
def test_what_tensorflow_writes_today_is_what_is_on_record(tmp_path: Path) -> None:
    ask_tensorflow("write", tmp_path)
    for path in RECORDED.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def ask_tensorflow(what: str, directory: Path) -> Any:
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    command = [python, "-m", "tests.files.checkpoint_matrix", what, str(directory)]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, check=True)
    return json.loads(run.stdout) if what == "read" else None


# ---- Round trips

KINDS = [tensor_types.STORAGE[number] for number in (1, 2, 3, 4, 5, 6, 8, 9, 10, 17, 18, 19, 22)]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(
    st.binary(min_size=1, max_size=40),
    st.sampled_from(KINDS).flatmap(
        lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_side=4, min_side=0))
    ),
    max_size=12,
))  # fmt: skip
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[bytes, Any]
) -> None:
    prefix = str(tmp_path_factory.mktemp("v2") / "model")
    with BundleWriter(prefix) as writer:
        for key, array in tensors.items():
            writer.add(key, array, tensor_types.number_of(array))
    reader = BundleReader(prefix)
    assert list(reader.names()) == sorted(tensors)
    for key, array in tensors.items():
        assert equal(reader.lookup(key), array)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=30))
def test_strings_come_back(tmp_path_factory: pytest.TempPathFactory, items: list[bytes]) -> None:
    prefix = str(tmp_path_factory.mktemp("strings") / "model")
    array = matrix.strings(items, (len(items),))
    with BundleWriter(prefix) as writer:
        writer.add(b"s", array, tensor_types.STRING)
    assert equal(BundleReader(prefix).lookup(b"s"), array)
    path = prefix + ".v1"
    v1_checkpoint.write(path, [Saved(b"s", array, 7, array.shape, TensorSlice.full(1))])
    assert equal(V1Reader(path).lookup(b"s"), array)


def test_the_other_byte_order_is_read(tmp_path: Path) -> None:
    from stillflow.files import crc32c, sstable
    from stillflow.protos import BundleEntryProto, BundleHeaderProto

    value = np.array([1.5, -2.0], np.float32)
    stored = value.byteswap().tobytes()
    header = BundleHeaderProto(num_shards=1, endianness=1)
    entry = BundleEntryProto(dtype=1, size=8, crc32c=crc32c.masked_crc32c(stored))
    entry.shape.dim.add(size=2)
    items = [(b"", header.SerializeToString()), (b"v", entry.SerializeToString())]
    (tmp_path / "m.index").write_bytes(sstable.build(items))
    (tmp_path / "m.data-00000-of-00001").write_bytes(stored)
    assert equal(BundleReader(str(tmp_path / "m")).lookup(b"v"), value)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    from stillflow.files import sstable
    from stillflow.protos import BundleHeaderProto, VersionDef

    header = BundleHeaderProto(num_shards=1, version=VersionDef(producer=9, min_consumer=5))
    (tmp_path / "m.index").write_bytes(sstable.build([(b"", header.SerializeToString())]))
    with pytest.raises(errors.InvalidArgumentError, match="min consumer version 5 above current"):
        BundleReader(str(tmp_path / "m"))


def test_checkpoints_of_several_devices_become_one(tmp_path: Path) -> None:
    for shard in range(3):
        with BundleWriter(str(tmp_path / f"part{shard}")) as writer:
            writer.add(f"own{shard}".encode(), np.full(2, shard, np.int64), 9)
            spec = list(matrix.PARTS)[shard]
            shape, place, _ = parse_shape_and_slice(spec)
            writer.add_slice(b"p", shape, place, matrix.PARTS[spec], 1)
    prefixes = [str(tmp_path / f"part{shard}") for shard in range(3)]
    merge(prefixes, str(tmp_path / "whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"whole.data-0000{shard}-of-00003" for shard in range(3)), "whole.index",
    ]  # fmt: skip
    reader = BundleReader(str(tmp_path / "whole"))
    assert equal(reader.lookup(b"p"), matrix.WHOLE)
    assert reader.lookup(b"own2").tolist() == [2, 2]


# ---- Damage


def small_checkpoint(directory: Path) -> dict[bytes, Any]:
    tensors = {
        b"a": np.arange(6, dtype=np.float32).reshape(2, 3),
        b"b/c": np.array(7, np.int64),
        b"s": matrix.strings([b"text", b""], (2,)),
    }
    with BundleWriter(str(directory / "m")) as writer:
        for key, array in tensors.items():
            writer.add(key, array, tensor_types.number_of(array))
        writer.add_slice(b"p", (4,), TensorSlice.parse("0,2"), np.array([1, 2], np.int32), 3)
        writer.add_slice(b"p", (4,), TensorSlice.parse("2,2"), np.array([3, 4], np.int32), 3)
    tensors[b"p"] = np.array([1, 2, 3, 4], np.int32)
    saved = [
        Saved(key, array, tensor_types.number_of(array), array.shape, TensorSlice.full(array.ndim))
        for key, array in tensors.items()
    ]
    v1_checkpoint.write(str(directory / "v1"), saved)
    return tensors


def check_right_or_refused(prefix: Path, tensors: dict[bytes, Any], path: Path) -> bool:
    """Read everything; all results without an error are right. Return True if all was read."""
    whole = True
    try:
        reader = BundleReader(str(prefix)) if prefix.name == "m" else V1Reader(str(prefix))
    except (*WRONG, errors.InternalError) as error:
        assert str(path) in error.message or isinstance(error, errors.InvalidArgumentError)
        return False
    for key, array in tensors.items():
        try:
            assert equal(reader.lookup(key), array), key
        except (*WRONG, errors.InternalError):
            whole = False
    return whole


FILES = ["m.index", "m.data-00000-of-00001", "v1"]


@pytest.mark.parametrize("name", FILES)
def test_files_cut_off_at_any_byte_are_refused(tmp_path: Path, name: str) -> None:
    tensors = small_checkpoint(tmp_path)
    path, prefix = tmp_path / name, tmp_path / name.split(".")[0]
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        assert not check_right_or_refused(prefix, tensors, path), size


@pytest.mark.parametrize("name", FILES)
def test_flipped_bits_never_give_wrong_values(tmp_path: Path, name: str) -> None:
    tensors = small_checkpoint(tmp_path)
    path, prefix = tmp_path / name, tmp_path / name.split(".")[0]
    content = path.read_bytes()
    places = random.Random(5).sample(range(len(content) * 8), min(1500, len(content) * 8))
    for place in places:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        check_right_or_refused(prefix, tensors, path)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_with_a_good_ending_are_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    directory = tmp_path_factory.mktemp("any")
    magic = bytes.fromhex("57fb808b247547db")
    for name in ("m.index", "v1"):
        (directory / name).write_bytes(content + magic)
        with pytest.raises((*WRONG, errors.InternalError)):
            reader: Any = BundleReader if name == "m.index" else V1Reader
            reader(str(directory / name.split(".")[0]))


def test_promises_of_huge_tensors_take_no_memory(tmp_path: Path) -> None:
    from stillflow.files import sstable
    from stillflow.protos import BundleEntryProto, BundleHeaderProto

    for number, size in ((1, 1 << 50), (7, 1 << 50), (1, 4)):
        entry = BundleEntryProto(dtype=number, size=size)
        entry.shape.dim.add(size=1 << 48)
        header = BundleHeaderProto(num_shards=1).SerializeToString()
        items = [(b"", header), (b"v", entry.SerializeToString())]
        (tmp_path / "m.index").write_bytes(sstable.build(items))
        (tmp_path / "m.data-00000-of-00001").write_bytes(b"1234")
        with pytest.raises((errors.DataLossError, errors.OutOfRangeError)):
            BundleReader(str(tmp_path / "m")).lookup(b"v")


@pytest.mark.parametrize(
    "content, what",
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:12", "git-LFS pointer"),
        (b"<!DOCTYPE html><html>" + b" " * 60, "HTML page"),
        (b"\x1f\x8b" + b"\1" * 60, "gzip"),
        (b"", "empty file"),
        (b"\0" * 100, "zeros"),
    ],
)
def test_it_is_said_what_a_wrong_file_is(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "model.ckpt"
    path.write_bytes(content)
    with pytest.raises(errors.DataLossError, match=what) as caught:
        CheckpointReader(path)
    assert str(path) in caught.value.message
    shutil.copy(path, tmp_path / "m.index")
    with pytest.raises(errors.DataLossError, match=what):
        CheckpointReader(tmp_path / "m")


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="Failed to find any matching files for"):
        CheckpointReader(tmp_path / "m")
    small_checkpoint(tmp_path)
    with pytest.raises(errors.NotFoundError, match="Key nope not found in checkpoint"):
        CheckpointReader(tmp_path / "m").get_tensor("nope")
    os.remove(tmp_path / "m.data-00000-of-00001")
    with pytest.raises(errors.NotFoundError, match=r"m\.data-00000-of-00001"):
        CheckpointReader(tmp_path / "m").get_tensor("a")


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    with BundleWriter(prefix) as writer:
        writer.add(b"\xff\xfe", np.float32([1]), tf.float32.as_datatype_enum)
        writer.add(b"v", np.float32([2]), tf.float32.as_datatype_enum)
    reader = CheckpointReader(prefix)
    assert reader.get_tensor("v").tolist() == [2]
    with pytest.raises(errors.DataLossError, match=r"b'\\xff\\xfe', is no UTF-8 text") as raised:
        reader.get_variable_to_shape_map()
    assert prefix in str(raised.value)
