"""Libraries compiled for TensorFlow: errors with their names."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.mark.parametrize("load", [tf.load_op_library, tf.load_library, tf.load_file_system_library])
def test_libraries_are_refused(load, tmp_path):
    path = tmp_path / "ops.so"
    with pytest.raises(tf.errors.NotFoundError, match=r"ops\.so: cannot open shared object file"):
        load(str(path))
    path.touch()
    with pytest.raises(tf.errors.UnimplementedError, match=r"ops\.so holds operations compiled"):
        load(str(path))
