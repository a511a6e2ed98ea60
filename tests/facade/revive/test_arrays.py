"""Functions of NumPy take what they used to take."""

from __future__ import annotations


def test_arrays_of_uneven_lists(launcher):
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


def test_functions_of_uneven_lists(launcher):
    printed, said = launcher.program(
        """
        import numpy as np
        mixed = np.reshape([1.0, np.array([2.0])], (2, 1))
        print(mixed.dtype, mixed.shape, np.mean([1.0, np.array([2.0])]))
        print(np.max([[1], [2, 3]]), np.argmax([[1], [2, 3]]), np.take([[1], [2, 3]], [1]))
        np.save("x.npy", [[1], [2, 3]])
        print(np.load("x.npy").shape)
        try:
            np.mean([1, 2], axis=3)
        except ValueError as error:
            print(type(error).__name__)
        """
    )
    assert printed.splitlines() == [
        "object (2, 1) [1.5]",
        "[2, 3] 1 [list([2, 3])]",
        "(2,)",
        "AxisError",
    ]
    assert said.count("np.reshape takes lists of different lengths") == 1


def test_arrays_are_copied_where_they_have_to_be(launcher):
    out, _ = launcher.program("""
        import numpy as np
        kept = np.zeros(2)
        print(np.array(kept, copy=False) is kept)
        print(np.array([1, 2], copy=False), np.array(kept, dtype=np.float32, copy=False).dtype)
        print(np.array(0.5, np.float32, copy=False).dtype)
        try:
            np.asarray([1, 2], copy=False)  # NumPy 1 did not have that
        except ValueError as error:
            print("refused")
        """)
    assert out.splitlines() == ["True", "[1 2] float32", "float32", "refused"]


def test_arrays_are_stacked_from_generators(launcher):
    out, _ = launcher.program("""
        import numpy as np
        rows = lambda: (np.full(2, row) for row in range(3))
        print(np.stack(rows()).shape, np.stack(arrays=rows(), axis=1).shape, np.hstack(rows()))
        print(np.vstack(map(np.ones, [2, 2])).shape, np.dstack({1: np.ones(2)}.values()).shape)
        print(np.column_stack(rows()).tolist(), np.vstack([[1], [2]]).shape, np.hstack(tup=rows()))
        try:
            np.stack(iter([]))
        except ValueError as error:
            print(error)
        """)
    assert out.splitlines() == [
        "(3, 2) (2, 3) [0 0 1 1 2 2]",
        "(2, 2) (1, 2, 1)",
        "[[0, 1, 2], [0, 1, 2]] (2, 1) [0 0 1 1 2 2]",
        "need at least one array to stack",
    ]


def test_bytes_of_numbers(launcher):
    out, _ = launcher.program("""
        import numpy as np
        pixels = np.fromstring(b"ab\\x00", np.uint8)
        pixels += 1
        print(pixels, np.fromstring("\u00e9", "u1", 1), np.fromstring(b"", np.uint8).shape)
        print(np.fromstring(string=np.arange(2, dtype=np.int16).tobytes(), dtype=np.int16))
        print(np.fromstring(b"12345678").dtype, np.fromstring("1 2", int, sep=" "))
        for count in (-1, 9):
            try:
                np.fromstring(b"abc", np.int16, count)
            except ValueError as error:
                print(error)
        """)
    assert out.splitlines() == [
        "[98 99  1] [195] (0,)",
        "[0 1]",
        "float64 [1 2]",
        "string size must be a multiple of element size",
        "string is smaller than requested size",
    ]


def test_functions_that_gave_lists_give_lists(launcher):
    out, _ = launcher.program("""
        import numpy as np
        grid = np.meshgrid([1, 2], [3])
        grid.append(np.ones(1))
        print(len(grid), type(np.atleast_1d(1, 2)), type(np.broadcast_arrays(1, [2])))
        print(type(np.atleast_1d(1)), np.mgrid[:2].tolist())
        """)
    assert out.splitlines() == [
        "3 <class 'list'> <class 'list'>",
        "<class 'numpy.ndarray'> [0, 1]",
    ]


def test_kinds_of_types_are_those_of_old_numpy_in_the_program_alone(launcher):
    library = launcher.folder / "site-packages"
    library.mkdir()
    library.joinpath("today.py").write_text(
        "from numpy import issubdtype\nf = lambda x: (issubdtype(x, bool), issubdtype(x, float))\n"
    )
    out, said = launcher.program("""
        import sys
        import numpy as np
        sys.path.insert(0, "site-packages")
        import today
        print(np.issubdtype(np.float32, float), np.issubdtype(arg1="f4", arg2="int"))
        print(today.f("float32"), today.f("float64"))
        """)
    assert out.splitlines() == ["True False", "(False, False) (False, True)"]
    assert said.count("asks for any floating here, as in old NumPy") == 1


def test_numbers_in_lists_print_plainly(launcher):
    out, _ = launcher.program("""
        import numpy as np
        print([np.float32(0.5), np.int64(3)], {"loss": np.float64(0.25)}, (np.bool_(True),))
        np.set_printoptions(precision=3)
        print([np.float64(2.5)], np.array([1 / 3]))
        """)
    assert out.splitlines() == ["[0.5, 3] {'loss': 0.25} (True,)", "[2.5] [0.333]"]


def test_numbers_that_a_type_cannot_hold_are_cast_silently(launcher):
    launcher.write(
        "program.py",
        "import numpy as np\nx = np.float32(1)\n"
        "print(1e99 > x, np.float32(1e99), np.array([np.nan]).astype(np.int32).shape)\n",
    )
    done = launcher.run("program.py", PYTHONWARNINGS="")
    assert done.stdout == "True inf (1,)\n"
    assert "RuntimeWarning" not in done.stderr
