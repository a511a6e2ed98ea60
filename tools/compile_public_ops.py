"""Compile public operations with TensorFlow's own headers and with ours; list what differs.

    python tools/compile_public_ops.py FOLDER LIST.tsv [--python TF_PYTHON] [--cuda]

FOLDER holds a folder `owner+name` for each repository. LIST.tsv has a row for each file: owner/name
and path. Sources count, not headers; without --cuda those for processors, with it those that nvcc
compiles. TF_PYTHON is a Python with TensorFlow 1.15.5. The sources are not part of this repository.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

FLAGS = "import tensorflow as tf; print(' '.join(tf.sysconfig.get_compile_flags()))"
STANDARDS = ("c++11", "c++14", "c++17")
CUDA = (".cu", ".cu.cc", ".cu.cpp")
TOOLKIT = os.environ.get("CUDA_HOME", "/usr/local/cuda")


def sources(folder: Path, rows: list[str], cuda: bool) -> list[Path]:
    """Return the sources of the list that are there."""
    found = []
    for row in rows:
        repository, _, path = row.partition("\t")
        file = folder / repository.replace("/", "+") / path
        for_gpu, name = path.endswith(CUDA), path.rpartition("/")[2]
        is_source = for_gpu or name.endswith((".cc", ".cpp", ".cxx"))
        if is_source and for_gpu == cuda and "_test." not in name and file.is_file():
            found.append(file)
    return found


def include_folders(file: Path, folder: Path) -> list[str]:
    """Return the folders above a source, up to its repository, and what they hold as `include`."""
    above = [each for each in file.parents if folder in each.parents]
    return [f"-I{each}" for one in above for each in (one, one / "include") if each.is_dir()]


def failure(file: Path, folder: Path, flags: list[str], cuda: bool) -> str | None:
    """Compile by one standard after the other; return the first error of the last, or None."""
    told = ""
    # Folders of system headers, for those of a repository may hide a compiler's own.
    folders = [f"-I{TOOLKIT}/include", *include_folders(file, folder)]
    for standard in STANDARDS[2:] if cuda else STANDARDS:
        command = ["g++", "-fsyntax-only", "-w", f"-std={standard}", *flags, *folders, str(file)]
        if cuda:
            command = [
                "nvcc", "-c", "-x", "cu", "-w", f"-std={standard}", "-o", os.devnull,
                "-DGOOGLE_CUDA=1", "--expt-relaxed-constexpr", "--expt-extended-lambda",
                "-arch=sm_75", *flags, *folders, str(file),
            ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            return None
        told = done.stderr + done.stdout
    errors = [line for line in told.splitlines() if re.search(r"\berror\b", line)]
    return (errors or told.splitlines() or ["no message"])[0].strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("--python", default="", help="a Python with TensorFlow 1.15.5")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = options.folder.resolve()
    files = sources(folder, options.list.read_text().splitlines()[1:], options.cuda)
    interpreters = {"ours": [sys.executable, "-c", FLAGS.replace("tensorflow", "stillflow")]}
    if options.python:
        interpreters["TensorFlow's"] = [options.python, "-W", "ignore", "-c", FLAGS]
    results: dict[str, list[str | None]] = {}
    for name, command in interpreters.items():
        asked = subprocess.run(command, capture_output=True, text=True, check=True)
        flags = asked.stdout.split()
        compile_one = partial(failure, folder=folder, flags=flags, cuda=options.cuda)
        with ThreadPoolExecutor(options.jobs) as pool:
            results[name] = list(pool.map(compile_one, files))
    for at, file in enumerate(files):
        for name, failures in results.items():
            if failures[at] is not None:
                print(f"{file.relative_to(folder)}\t{name}\t{failures[at]}")
    compiled = {name: {at for at, told in enumerate(found) if told is None}
                for name, found in results.items()}  # fmt: skip
    print(f"{len(files)} sources; compile with " + ", ".join(
        f"{name} {len(found)}" for name, found in compiled.items()
    ))  # fmt: skip
    if len(compiled) == 2:
        ours, theirs = compiled["ours"], compiled["TensorFlow's"]
        print(f"of {len(theirs)} that compile with TensorFlow's, {len(ours & theirs)} do with ours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
