"""tf.compat, tf.resource_loader, tf.sysconfig."""

from __future__ import annotations

import numbers
import os
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow.platform import resource_loader


def test_text_and_bytes():
    assert tf.compat.as_bytes("é") == b"\xc3\xa9" == tf.compat.as_bytes(bytearray(b"\xc3\xa9"))
    assert tf.compat.as_bytes("é", "latin-1") == b"\xe9"
    assert tf.compat.as_text(b"\xc3\xa9") == tf.compat.as_str("é") == "é"
    assert tf.compat.as_str_any(b"x") == "x" and tf.compat.as_str_any(3) == "3"
    for convert in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
            convert(3)


def test_paths():
    assert tf.compat.path_to_str(Path("a") / "b") == os.path.join("a", "b")
    assert tf.compat.path_to_str("./a") == "./a" and tf.compat.path_to_str(3) == 3


def test_kinds_of_numbers():
    assert tf.compat.integral_types == (numbers.Integral, np.integer)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert not isinstance(1j, tf.compat.real_types) and isinstance(1j, tf.compat.complex_types)
    assert tf.compat.bytes_or_text_types == (bytes, str)


def test_forward_compatibility(monkeypatch):
    compatible = tf.compat.forward_compatible
    assert [compatible(2019, 8, day) for day in (20, 21)] == [True, False]
    with tf.compat.forward_compatibility_horizon(2020, 1, 2):
        assert [compatible(2020, 1, day) for day in (1, 2)] == [True, False]
        monkeypatch.setenv("TF_FORWARD_COMPATIBILITY_DELTA_DAYS", "1")
    assert [compatible(2019, 8, day) for day in (21, 22)] == [True, False]
    monkeypatch.delenv("TF_FORWARD_COMPATIBILITY_DELTA_DAYS")
    with tf.compat.forward_compatibility_horizon(2018, 1, 1):
        assert not compatible(2018, 1, 1)
    assert [compatible(2019, 8, day) for day in (20, 21)] == [True, False]


def test_resources_lie_beside_the_caller():
    here = os.path.dirname(__file__)
    assert tf.resource_loader.get_data_files_path() == here
    assert tf.resource_loader.get_root_dir_with_all_resources() == here
    assert tf.resource_loader.get_path_to_datafile("x") == os.path.join(here, "x")
    assert tf.resource_loader.readahead_file_path("x") == "x"


def test_resources_of_bazel(monkeypatch):
    monkeypatch.setattr(
        resource_loader.inspect,
        "getfile",
        lambda frame: os.path.join("top", "a.runfiles", "repo", "dir", "file.py"),
    )
    assert tf.resource_loader.get_root_dir_with_all_resources() == os.path.join(
        "top", "a.runfiles", "repo"
    )


def test_resources_of_the_package():
    assert tf.resource_loader.load_resource("version.py").startswith(b'"""')
    with pytest.raises(OSError):
        tf.resource_loader.load_resource("no/such/file")


def test_build_flags():
    flags = tf.sysconfig.get_compile_flags()
    assert flags[:2] == [f"-I{tf.sysconfig.get_include()}", "-D_GLIBCXX_USE_CXX11_ABI=0"]
    assert all(flag.startswith("-I") and "eigen3" in flag for flag in flags[2:])  # of an extra
    assert tf.sysconfig.get_link_flags()[0] == f"-L{tf.sysconfig.get_lib()}"
