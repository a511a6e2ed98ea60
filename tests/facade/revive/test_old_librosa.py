"""`librosa.output.write_wav` with a stand-in for the parts of librosa that it asks for."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stillflow.facade.revive.old_librosa import write_wav


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Return the list of what was checked for being sound."""
    pytest.importorskip("scipy")
    seen: list[np.ndarray] = []
    util = ModuleType("librosa.util")
    util.valid_audio = seen.append
    util.normalize = lambda y, norm, axis: y / np.abs(y).max()
    monkeypatch.setitem(sys.modules, "librosa", ModuleType("librosa"))
    monkeypatch.setitem(sys.modules, "librosa.util", util)
    return seen


@pytest.mark.parametrize("norm", [False, True])
def test_sound_becomes_a_file(tmp_path: Path, checked: list[np.ndarray], norm: bool) -> None:
    from scipy.io import wavfile

    sound = np.float32([0.0, 0.25, -0.5, 0.125])
    write_wav(tmp_path / "a.wav", sound, 8000, norm=norm)
    rate, found = wavfile.read(tmp_path / "a.wav")
    assert rate == 8000
    np.testing.assert_array_equal(found, sound * 2 if norm else sound)
    assert len(checked) == 1 and checked[0] is sound


def test_two_rows_are_two_channels(tmp_path: Path, checked: list[np.ndarray]) -> None:
    from scipy.io import wavfile

    sound = np.int16([[1, 2, 3], [4, 5, 6]])
    write_wav(tmp_path / "b.wav", sound, 22050, norm=True)
    rate, found = wavfile.read(tmp_path / "b.wav")
    assert rate == 22050
    assert found.tolist() == [[1, 4], [2, 5], [3, 6]]
