"""Remains of killed saves go with a later save; nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from stillflow.files.bundle_writer import BundleWriter

TEMPORARY = "_temp_0123456789abcdef0123456789abcdef"


def save(prefix: Path) -> None:
    with BundleWriter(str(prefix)) as writer:
        writer.add(b"v", np.ones(2, np.float32), 1)


def age(path: Path) -> None:
    os.utime(path, (1, 1))


def test_old_remains_go_with_the_next_save(tmp_path: Path) -> None:
    folder = tmp_path / f"model-1{TEMPORARY}"
    folder.mkdir()
    (folder / "part-00000-of-00002.index").write_bytes(b"")
    (folder / "part-00000-of-00002.data-00000-of-00001").write_bytes(b"")
    (tmp_path / "model-1.data-00000-of-00001.tempstate123").write_bytes(b"")
    for path in [*folder.iterdir(), folder, *tmp_path.glob("*.tempstate*")]:
        age(path)
    save(tmp_path / "model-2")
    assert sorted(os.listdir(tmp_path)) == ["model-2.data-00000-of-00001", "model-2.index"]


def test_what_is_new_or_not_ours_stays(tmp_path: Path) -> None:
    young, foreign = tmp_path / f"young{TEMPORARY}", tmp_path / f"foreign{TEMPORARY}"
    for folder in (young, foreign):
        folder.mkdir()
    (foreign / "notes.txt").write_bytes(b"")
    (tmp_path / "model.tempstate").write_bytes(b"")
    for path in (foreign / "notes.txt", foreign, tmp_path / "model.tempstate"):
        age(path)
    (tmp_path / "m.index.tempstate5").write_bytes(b"")
    before = set(os.listdir(tmp_path))
    save(tmp_path / "model-2")
    assert before <= set(os.listdir(tmp_path))
    assert os.listdir(foreign) == ["notes.txt"]
