"""Index of tests: for each module of src, tests that execute it.

    python tools/test_index.py src/stillflow/image/resizing.py   # the tests of a module, or folder
    python tools/test_index.py --check                           # faults of the index; runs no test
    python tools/test_index.py --update                          # rows for modules that have none
    python tools/test_index.py --update tests/image              # the same, by these tests

`tests/INDEX.tsv` is measured: `tests/tracing` notes which modules a test's functions are in. A row
names up to two tests, nearest in path first, then those that execute the fewest modules:
functions of test files, golden programs as `golden:FAMILY/PROGRAM`, samples of cards as
`sample:OPERATION`. Modules without functions have no row, and tables that are made by functions:
importing them is all that can be done.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "tests" / "INDEX.tsv"
PACKAGES = ("stillflow", "stillflow_contrib")
# Modules whose functions run while modules are imported and never again: tables, and marks.
AT_IMPORT = {
    f"src/stillflow/{name}.py"
    for name in (
        "_export", "facade/internal_features", "facade/internal_learn", "facade/internal_tpu",
        "facade/revive/tables", "ops/data/experimental_names",
    )
}  # fmt: skip
MOST = 2
SAMPLES, GOLDENS = "tests/ops/test_samples.py", "tests/golden/test_golden.py"
UNMARKED = "not slow and not oracle and not browser and not gpu"
HEAD = (
    "# Written by tools/test_index.py: modules of src, and tests that execute functions in them.\n"
)

Rows = dict[str, list[str]]
_TEXT = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
_FUNCTION = re.compile(r"^ *(?:async )?def \w+\((?!.*: \.\.\.$)|\blambda\b[^\n]*:", re.MULTILINE)


def modules() -> list[str]:
    """Return the paths of the modules that have functions."""
    paths = [path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*.py")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    return [
        name
        for name in names
        if name not in AT_IMPORT and _FUNCTION.search(_TEXT.sub("", _text(name)))
    ]


def read_index(path: Path = INDEX) -> Rows:
    """Return the tests by module."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {module: tests for module, *tests in rows}


def write_index(rows: Mapping[str, Sequence[str]], path: Path = INDEX) -> None:
    """Write rows in the order of modules."""
    lines = ["\t".join([module, *rows[module]]) + "\n" for module in sorted(rows)]
    path.write_text(HEAD + "".join(lines), encoding="utf-8")


def entry_of(test: str) -> str:
    """Return the name in the index of a test of pytest's, without parameters and aspects."""
    name, _, parameters = test.partition("[")
    if name.startswith(GOLDENS + "::") and "-" in parameters:
        return "golden:" + parameters.rpartition("-")[0]
    if name.startswith(SAMPLES + "::") and parameters:
        return "sample:" + parameters.rstrip("]").partition("-")[0]
    return name


def command_of(entry: str) -> list[str]:
    """Return the arguments with which pytest runs a test of the index."""
    kind, _, name = entry.partition(":")
    if kind == "golden":
        return [GOLDENS, "-k", f"[{name}-"]
    if kind == "sample":
        return [SAMPLES, "-k", f"[{name}]"]
    return [entry]


def faults(rows: Mapping[str, Sequence[str]], found: Collection[str]) -> list[str]:
    """Name modules without a row, rows without a module, and tests that do not exist."""
    lines = [f"{name}: no test is known to execute it" for name in found if not rows.get(name)]
    lines += [f"{name}: is no module with functions" for name in rows if name not in found]
    tests = {test for module in rows for test in rows[module]}
    gone = missing_tests(tests)
    return lines + [f"{test}: is no test" for test in sorted(gone)]


def missing_tests(tests: Iterable[str]) -> set[str]:
    """Return those of the tests that do not exist; golden programs stand in recordings."""
    return {test for test in tests if not _exists(test)}


