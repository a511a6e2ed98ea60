"""Checkpoints to safetensors and npz and back: nothing is lost, nothing bad gets through."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from stillflow import errors
from stillflow.cli import convert
from stillflow.files import safetensors, tensor_types, v1_checkpoint
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.safetensors import StoredTensor
from stillflow.files.tensor_slice import TensorSlice

STRINGS = np.array([[b"a", b"\xff\x00"], [b"", "é".encode()]], object)


def samples() -> dict[str, tuple[int, np.ndarray]]:
    found = {}
    for number, dtype in tensor_types.STORAGE.items():
        if number != tensor_types.STRING:
            values = np.arange(6).reshape(2, 3).astype(dtype)
            found[f"of/{tensor_types.name_of(number)}"] = number, values
    found["scalar"] = 1, np.array(2.5, np.float32)
    found["empty"] = 9, np.empty((0, 3), np.int64)
    found["strings"] = tensor_types.STRING, STRINGS
    return found


def write(prefix: Path, tensors: dict[str, tuple[int, np.ndarray]]) -> None:
    with BundleWriter(str(prefix)) as writer:
        for name, (number, array) in tensors.items():
            writer.add(name.encode(), array, number)


def assert_same(prefix: Path, tensors: dict[str, tuple[int, np.ndarray]]) -> None:
    reader = BundleReader(str(prefix))
    assert set(reader.tensors()) == {name.encode() for name in tensors}
    for name, (number, array) in tensors.items():
        assert reader.entry(name.encode()).number == number
        got = reader.lookup(name.encode())
        assert got.shape == array.shape and got.tolist() == array.tolist()


def test_safetensors_hold_all_types_both_ways(tmp_path: Path) -> None:
    write(tmp_path / "old", samples())
    file = tmp_path / "model.safetensors"
    assert convert.main([str(tmp_path / "old"), str(file)]) == 0
    assert convert.main([str(file), str(tmp_path / "new")]) == 0
    assert_same(tmp_path / "new", samples())


def test_the_file_is_as_the_format_says(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    values = np.array([[1, 2]], ml_dtypes.bfloat16)
    safetensors.write(str(file), [StoredTensor("b", 14, values)])
    raw = file.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    assert header["b"] == {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]}
    assert raw[8 + length :] == values.tobytes() and length % 8 == 0


def test_npz_both_ways(tmp_path: Path) -> None:
    tensors = {"a/b": (1, np.ones((2, 2), np.float32)), "s": (7, np.array([b"x", b"yz"], object))}
    write(tmp_path / "old", tensors)
    assert convert.main([str(tmp_path / "old"), str(tmp_path / "m.npz")]) == 0
    assert convert.main([str(tmp_path / "m.npz"), str(tmp_path / "new")]) == 0
    assert_same(tmp_path / "new", tensors)


def test_what_npz_cannot_hold_is_named(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    write(tmp_path / "old", {"b": (14, np.ones(2, ml_dtypes.bfloat16))})
    assert convert.main([str(tmp_path / "old"), str(tmp_path / "m.npz")]) == 1
    assert "cannot hold b: bfloat16" in capsys.readouterr().err
    assert not (tmp_path / "m.npz").exists()


def test_old_checkpoints_become_new_ones(tmp_path: Path) -> None:
    values = np.arange(4, dtype=np.float32)
    saved = v1_checkpoint.Saved(b"v", values, 1, (4,), TensorSlice.full(1))
    v1_checkpoint.write(str(tmp_path / "v1"), [saved])
    assert convert.main([str(tmp_path / "v1"), str(tmp_path / "v2")]) == 0
    assert_same(tmp_path / "v2", {"v": (1, values)})


def test_reports_and_keeps_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    write(tmp_path / "old", {"v": (1, np.ones(3, np.float32))})
    target = str(tmp_path / "m.safetensors")
    assert convert.main([str(tmp_path / "old"), target, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tensors"] == 1
    assert convert.main([str(tmp_path / "old"), target]) == 1
    assert "--force" in capsys.readouterr().err
    assert convert.main([str(tmp_path / "old"), target, "--force"]) == 0
    assert convert.main([str(tmp_path / "lost"), str(tmp_path / "n")]) == 1


def test_checkpoints_are_found_by_their_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "m-1", {"old": (1, np.ones(1, np.float32))})
    write(folder / "m-2", {"v": (1, np.ones(3, np.float32))})
    (folder / "m-2.meta").write_bytes(b"")
    # As one that was written elsewhere, and moved here.
    (folder / "checkpoint").write_text('model_checkpoint_path: "/home/gone/m-2"')
    sources = [folder, *(folder / name for name in ("checkpoint", "m-2", "m-2.index", "m-2.meta"))]
    for at, source in enumerate([*sources, folder / "m-2.data-00000-of-00001"]):
        assert convert.main([str(source), str(tmp_path / f"{at}.npz")]) == 0
        with np.load(tmp_path / f"{at}.npz") as found:
            assert found.files == ["v"]


def test_folders_without_a_list(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder, target = tmp_path / "bert", str(tmp_path / "b.npz")
    folder.mkdir()
    assert convert.main([str(folder), target]) == 1
    assert f"{folder} is a directory; in it: no checkpoint\n" in capsys.readouterr().err
    write(folder / "bert_model.ckpt", {"v": (1, np.ones(3, np.float32))})
    assert convert.main([str(folder), target]) == 0
    write(folder / "other", {"v": (1, np.ones(3, np.float32))})
    assert convert.main([str(folder), target, "--force"]) == 1
    assert f"in it: {folder}/bert_model.ckpt, {folder}/other\n" in capsys.readouterr().err


def test_tensors_are_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    names = ("conv/w", "conv/w/Adam", "fc/w", "global_step")
    write(tmp_path / "old", {name: (1, np.ones(1, np.float32)) for name in names})
    for at, (options, left) in enumerate(
        [
            (["--skip", "Adam|global_step"], ["conv/w", "fc/w"]),
            (["--only", "^conv"], ["conv/w", "conv/w/Adam"]),
            (["--only", "^conv", "--skip", "Adam$"], ["conv/w"]),
        ]
    ):
        target = tmp_path / f"{at}.safetensors"
        assert convert.main([str(tmp_path / "old"), str(target), *options]) == 0
        assert sorted(tensor.name for tensor in safetensors.read(str(target))) == left
        assert convert.main([str(target), str(tmp_path / "one.npz"), "--force", *options]) == 0
    capsys.readouterr()
    assert convert.main([str(tmp_path / "old"), str(tmp_path / "n"), "--only", "beta"]) == 1
    assert "holds no tensor" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        convert.main([str(tmp_path / "old"), str(tmp_path / "n"), "--only", "("])
    assert "'(' is no regular expression" in capsys.readouterr().err


def test_what_is_left_of_damaged_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    tensors = {name: (1, np.full(4, at, np.float32)) for at, name in enumerate("abc")}
    write(tmp_path / "old", tensors)
    data = tmp_path / "old.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-4])
    target = tmp_path / "m.npz"
    assert convert.main([str(tmp_path / "old"), str(target)]) == 1 and not target.exists()
    capsys.readouterr()
    assert convert.main([str(tmp_path / "old"), str(target), "--salvage"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("stillflow: left out c: Read less bytes than requested")
    assert told[1].startswith("c lies at bytes 32 to 48 of")
    with np.load(target) as found:
        assert {name: found[name].tolist() for name in found} == {"a": [0] * 4, "b": [1] * 4}


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00" * 7, struct.pack("<Q", 1 << 62) + b"{}", file_of(b"["), file_of([]),
        file_of(b"[" * 100_000), file_of({"a": entry()}), file_of({"a": entry()}, b"12345"),
        file_of({"a": entry(offsets=(4, 8))}, b"12345678"), file_of({"a": 3}),
        file_of({"a": entry(dtype="F99")}, b"1234"), file_of({"a": entry(dtype=[])}, b"1234"),
        file_of({"a": entry(shape=(-1,))}, b"1234"), file_of({"a": entry(shape=(1 << 61, 4))}),
        file_of({"a": entry(shape=True)}, b"1234"), file_of({"a": entry(offsets=(0,))}, b"1234"),
        file_of({"a": entry(), "b": entry()}, b"1234"), file_of({"__metadata__": 3}),
        file_of({"__metadata__": {"stillflow": "["}}),
        file_of({"__metadata__": {"stillflow": '{"s": {"type": "string"}}'}}),
        file_of({"__metadata__": {"stillflow": '{"a": {"type": "int8"}}'}, "a": entry()}, b"1234"),
        file_of(b'{"a": 1, "a": 2}'),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.safetensors"
    file.write_bytes(content)
    with pytest.raises(errors.DataLossError, match=r"bad\.safetensors"):
        list(safetensors.read(str(file)))


def test_truncation_at_every_byte_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    safetensors.write(str(file), [StoredTensor("v", 1, np.ones(3, np.float32))])
    content = file.read_bytes()
    for size in range(len(content)):
        file.write_bytes(content[:size])
        with pytest.raises(errors.DataLossError):
            list(safetensors.read(str(file)))
