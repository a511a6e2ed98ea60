"""Programs in a folder of their own, and an interpreter to run them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import stillflow

SOURCES = str(Path(stillflow.__file__).parents[1])


class Launcher:
    """Launcher of programs in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(textwrap.dedent(text).encode() if isinstance(text, str) else text)
        return path

    def python(self, *arguments, executable=sys.executable, stdin=None, **environment):
        return subprocess.run(
            [executable, *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            input=stdin,
            timeout=120,
            env={
                **os.environ,
                "PYTHONPATH": SOURCES,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONWARNINGS": "ignore",
                **environment,
            },
        )

    def run(self, *arguments, **options):
        return self.python("-m", "stillflow", *arguments, **options)

    def program(self, text, *arguments, **options):
        """Run a program; return what it printed and what was said about it."""
        self.write("program.py", text)
        done = self.run("program.py", *arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr


@pytest.fixture
def launcher(tmp_path):
    return Launcher(tmp_path)