def _exists(test: str) -> bool:
    kind, _, name = test.partition(":")
    if kind == "golden":
        family, _, function = name.rpartition("/")
        return any(f'{mark}{function}":{{' in _programs(family) for mark in '"/')
    if kind == "sample":
        return name in _cards()
    path, *parts = test.split("::")
    return (ROOT / path).is_file() and all(f" {part}(" in _text(path) for part in parts[-1:])


@functools.cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def _programs(family: str) -> str:
    """Return the recording of a family, in which the names of its programs stand."""
    path = ROOT / "tests" / "golden" / "recorded" / f"{family}.json.gz"
    return gzip.decompress(path.read_bytes()).decode("ascii") if path.exists() else ""


@functools.cache
def _cards() -> dict[str, str]:
    """Return the modules of the cards, by operation."""
    sys.path[:0] = [str(ROOT / "src")] if str(ROOT / "src") not in sys.path else []
    from stillflow.graph.card import load_all

    places = {name: Path(card.place[0]).resolve() for name, card in load_all().items()}
    return {name: place.relative_to(ROOT).as_posix() for name, place in places.items()}


def home_of(name: str) -> tuple[str, ...]:
    """Return the place of a module, or of the module that a test is about, as parts of a path."""
    kind, _, rest = name.partition(":")
    if kind == "golden":
        return tuple(rest.split("/")[:-1])
    if kind == "sample":
        return home_of(_cards().get(rest, ""))
    path = name.partition("::")[0].removesuffix(".py")
    parts = [part for part in path.split("/") if part not in ("src", "tests", "stillflow")]
    return tuple(part.removeprefix("test_") for part in parts if part != "__init__")


def nearness(module: str, test: str) -> int:
    """Count the parts of the paths that are the same; `image` counts as `ops/image` does."""
    one, other = home_of(module), home_of(test)
    if one[:1] != other[:1]:
        one, other = (home[home[:1] == ("ops",) :] for home in (one, other))
    common = 0
    for a, b in zip(one, other):
        if a != b:
            break
        common += 1
    return common


def choose(module: str, sizes: Mapping[str, int]) -> list[str]:
    """Return the tests to name for a module, from all that execute it and so many modules each."""
    ranked = sorted(sizes, key=lambda test: (-nearness(module, test), sizes[test], test))
    chosen: list[str] = []
    for most_of_a_file in (1, MOST):
        for test in ranked:
            same = sum(_file_of(test) == _file_of(each) for each in chosen)
            if test not in chosen and same < most_of_a_file and len(chosen) < MOST:
                chosen.append(test)
    return chosen


def _file_of(test: str) -> str:
    kind, _, name = test.partition(":")
    return name.rpartition("/")[0] if kind == "golden" else test.partition("::")[0]


# ---- measuring


