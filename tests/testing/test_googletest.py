"""Helpers of test programs."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.testing import googletest


def test_temporary_folder_is_one_and_goes_away(tmp_path):
    code = "import stillflow as tf; print(tf.test.get_temp_dir(), tf.test.get_temp_dir())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "TEST_TMPDIR": str(tmp_path / "x"),
            "PYTHONPATH": str(Path(tf.__file__).parents[1]),
        },
    )
    first, second = done.stdout.split()
    assert first == second and first.startswith(str(tmp_path)) and not os.path.exists(first)


def test_sources_are_found_by_environment(monkeypatch):
    monkeypatch.setenv("TEST_SRCDIR", "src")
    assert googletest.test_src_dir_path("core") == os.path.join(
        "src", "org_tensorflow/tensorflow", "core"
    )


class Base:
    @staticmethod
    def still():
        return "static"

    def move(self):
        return "moved"


class Child(Base):
    pass


def test_stubs_are_put_back():
    module = types.ModuleType("m")
    module.name = "old"
    with googletest.StubOutForTesting() as stubs:
        stubs.Set(module, "name", "new")
        stubs.Set(module, "name", "newer")
        stubs.SmartSet(Child, "move", lambda self: "stub")
        stubs.SmartSet(Base, "still", staticmethod(lambda: "stub"))
        assert (module.name, Child().move(), Base().move(), Child.still()) == (
            "newer",
            "stub",
            "stub",
            "stub",
        )
        with pytest.raises(AttributeError, match="Attribute not found"):
            stubs.SmartSet(Child, "nothing", 1)
    assert (module.name, Child().move(), Child.still(), Child().still()) == (
        "old",
        "moved",
        "static",
        "static",
    )
