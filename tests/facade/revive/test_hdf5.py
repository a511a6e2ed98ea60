"""HDF5 files are what they were before h5py 3."""

from __future__ import annotations

import pytest

pytest.importorskip("h5py")


def test_text_and_values(launcher):
    out, said = launcher.program("""
        import copy, json, pickle
        import h5py
        with h5py.File("model.h5") as file:
            file.attrs["config"] = b'{"layers": 2}'
            file.attrs["name"] = "m\\u00fcll"
            file.attrs.create("names", ["a", "b"], dtype=h5py.special_dtype(vlen=str))
            file["weights"] = [[1.0, 2.0]]
        with h5py.File("model.h5", "r") as file:
            text = file.attrs["config"]
            print(json.loads(text.decode("utf-8")), json.loads(text), file.attrs["name"])
            print(file.attrs.get("name").decode() == "m\\u00fcll", "none" in file.attrs)
            print([name.decode("utf8") for name in file.attrs["names"]])
            print(type(pickle.loads(pickle.dumps(text))), type(text.decode()))
            print(file["weights"].value)
        """)
    assert out.splitlines() == [
        "{'layers': 2} {'layers': 2} müll",
        "True False",
        "['a', 'b']",
        "<class 'str'> <class 'str'>",
        "[[1. 2.]]",
    ]
    assert said.count("Dataset.value was removed from h5py") == 1


def test_a_file_without_a_mode(launcher):
    out, _ = launcher.program("""
        import os, sys
        import h5py
        h5py.File("new.h5").create_dataset("x", data=[1])
        with h5py.File("new.h5") as file:
            print(file.mode, list(file))
        try:
            h5py.File("absent.h5", "r")
        except OSError:
            print("none")
        os.access = lambda path, mode: False  # the file of somebody else's
        with h5py.File("new.h5") as file:
            print(file.mode)
        """)
    assert out.splitlines() == ["r+ ['x']", "none", "r"]


def test_lists_of_bytes_keep_their_length(launcher):
    out, _ = launcher.program("""
        import h5py
        with h5py.File("names.h5", "w") as file:
            file.attrs["names"] = [b"ab", b"c"]
            file["names"] = (b"ab", b"c")
            print(file.fid == file.id, file.fid.get_file_image()[1:4])
        with h5py.File("names.h5", "r") as file:
            for names in (file.attrs["names"], file["names"][()]):
                print(names.dtype, names.tolist() == [b"ab", b"c"])
        """)
    assert out.splitlines() == ["True b'HDF'", "|S2 True", "|S2 True"]


def test_other_arguments_of_datasets_are_handed_on(launcher):
    out, _ = launcher.program("""
        import h5py
        with h5py.File("new.h5", "w") as file:
            packed = file.create_dataset("x", data=[b"a", b"bcd"], compression="gzip")
            print(packed.compression, packed.dtype, file.create_dataset("y", (2, 3), "f").shape)
    """)
    assert out == "gzip |S3 (2, 3)\n"