def trace(arguments: Sequence[str], out: Path) -> int:
    """Run tests of pytest under the tracer; their modules go to a file."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", UNMARKED,
        "-p", "tests.tracing.plugin", "--trace-to", str(out), *arguments,
    ]  # fmt: skip
    return subprocess.run(command, cwd=ROOT).returncode


def read_traces(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Return the modules by test of the index."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        names: dict[str, str] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, *fields = line.split("\t")
            if kind == "M":
                names[fields[0]] = fields[1]
            else:
                found[entry_of(fields[0])] |= {names[number] for number in fields[1].split()}
    return found


def rows_of(traces: Mapping[str, Collection[str]], wanted: Collection[str]) -> Rows:
    """Return rows for the modules that are wanted and that a test executed."""
    tests: dict[str, dict[str, int]] = defaultdict(dict)
    for test, executed in traces.items():
        for module in executed:
            tests[module][test] = len(executed)
    return {module: choose(module, tests[module]) for module in wanted if tests[module]}


def candidates(module: str) -> list[list[str]]:
    """Return runs of pytest for tests that are likely to execute a module."""
    home = home_of(module)
    runs = []
    for depth in range(len(home), 0, -1):
        folder = ROOT.joinpath("tests", *home[: depth - 1])
        files = [folder / f"test_{home[depth - 1]}.py", folder / home[depth - 1]]
        runs += [[path.relative_to(ROOT).as_posix()] for path in files if path.exists()]
        if runs:
            break
    near = {home, home[1:]} if home[:1] == ("ops",) else {home}
    for place in near:
        runs.append([GOLDENS, "-k", f"[{'/'.join(place[:2])} and values]"])
    operations = [name for name, source in _cards().items() if source == module]
    if operations:
        runs.append([SAMPLES, "-k", " or ".join(f"[{name}]" for name in operations)])
    return runs


def renamed(since: str) -> dict[str, str]:
    """Return new names by old ones of files moved after a commit, or about to be."""
    command = ["git", "diff", "-M", "--diff-filter=R", "--name-status", since, "--", "src", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(line.split("\t")[1:] for line in done.stdout.splitlines())


def follow(rows: Rows, moves: Mapping[str, str]) -> Rows:
    """Return rows with modules and tests under their new names."""

    def moved(test: str) -> str:
        kind, _, name = test.partition(":")
        if kind == "golden":
            family, _, function = name.rpartition("/")
            new = moves.get(f"tests/golden/programs/{family}.py", "")
            found = new.removeprefix("tests/golden/programs/").removesuffix(".py") or family
            return f"golden:{found}/{function}"
        path, colons, rest = test.partition("::")
        return moves.get(path, path) + colons + rest

    return {moves.get(module, module): [moved(test) for test in rows[module]] for module in rows}


def update(tests: Sequence[str]) -> int:
    """Follow moved files, drop what no longer exists, and measure modules that then have no row."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%H", "--", str(INDEX)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = follow(read_index(), renamed(done.stdout.strip())) if done.stdout else read_index()
    found = modules()
    gone = missing_tests({test for tests in rows.values() for test in tests})
    rows = {
        module: kept
        for module in found
        if (kept := [test for test in rows.get(module, []) if test not in gone])
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "trace.txt")
        for module in [name for name in found if name not in rows]:
            for run in [tests] if tests else candidates(module):
                if module in rows:  # an earlier run has executed it
                    break
                trace(run, out)
                rows = {**rows_of(read_traces([out]), found), **rows}
            if tests:
                break
    write_index(rows)
    return _report(rows, found)


def _report(rows: Rows, found: Sequence[str]) -> int:
    lines = faults(rows, found)
    print(*lines, sep="\n", end="\n" if lines else "")
    if lines:
        print(
            "python tools/test_index.py --update adds what is missing, by tests near a module;"
            " --update TESTS by these. A module that no test executes needs one."
        )
    return 1 if lines else 0


def show(paths: Sequence[str]) -> int:
    """Print the tests of modules, or of all modules in folders, and the commands that run them."""
    rows = read_index()
    status = 0
    for path in paths:
        name = Path(path).resolve().relative_to(ROOT).as_posix()
        chosen = [row for row in rows if row == name or row.startswith(name + "/")]
        for module in chosen:
            print(module)
            for test in rows[module]:
                command = [
                    f'"{word}"' if re.search(r"[\[ ]", word) else word for word in command_of(test)
                ]
                print("    python -m pytest", *command)
        if not chosen:
            print(f"{name}: has no row in {INDEX.relative_to(ROOT)}", file=sys.stderr)
            status = 1
    return status


def main(given: Sequence[str] | None = None) -> int:
    """Return 1 if the index has faults or the modules asked for have no row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="modules or folders of src; tests to measure")
    parser.add_argument("--check", action="store_true", help="print faults of the index")
    parser.add_argument("--update", action="store_true", help="measure modules without a row")
    arguments = parser.parse_args(given)
    if arguments.check:
        return _report(read_index(), modules())
    if arguments.update:
        return update(arguments.paths)
    return show(arguments.paths)


if __name__ == "__main__":
    sys.exit(main())
