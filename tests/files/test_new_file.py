"""New files, large and small: their bytes, their checksums, what is left when something fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from stillflow import errors
from stillflow.files.crc32c import crc32c
from stillflow.files.new_file import NewFile

BUFFER = 4 << 20


def pieces(*sizes: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.integers(0, 256, size, np.uint8) for size in sizes]


@pytest.mark.parametrize(
    "sizes",
    [(), (0,), (5,), (BUFFER,), (BUFFER - 1, 2), (3 * BUFFER,), (7, 6 * BUFFER + 13, 1, 300)],
)
@pytest.mark.parametrize("sync", [True, False])
def test_all_bytes_arrive_in_order(tmp_path: Path, sizes: tuple[int, ...], sync: bool) -> None:
    contents = pieces(*sizes)
    file = NewFile(str(tmp_path / "new"), sync)
    for content in contents:
        assert file.append(content) == crc32c(content)
    assert file.append(b"end") == crc32c(b"end")
    file.close()
    assert (tmp_path / "new").read_bytes() == b"".join(map(bytes, contents)) + b"end"


def test_a_file_system_without_direct_writes_is_written_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refused = os.pwrite, set()

    def refuse_some(file: int, content: memoryview, start: int) -> int:
        if start in (0, BUFFER) and start not in refused:
            refused.add(start)
            raise OSError(errno.EINVAL, "Invalid argument")
        return write(file, content[: BUFFER // 2], start)

    (content,) = pieces(3 * BUFFER + 5)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse_some)
        file = NewFile(str(tmp_path / "new"))
        file.append(content)
        file.close()
    assert refused and (tmp_path / "new").read_bytes() == content.tobytes()


@pytest.mark.parametrize("size", [10, 9 * BUFFER])
def test_a_full_disk_is_reported_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def full(*unused: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = NewFile(str(tmp_path / "new"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            file.append(pieces(size)[0])
            file.close()
    file.abandon()
    assert not os.listdir(tmp_path)


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(errors.AlreadyExistsError):
        NewFile(str(tmp_path / "old"))
    assert (tmp_path / "old").read_bytes() == b"old"
