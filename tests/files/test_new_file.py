"""New files, large and small: their bytes, their checksums, what is left when something fails."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from stillflow import errors
from stillflow.files.crc32c import crc32c
from stillflow.files.new_file import SPAN, NewFile


def pieces(*sizes: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.integers(0, 256, size, np.uint8) for size in sizes]


@pytest.mark.parametrize(
    "sizes",
    [(), (0,), (5,), (SPAN,), (SPAN - 1, 2), (3 * SPAN,), (7, 20 * SPAN + 13, 1, 300)],
)
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("reserved", [0, 30, 30 * SPAN])
def test_all_bytes_arrive_in_order(
    tmp_path: Path, sizes: tuple[int, ...], sync: bool, reserved: int
) -> None:
    contents = pieces(*sizes)
    file = NewFile(str(tmp_path / "new"), sync, reserved)
    for content in contents:
        file.append(content.tobytes())
        assert file.append_array(content).result() == crc32c(content)
    file.append(b"end")
    assert file.size == 2 * sum(sizes) + 3
    file.close()
    expected = b"".join(2 * bytes(content) for content in contents) + b"end"
    assert (tmp_path / "new").read_bytes() == expected


def test_what_is_written_is_what_was_summed(tmp_path: Path) -> None:
    (content,) = pieces(3 * SPAN)
    changing = threading.Event()

    def change() -> None:
        while not changing.is_set():
            content[:] += 1

    thread = threading.Thread(target=change)
    thread.start()
    file = NewFile(str(tmp_path / "new"))
    crc = file.append_array(content)
    file.close()
    changing.set()
    thread.join()
    assert crc32c((tmp_path / "new").read_bytes()) == crc.result()


@pytest.mark.parametrize("size", [10, 9 * SPAN])
def test_a_full_disk_is_reported_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def full(*unused: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = NewFile(str(tmp_path / "new"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite" if hasattr(os, "pwrite") else "write", full)
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            file.append_array(pieces(size)[0])
            file.close()
    file.abandon()
    assert not os.listdir(tmp_path)


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(errors.AlreadyExistsError):
        NewFile(str(tmp_path / "old"))
    assert (tmp_path / "old").read_bytes() == b"old"
