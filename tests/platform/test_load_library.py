"""Libraries that add something other than operations do not load."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.mark.parametrize("load", [tf.load_library, tf.load_file_system_library])
def test_libraries_of_other_kinds_are_unsupported(load, tmp_path):
    path = tmp_path / "files.so"
    with pytest.raises(tf.errors.NotFoundError, match=r"files\.so: cannot open shared object file"):
        load(str(path))
    path.touch()
    with pytest.raises(tf.errors.UnimplementedError, match=r"files\.so: .*tf\.load_op_library"):
        load(str(path))
