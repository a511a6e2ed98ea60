"""Functions of NumPy take what they used to take."""

from __future__ import annotations

from tests.cli.conftest import launcher  # noqa: F401 - a fixture


def test_arrays_of_uneven_lists(launcher):  # noqa: F811
    out, said = launcher.program("""
        import numpy as np
        uneven = np.array([[1, 2], [3]])
        print(uneven.dtype, uneven.shape, uneven[1], np.asarray([[1], []]).shape)
        print(np.ndim([[1, 2], [3]]), np.shape([[1, 2], [3]]), np.array([[1], [2]]).dtype)
        try:
            np.array([[1, 2], [3]], np.int32)
        except ValueError as error:
            print("refused")
        """)
    assert out.splitlines() == ["object (2,) [3] (2,)", "1 (2,) int64", "refused"]
    assert said.count("np.array takes lists of different lengths") == 1
