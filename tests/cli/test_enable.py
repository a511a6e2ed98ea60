"""``enable`` and ``disable`` in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

import pytest

from stillflow.cli import enable


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return an environment that sees this one's packages, and Stillflow through a path file."""
    folder = tmp_path_factory.mktemp("environment") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    scheme = sysconfig.get_preferred_scheme("prefix")
    names = {"base": str(folder), "platbase": str(folder)}
    programs = sysconfig.get_path("scripts", scheme, vars=names)
    python = os.path.join(programs, "python.exe" if sys.executable.endswith(".exe") else "python")
    return python, sysconfig.get_path("purelib", scheme, vars=names)


@pytest.fixture
def plain(environment, launcher):
    from pathlib import Path

    from tests.cli.conftest import SOURCES

    python, packages = environment
    paths = Path(packages) / "needed.pth"
    paths.write_text("\n".join([SOURCES, sysconfig.get_path("purelib")]) + "\n")

    def run(*arguments, **options):
        return launcher.python(*arguments, executable=str(python), PYTHONPATH="", **options)

    yield run
    run("-m", "stillflow", "disable")
    paths.unlink(missing_ok=True)


ASK = "import tensorflow as tf; print(tf.__version__, hasattr(tf, '__stillflow__'))"


def test_enable_serves_plain_python_and_disable_undoes_it(plain, environment):
    assert "ModuleNotFoundError" in plain("-c", ASK).stderr
    assert plain("-m", "stillflow", "enable").returncode == 0
    assert plain("-c", ASK).stdout == "1.15.5 True\n"
    assert "enabled: yes" in plain("-m", "stillflow", "status").stdout
    found = "import importlib.util; print(importlib.util.find_spec('tensorflow').name)"
    assert plain("-c", found).stdout == "tensorflow\n"
    assert plain("-m", "stillflow", "disable").returncode == 0
    assert "ModuleNotFoundError" in plain("-c", ASK).stderr
    assert "nothing to undo" in plain("-m", "stillflow", "disable").stdout
    assert "enabled: no" in plain("-m", "stillflow", "status").stdout


def test_enabled_python_starts_without_importing_stillflow(plain):
    plain("-m", "stillflow", "enable")
    listed = plain("-c", "import sys; print([m for m in sys.modules if 'stillflow' in m])")
    assert (listed.stdout, listed.stderr) == ("[]\n", "")


OLD = "import numpy as np; print(np.int is int); from scipy.misc import imresize"


def test_enabled_python_brings_back_what_numpy_had_before_tensorflow_is_imported(plain):
    assert "has no attribute 'int'" in plain("-c", OLD).stderr
    plain("-m", "stillflow", "enable")
    done = plain("-c", OLD + "; " + ASK)
    assert done.stdout == "True\n1.15.5 True\n", done.stderr
    assert "numpy.int was removed; it is int here" in done.stderr
    done = plain("-c", "from scipy.misc import imresize; print(callable(imresize))")
    assert done.stdout == "True\n", done.stderr


def test_enabled_python_can_be_told_to_leave_it(plain):
    plain("-m", "stillflow", "enable")
    assert "has no attribute 'int'" in plain("-c", OLD, STILLFLOW_ENABLED="0").stderr
    assert "ModuleNotFoundError" in plain("-c", ASK, STILLFLOW_ENABLED="0").stderr


def test_enabled_python_shows_nothing_to_those_who_probe(plain):
    plain("-m", "stillflow", "enable")
    code = """
look = "import importlib.util; print(importlib.util.find_spec('tensorflow') is None)"
exec(look, {"__name__": "transformers.utils"})
exec(look, {"__name__": "__main__"})
"""
    done = plain("-c", code)
    assert done.stdout == "True\nFalse\n", done.stderr


def test_enabled_python_survives_that_stillflow_is_gone(plain, environment):
    from pathlib import Path

    plain("-m", "stillflow", "enable")
    (Path(environment[1]) / "needed.pth").unlink()
    done = plain("-c", "print('fine')")
    assert (done.stdout, done.stderr) == ("fine\n", "")
    assert "No module named 'tensorflow'" in plain("-c", ASK).stderr
    Path(environment[1], enable.NAME).unlink()


def test_real_tensorflow_goes_first_where_stillflow_is_only_enabled(plain, environment):
    from pathlib import Path

    plain("-m", "stillflow", "enable")
    real = Path(environment[1]) / "tensorflow"
    real.mkdir()
    try:
        (real / "__init__.py").write_text("__version__ = '2.0.real'")
        (real / "part.py").write_text("")
        code = "import tensorflow, tensorflow.part; print(tensorflow.__version__)"
        assert plain("-c", code).stdout == "2.0.real\n"
        assert "the TensorFlow installed at" in plain("-m", "stillflow", "status").stdout
        asked = plain("-m", "stillflow", "-c", ASK)
        assert asked.stdout == "1.15.5 True\n"
        assert "TensorFlow is installed in this environment" in asked.stderr
    finally:
        (real / "__init__.py").unlink()
        (real / "part.py").unlink()
        import shutil

        shutil.rmtree(real)
