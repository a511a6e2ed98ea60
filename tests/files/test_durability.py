"""Content of the disk at a power failure: an older checkpoint, always."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors
from stillflow.files import durability
from stillflow.files.durability import WriteBack, write_back


class Disk:
    """A disk that is only as fast as the test allows."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.synced: list[str] = []
        self.full = False

    def sync(self, paths: Sequence[str]) -> None:
        assert self.free.wait(60)
        if self.full:
            raise errors.ResourceExhaustedError(None, None, f"{paths[0]}; No space left on device")
        self.synced += [os.path.basename(path) for path in paths]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    write_back.wait()
    disk = Disk()
    monkeypatch.setattr(durability, "sync", disk.sync)
    monkeypatch.setattr(durability, "_OFTEN", 0.0)
    yield disk
    disk.free.set()
    disk.full = False
    try:
        write_back.wait()
    except errors.OpError:
        write_back.__init__()  # type: ignore[misc]


def model(**arguments: int) -> tuple[tf.Session, tf.train.Saver, tf.Variable]:
    variable = tf.Variable(np.zeros(1000, np.float32))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session, tf.train.Saver(**arguments), variable


def names(directory: Path) -> set[str]:
    return {
        path.name for path in directory.iterdir() if path.name.startswith("m") and
        "tempstate" not in path.name and not path.name.endswith(".meta")
    }  # fmt: skip


def test_a_save_does_not_wait_for_the_disk(tmp_path: Path, disk: Disk) -> None:
    session, saver, _ = model()
    path = saver.save(session, str(tmp_path / "m"))
    assert not disk.synced and tf.train.latest_checkpoint(str(tmp_path)) == path
    saver.restore(session, path)
    disk.free.set()
    write_back.wait()
    assert disk.synced == ["checkpoint", "m.data-00000-of-00001", "m.index"]


def test_the_last_checkpoint_on_the_disk_is_not_deleted(tmp_path: Path, disk: Disk) -> None:
    session, saver, _ = model(max_to_keep=1)
    disk.free.set()
    saver.save(session, str(tmp_path / "m"), global_step=1)
    write_back.wait()
    disk.free.clear()
    saving = threading.Thread(target=lambda: saver.save(session, str(tmp_path / "m"), 2))
    saving.start()
    saving.join(0.3)
    assert saving.is_alive() and "m-1.index" in names(tmp_path)
    disk.free.set()
    saving.join(60)
    assert names(tmp_path) == {"m-2.index", "m-2.data-00000-of-00001"}


def test_others_are_deleted_at_once(tmp_path: Path, disk: Disk) -> None:
    session, saver, _ = model(max_to_keep=2)
    disk.free.set()
    for step in (1, 2):
        saver.save(session, str(tmp_path / "m"), global_step=step)
    write_back.wait()
    disk.free.clear()
    saver.save(session, str(tmp_path / "m"), global_step=3)
    assert {name.split(".")[0] for name in names(tmp_path)} == {"m-2", "m-3"}


def test_a_disk_that_refuses_keeps_the_older_checkpoint(tmp_path: Path, disk: Disk) -> None:
    session, saver, _ = model(max_to_keep=1)
    disk.free.set()
    saver.save(session, str(tmp_path / "m"), global_step=1)
    write_back.wait()
    disk.full = True
    saver.save(session, str(tmp_path / "m"), global_step=2)
    assert "m-1.index" in names(tmp_path)
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        write_back.wait()


def test_who_saves_often_does_not_wait(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability, "_OFTEN", 60.0)
    session, saver, _ = model(max_to_keep=1)
    for step in range(3):
        saver.save(session, str(tmp_path / "m"), global_step=step)
    assert not disk.synced and names(tmp_path) == {"m-2.data-00000-of-00001", "m-2.index"}


def test_the_variable_makes_every_save_wait(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STILLFLOW_SYNC_SAVES", "1")
    session, saver, _ = model()
    saving = threading.Thread(target=lambda: saver.save(session, str(tmp_path / "m")))
    saving.start()
    disk.free.set()
    saving.join(60)
    assert "checkpoint" in disk.synced


@pytest.mark.parametrize("lost", ["index", "data-00000-of-00001"])
def test_after_a_loss_of_power_the_checkpoint_before_is_the_latest(
    tmp_path: Path, lost: str
) -> None:
    session, saver, variable = model()
    first = saver.save(session, str(tmp_path / "m"), global_step=1)
    session.run(variable.assign_add(np.ones(1000)))
    second = saver.save(session, str(tmp_path / "m"), global_step=2)
    assert tf.train.latest_checkpoint(str(tmp_path)) == second
    # What a file system keeps of a file that has a name, but has not reached the disk.
    os.truncate(f"{second}.{lost}", 0)
    assert tf.train.latest_checkpoint(str(tmp_path)) == first
    os.truncate(f"{first}.{lost}", 0)
    assert tf.train.latest_checkpoint(str(tmp_path)) == second  # restoring it says what is wrong


def test_a_state_file_that_was_cut_off_leads_to_the_newest_checkpoint(tmp_path: Path) -> None:
    session, saver, _ = model()
    first, second = (saver.save(session, str(tmp_path / "m"), global_step=n) for n in (1, 2))
    os.utime(f"{first}.index", (1, 1))
    os.truncate(tmp_path / "checkpoint", 0)
    assert tf.train.latest_checkpoint(str(tmp_path)) == second
    for path in tmp_path.glob("*.index"):
        path.unlink()
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_newest_files_go_first_and_gone_ones_do_not_count(tmp_path: Path, disk: Disk) -> None:
    queue = WriteBack()
    for name in "abc":
        queue.add(str(tmp_path / name), [str(tmp_path / name)])
    queue.forget(str(tmp_path / "b"))
    disk.free.set()
    queue.wait()
    assert disk.synced == ["c", "a"]
    durability.sync([str(tmp_path / "missing")])


@pytest.mark.parametrize("size", [0, 1 << 21])
def test_removed_files_are_gone_at_once(tmp_path: Path, size: int) -> None:
    (tmp_path / "old").write_bytes(bytes(size))
    write_back.remove(str(tmp_path / "old"))
    assert not os.listdir(tmp_path)
    write_back.wait()
    with pytest.raises(FileNotFoundError):
        write_back.remove(str(tmp_path / "old"))


def test_the_end_of_the_program_waits(tmp_path: Path) -> None:
    program = f"""
import sys; sys.path[:0] = {[path for path in sys.path if path]!r}
from stillflow.files import durability
real = durability.sync
durability.sync = lambda paths: (real(paths), print("synced"))
open({str(tmp_path / "m")!r}, "w").close()
durability.write_back.add("m", [{str(tmp_path / "m")!r}])
print("end")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["end", "synced"]


def test_an_empty_state_file_beside_no_checkpoint_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").touch()
    with pytest.raises(ValueError, match=r"^Invalid checkpoint state loaded from"):
        tf.train.latest_checkpoint(str(tmp_path))
