"""Build of the sdist and a wheel, and a trial of each where only the package is installed.

Both are compared with the checkout: a wheel has every file of the package but the C sources of the
library, its stubs and the library itself; an sdist has all files that `make test` reads. Then each
is installed into an empty environment outside the checkout, where the demo runs, and the tests of
the public API on the installed package. pip is asked, too, which newer versions of torch and NumPy
it would change.

    python tools/release_check.py --out out/dist
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build_native
import build_stubs
import newer_packages

ROOT = Path(__file__).resolve().parent.parent
# Tests for an installed package: those that do not read our sources.
TESTS = [
    "tests/test_namespace.py", "tests/test_errors.py", "tests/facade/test_facade.py", "tests/files",
    "tests/cli/test_run.py", "tests/cli/test_inspect.py", "tests/cli/test_convert.py",
    "tests/train/test_saver.py", "tests/layers",
]  # fmt: skip
_IS_INSTALLED = """
import stillflow, sysconfig
assert stillflow.__file__.startswith(sysconfig.get_path("purelib")), stillflow.__file__
from stillflow.native import FILE, FOLDER, library
assert (library() is not None) == (FOLDER / FILE).exists()
"""
NEEDED = ["tests", "examples", "tools", "docs", "README.md", "pyproject.toml"]
DEMO = [
    ["examples/mnist_cnn.py", "--curve", "mnist_cnn.png"],
    ["examples/mnist_resume.py", "--folder", "demo", "--epochs", "1"],
    ["examples/mnist_freeze.py", "--folder", "demo"],
]


def run(command: Iterable[object], folder: Path, **changed: str) -> None:
    """Run a command outside the checkout.

    Raises:
      SystemExit: if it fails.
    """
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    if subprocess.run(words, cwd=folder, env={**environment, **changed}).returncode:
        raise SystemExit(f"failed: {' '.join(words)}")


def tracked(*folders: str) -> set[str]:
    """Return the paths of the checkout's files below these folders, as git knows them."""
    command = ["git", "ls-files", "-z", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {path for path in listed.stdout.split("\0") if (ROOT / path).is_file()}


def is_native_source(path: str) -> bool:
    return path.startswith("src/stillflow/native/") and path.endswith((".c", ".h"))


def faults_of_wheel(wheel: Path) -> list[str]:
    """Return the differences between a wheel's files and the expected ones."""
    sources = {path for path in tracked("src") if not is_native_source(path)}
    wanted = {path.removeprefix("src/") for path in sources}
    wanted |= {f"stillflow/{path}" for path in build_stubs.stubs(build_stubs.read_table())}
    native = build_native.native_module()
    if build_native.compiler() is not None:
        wanted.add(f"stillflow/native/{native.FILE}")
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    return _differences(wanted, found)


def faults_of_sdist(sdist: Path) -> list[str]:
    """Return the differences between an sdist's files and those of the checkout."""
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive if member.isfile()}
    found = {name.partition("/")[2] for name in names} - {"PKG-INFO"}
    return _differences(tracked(), found)


def _differences(wanted: set[str], found: set[str]) -> list[str]:
    missing = [f"missing: {path}" for path in sorted(wanted - found)]
    return missing + [f"does not belong there: {path}" for path in sorted(found - wanted)]


def build(out: Path) -> tuple[Path, Path]:
    """Build sdist and wheel into an empty folder; returns their paths."""
    shutil.rmtree(out, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", out, ROOT], out.parent)
    run([sys.executable, "-m", "twine", "check", "--strict", *out.iterdir()], out.parent)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def environment(folder: Path) -> Path:
    """Make an empty environment; returns its Python."""
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def try_installed(package: Path, folder: Path) -> None:
    """Install a package into an empty environment; run demo and tests from elsewhere."""
    python = environment(folder / "environment")
    work = folder / "work"
    work.mkdir()
    for name in NEEDED:
        path = ROOT / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, work / name)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--constraint", ROOT / "constraints.txt", f"{package}[test,demo]"], work)
    run([python, "-c", _IS_INSTALLED], work)
    run([python, "-m", "pip", "check"], work)
    run([python, "-m", "stillflow", "doctor"], work)
    for words in DEMO:
        run([python, "-m", "stillflow", *words], work)
    tests = [test for test in TESTS if (work / test).exists()]
    assert tests == TESTS, "a test is missing"
    run([python, "-m", "pytest", "-q", "-n", "auto", "-m", "not slow and not oracle", *tests], work,
        OMP_NUM_THREADS="1")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "dist")
    parser.add_argument("--contents-only", action="store_true", help="install nothing")
    flags = parser.parse_args()
    out = flags.out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    wheel, sdist = build(out)
    if faults := [*faults_of_wheel(wheel), *faults_of_sdist(sdist)]:
        raise SystemExit("\n".join(faults))
    newer_packages.check(wheel)
    for package in (wheel, sdist) if not flags.contents_only else ():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try_installed(package, Path(folder))
    print(f"{wheel.name} and {sdist.name} are complete and work where they are installed")


if __name__ == "__main__":
    main()
