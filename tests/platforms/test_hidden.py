"""Windows and macOS by hiding their missing features: from our code, and from no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SITE = Path(__file__).parent / "site"
# Runs as a module of the package, and as one that is none of ours.
PROGRAM = """
import sys, types
from pathlib import Path
def run(name, text):
    exec(compile(text, name, "exec"), {"__name__": name})
run("stillflow.example", OURS)
run("example", THEIRS)
"""
SAME = "import os, subprocess; subprocess.run([os.sys.executable, '-c', ''], check=True); "


def on(platform: str, ours: str, theirs: str = "") -> None:
    program = PROGRAM.replace("OURS", repr(ours)).replace("THEIRS", repr(SAME + theirs))
    paths = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    there = {"PYTHONPATH": os.pathsep.join(paths), "STILLFLOW_TEST_PLATFORM": platform}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **there}
    )
    assert run.returncode == 0, run.stderr


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hides from Linux")


@linux
@pytest.mark.parametrize(("platform", "name"), [("windows", "win32"), ("macos", "darwin")])
def test_our_code_sees_another_system(platform: str, name: str) -> None:
    ours = f"import sys, os; assert sys.platform == {name!r}; assert not hasattr(os, 'fdatasync')"
    on(platform, ours, "import sys, os; assert sys.platform == 'linux' and os.fdatasync")


@linux
def test_windows_has_no_functions_of_posix() -> None:
    ours = """
import os, signal, select
assert os.name == "nt" and not hasattr(os, "fork") and not hasattr(signal, "SIGALRM")
for name in ("fcntl", "resource", "pwd"):
    try:
        __import__(name, globals())
    except ModuleNotFoundError:
        continue
    raise AssertionError(name)
"""
    on("windows", ours, "import fcntl, resource, signal; assert signal.SIGALRM and os.fork")


@linux
def test_on_windows_an_open_file_stays(tmp_path: Path) -> None:
    ours = f"""
import os
path = {str(tmp_path / "f")!r}
with open(path, "w") as file:
    file.write("a\\n")
    for change in (os.remove, lambda path: os.replace(path, path + "2")):
        try:
            change(path)
        except PermissionError:
            continue
        raise AssertionError(change)
assert open(path, "rb").read() == b"a\\r\\n"
os.remove(path)
"""
    on("windows", ours)


@linux
def test_macos_has_no_proc() -> None:
    ours = """
try:
    open("/proc/meminfo")
except FileNotFoundError:
    pass
else:
    raise AssertionError
from stillflow.util import machine_memory
import os
assert machine_memory.total_bytes() > 0 and os.fork
"""
    on("macos", ours)
