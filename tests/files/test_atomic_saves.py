"""Saves that are killed at any moment: the old or the new checkpoint survives."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from stillflow import errors
from stillflow.files import atomic
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.v1_checkpoint import V1Reader

# Runs an action in a child that dies at the n-th system call that changes something.
KILLED = """
import os, sys
import numpy as np
sys.path[:0] = {path!r}
action, directory, calls = {action!r}, {directory!r}, {calls}
from stillflow.files import atomic, bundle_merge, bundle_writer, v1_checkpoint
from stillflow.files.tensor_slice import TensorSlice
import stillflow.protos

def save(prefix, value):
    with bundle_writer.BundleWriter(prefix) as writer:
        writer.add(b"v", np.full(5, value, np.float32), 1)

left = [calls]
def counted(function):
    def call(*args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            os._exit(7)
        return function(*args, **kwargs)
    return call

for name in ("write", "pwrite", "fsync", "fdatasync", "replace", "link", "remove", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
if action == "overwrite":
    save(directory + "/m", 2)
elif action == "new":
    save(directory + "/n", 2)
elif action == "merge":
    for shard in range(2):
        save(directory + "/tmp/part%d" % shard, 2) if shard else None
    save(directory + "/tmp/part0", 2)
    bundle_merge.merge([directory + "/tmp/part0"], directory + "/m")
elif action == "v1":
    saved = v1_checkpoint.Saved(b"v", np.full(5, 2, np.float32), 1, (5,), TensorSlice.full(1))
    v1_checkpoint.write(directory + "/v1", [saved])
else:
    atomic.write_file(directory + "/state", b"new")
"""


def save(prefix: Path, value: float) -> None:
    with BundleWriter(str(prefix)) as writer:
        writer.add(b"v", np.full(5, value, np.float32), 1)


def survivor(action: str, directory: Path) -> float:
    """Return the value of the checkpoint after a kill."""
    if action == "state":
        return {b"old": 1.0, b"new": 2.0}[(directory / "state").read_bytes()]
    if action == "v1":
        reader: V1Reader | BundleReader = V1Reader(str(directory / "v1"))
    else:
        new = (directory / "n.index").exists()
        reader = BundleReader(str(directory / ("n" if new else "m")))
    (value,) = set(reader.lookup(b"v").tolist())
    return float(value)


def prepare(action: str, directory: Path) -> None:
    directory.mkdir()
    (directory / "tmp").mkdir()
    if action == "state":
        atomic.write_file(str(directory / "state"), b"old")
    elif action == "v1":
        from stillflow.files.tensor_slice import TensorSlice
        from stillflow.files.v1_checkpoint import Saved, write

        value = np.full(5, 1, np.float32)
        write(str(directory / "v1"), [Saved(b"v", value, 1, (5,), TensorSlice.full(1))])
    else:
        save(directory / "m", 1)


@pytest.mark.parametrize("action", ["overwrite", "new", "merge", "v1", "state"])
def test_a_kill_at_any_call_leaves_old_or_new(
    tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if action != "new":  # without the thread that syncs, the calls come in the same order always
        monkeypatch.setenv("STILLFLOW_SYNC_SAVES", "1")
    seen = []
    for calls in range(100):
        directory = tmp_path / str(calls)
        prepare(action, directory)
        program = KILLED.format(
            path=[path for path in sys.path if path], action=action, directory=str(directory),
            calls=calls,
        )  # fmt: skip
        run = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
        assert run.returncode in (0, 7), run.stderr.decode()
        seen.append(survivor(action, directory))
        if run.returncode == 0:
            break
        # What a kill leaves behind does not disturb the next save.
        if action in ("overwrite", "merge"):
            save(directory / "m", 3)
            assert survivor(action, directory) == 3
            names = {path.name for path in directory.iterdir() if "tempstate" not in path.name}
            assert names == {"m.index", "m.data-00000-of-00001", "tmp"}
    assert seen[0] == 1.0 and seen[-1] == 2.0 and (action == "new" or seen == sorted(seen))


SAVING = """
import sys
import numpy as np
sys.path[:0] = {path!r}
from stillflow.files.bundle_writer import BundleWriter
import stillflow.protos

value = 0
while True:
    value += 1
    with BundleWriter({prefix!r}) as writer:
        writer.add(b"large", np.full(3 << 20, value, np.float32), 1)
        writer.add(b"small", np.full(5, value, np.float32), 1)
    print(value, flush=True)
"""


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    program = SAVING.format(path=[path for path in sys.path if path], prefix=prefix)
    generator = random.Random(0)
    for _ in range(200):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()  # the first save is complete
            time.sleep(generator.random() * 0.05)
            child.kill()
            done = int((child.stdout.read().split() or [b"1"])[-1])
        reader = BundleReader(prefix)
        values = {float(v) for key in (b"large", b"small") for v in np.unique(reader.lookup(key))}
        assert len(values) == 1 and values <= {done, done + 1}
        reader.close()
        for path in tmp_path.glob("*.tempstate*"):
            path.unlink()


def test_overwriting_ends_with_the_names_of_tensorflow(tmp_path: Path) -> None:
    for value in range(4):
        save(tmp_path / "m", value)
        assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]
        assert BundleReader(str(tmp_path / "m")).shards == 1


def test_without_links_overwriting_works_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*unused: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    for value in range(4):
        save(tmp_path / "m", value)
        assert BundleReader(str(tmp_path / "m")).lookup(b"v")[0] == value
        assert len(os.listdir(tmp_path)) == 2


def test_a_full_disk_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "m", 1)

    def full(*unused: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite" if hasattr(os, "pwrite") else "write", full)
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            save(tmp_path / "m", 2)
    assert BundleReader(str(tmp_path / "m")).lookup(b"v")[0] == 1
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]


def test_a_directory_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for prefix in ("file/m", "no/such/m", "x" * 300):
        with pytest.raises(errors.OpError, match=r"file|no/such|xxx"):
            save(tmp_path / prefix, 1)


def test_a_failed_save_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: v"):
        with BundleWriter(str(tmp_path / "m")) as writer:
            writer.add(b"v", np.zeros(2, np.float32), 1)
            writer.add(b"v", np.zeros(2, np.float32), 1)
    assert os.listdir(tmp_path) == []
