"""Packages that only some functions need: the error names the package and the extra."""

from __future__ import annotations

import sys

import pytest

import stillflow as tf


@pytest.fixture
def model():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])


def test_hdf5_files_need_h5py(model, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"^`save_model` requires h5py\.\n.*'stillflow\[keras\]'"):
        model.save(str(tmp_path / "model.h5"))


def test_yaml_needs_pyyaml(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"^Requires yaml module.*\n.*'stillflow\[keras\]'"):
        model.to_yaml()


@pytest.mark.parametrize("name", ["none.h5", "none", "text.h5"])
def test_a_file_that_is_missing_or_no_model_is_named(tmp_path, name):
    (tmp_path / "text.h5").write_text("<html>")
    path = tmp_path / name
    with pytest.raises(OSError, match=r"^SavedModel file does not exist at: .*none|text\.h5") as e:
        tf.keras.models.load_model(str(path))
    assert (f"{path} is" in str(e.value)) == path.exists()
