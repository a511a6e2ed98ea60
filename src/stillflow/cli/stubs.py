"""Write stub files of `tensorflow`, from which editors and type checkers learn its API.

Pyright and Pylance read the folder `typings` of a project; mypy reads it with `mypy_path = typings`
in its configuration or MYPYPATH in its environment. `--installed` writes the package of stubs
`tensorflow-stubs` (PEP 561) among the installed packages, where all of them look unasked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

_SIGN = "# Written by `python -m stillflow stubs`."


def main(arguments: list[str]) -> int:
    """Write the folder of stubs; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stillflow stubs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", default="typings", metavar="FOLDER",
        help="the folder in which the package `tensorflow` of stubs is put (default: typings)",
    )  # fmt: skip
    parser.add_argument(
        "--installed", action="store_true",
        help="write `tensorflow-stubs` into the site-packages of this Python instead",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    target = Path(options.out, "tensorflow")
    if options.installed:
        target = Path(sysconfig.get_path("purelib"), "tensorflow-stubs")
    if problem := _in_the_way(target):
        print(f"stubs: {problem}", file=sys.stderr)
        return 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optional packages, by modules that nobody asked for
        from stillflow.cli.stubbing.modules import Stubs

        files = Stubs().files()
    try:
        _write(files, target)
    except OSError as error:
        print(f"stubs: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{len(files)} stub files in {target}")
    return 0


def _in_the_way(target: Path) -> str | None:
    """Return why a folder cannot be replaced: it is not one that this command wrote."""
    if not target.exists():
        return None
    root = target / "__init__.pyi"
    if root.is_file() and root.read_text(encoding="utf-8", errors="replace").startswith(_SIGN):
        return None
    return f"{target} exists and was not written by this command; name another folder"


def _write(files: dict[str, str], target: Path) -> None:
    """Write the files to a temporary folder first, so that a failure leaves earlier stubs whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".stubs-") as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        os.replace(Path(folder, "tensorflow"), target)
