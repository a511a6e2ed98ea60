"""Score the test suites of libraries written on TensorFlow 1.x, file by file.

Each test file runs with pytest in a process of its own, first on TensorFlow 1.15.5, then on
Stillflow; the second run selects the methods that passed in the first. `tools/libraries.sh` lays
the sources out and calls this file, which is also the pytest plugin of both runs (Python 3.7 or
later).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Read by the plugin inside the test processes.
RECORD, SELECT, LIMIT, MOST = (
    "LIBRARIES_RECORD",
    "LIBRARIES_SELECT",
    "LIBRARIES_LIMIT",
    "LIBRARIES_MOST",
)


# The plugin


def pytest_configure(config):
    """Accept absl's flags as they are: pytest has parsed the command line already.

    Modules of a class of their own whose `__getattr__` raises KeyError for missing names, as
    texar's, raise what pytest expects.
    """
    from absl import flags

    flags.FLAGS.mark_as_parsed()
    consider = config.pluginmanager.consider_module

    def consider_module(module, *args, **options):
        kind = type(module)
        get = getattr(kind, "__getattr__", None)

        def attribute(self, name):
            try:
                return get(self, name)
            except KeyError:
                raise AttributeError(name) from None

        if get is not None:
            kind.__getattr__ = attribute
        return consider(module, *args, **options)

    config.pluginmanager.consider_module = consider_module


def pytest_collection_modifyitems(config, items):
    """Select the methods of the reference run, or an even sample of the file's methods."""
    if SELECT in os.environ:
        wanted = set(json.loads(Path(os.environ[SELECT]).read_text()))
        items[:] = [item for item in items if _method(item.nodeid) in wanted]
    most = int(os.environ[MOST])
    if len(items) > most:
        items[:] = [items[i * len(items) // most] for i in range(most)]


def pytest_runtest_setup(item):
    """Start the clock of a method."""
    signal.signal(signal.SIGALRM, _expired)
    signal.alarm(int(os.environ[LIMIT]))


def pytest_runtest_logreport(report):
    """Append the result of a method to the record, so that a crash loses no earlier one."""
    if report.when == "teardown":
        signal.alarm(0)
    if report.when != "call" and report.outcome == "passed":
        return
    entry = {"method": _method(report.nodeid), "outcome": report.outcome, "phase": report.when}
    entry["seconds"] = round(report.duration, 2)
    if report.outcome == "failed":
        entry["text"] = str(report.longrepr)[-6000:]
    with open(os.environ[RECORD], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _expired(number, frame):
    raise TimeoutError(f"a method took more than {os.environ[LIMIT]} seconds")


def _method(node: str) -> str:
    """Return the part of a pytest node id behind the file, without addresses of objects."""
    return re.sub(r"0x[0-9a-f]+", "0x", node.partition("::")[2])


# The runs


def run_file(side: str, library: dict, file: str, options: argparse.Namespace, select=None) -> dict:
    """Run one test file and return the outcome, time and text of each method."""
    place = Path(options.out) / side / library["name"]
    place.mkdir(parents=True, exist_ok=True)
    stem = str(place / file.replace("/", "+"))
    for old in (stem + ".jsonl", stem + ".log"):
        Path(old).unlink(missing_ok=True)
    sources = Path(options.out) / f"sources-{side}"
    roots = sorted(folder for folder in sources.iterdir() if folder.is_dir())
    here = Path(__file__).resolve().parent
    own = sources / library["name"]
    path = [here, Path(options.out) / f"packages-{side}", own, own / "src", *roots]
    interpreter, launcher = options.oracle, ["-m", "pytest"]
    if side == "ours":
        interpreter, launcher = options.python, ["-m", "stillflow", "-m", "pytest"]
        path.insert(0, here.parent / "src")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)))
    environment.update(
        {RECORD: stem + ".jsonl", LIMIT: str(options.limit), MOST: str(options.most)}
    )
    environment.update(OMP_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the next file imports the same modules
    if select is not None:
        Path(stem + ".select").write_text(json.dumps(select))
        environment[SELECT] = stem + ".select"
    flags = ["-p", "libraries", "-p", "no:cacheprovider", "-q", "-c", os.devnull, "--tb=short"]
    command = [interpreter, *launcher, *flags, "--rootdir=.", file]
    started = time.monotonic()
    status = _wait(command, sources / library["name"], environment, stem + ".log", options.total)
    seconds = round(time.monotonic() - started, 1)
    return {"status": status, "seconds": seconds, "methods": _read(Path(stem + ".jsonl"))}


def _wait(command: list, folder: Path, environment: dict, log: str, limit: int) -> int | str:
    """Run a command in a process group of its own; return its status, or "timeout"."""
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def _read(record: Path) -> dict:
    """Return the last word on each method; a failed teardown counts as a failure."""
    methods: dict = {}
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    for line in lines:
        entry = json.loads(line)
        name = entry.pop("method")
        if methods.get(name, {}).get("outcome") != "failed":
            methods[name] = entry
    return methods


def test_files(library: dict, options: argparse.Namespace) -> list[str]:
    """Return every `options.every`-th test file of a library, from `options.first` on."""
    root = Path(options.out) / "sources-ours" / library["name"]
    found = {
        str(file.relative_to(root))
        for pattern in library["tests"].split()
        for file in root.glob(pattern)
    }
    if options.file:
        return sorted(file for file in found if re.search(options.file, file))
    return sorted(found)[options.first :: options.every]


def reference(library: dict, file: str, options: argparse.Namespace) -> dict:
    """Return the run of a file on TensorFlow 1.15.5, from the cache if it is there."""
    cache = Path(options.out) / "cache" / library["name"] / (file.replace("/", "+") + ".json")
    key = [library["commit"], options.most]
    if cache.exists():
        kept = json.loads(cache.read_text())
        if kept["key"] == key:
            return kept["run"]
    result = run_file("reference", library, file, options)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"key": key, "run": result}))
    return result


def compare(library: dict, file: str, options: argparse.Namespace) -> dict:
    """Run one file on both sides; return how many methods pass, and the failures here."""
    first = reference(library, file, options)
    passing = [name for name, entry in first["methods"].items() if entry["outcome"] == "passed"]
    row = {"library": library["name"], "file": file, "reference": len(passing), "passed": 0}
    row["seconds"] = [first["seconds"], 0.0]
    row["failures"] = {}
    if not passing or options.only_reference:
        return row
    second = run_file("ours", library, file, options, passing)
    row["seconds"][1] = second["seconds"]
    for name in passing:
        entry = second["methods"].get(name)
        if entry is not None and entry["outcome"] == "passed":
            row["passed"] += 1
        else:
            lost = f"no result (status {second['status']}); see its log"
            row["failures"][name] = entry.get("text", entry["outcome"]) if entry else lost
    return row


def report(rows: list[dict], goal: float) -> bool:
    """Print the share of every library and of all; return True if every goal is met."""
    libraries = sorted({row["library"] for row in rows})
    met = True
    for name in [*libraries, "all"]:
        mine = [row for row in rows if name in (row["library"], "all")]
        total = sum(row["reference"] for row in mine)
        passed = sum(row["passed"] for row in mine)
        times = [sum(row["seconds"][side] for row in mine) for side in (0, 1)]
        share = 100 * passed / total if total else 100.0
        met = met and share >= (99.5 if name == "all" else goal)
        print(
            f"{name:22} {passed:5} of {total:5}  {share:6.2f} %  {times[0]:.0f} s {times[1]:.0f} s"
        )
    return met


def read_table(path: Path) -> list[dict]:
    """Read a table of tab-separated columns with a header."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:]]


def main() -> int:
    """Run the suites that the command line names; return 1 if a share is below its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="libraries (all)")
    parser.add_argument("--out", required=True)
    parser.add_argument("--oracle", required=True, help="interpreter with TensorFlow 1.15.5")
    parser.add_argument("--python", default=sys.executable, help="interpreter to test with")
    parser.add_argument("--every", type=int, default=1, help="run every N-th file")
    parser.add_argument("--first", type=int, default=0, help="number of the first file to run")
    parser.add_argument("--most", type=int, default=40, help="methods of one file")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one method")
    parser.add_argument("--total", type=int, default=900, help="seconds for one file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", help="regular expression: run these files only")
    parser.add_argument("--only-reference", action="store_true")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    table = read_table(Path(__file__).with_name("libraries.tsv"))
    chosen = [row for row in table if not options.names or row["name"] in options.names]
    work = [(library, file) for library in chosen for file in test_files(library, options)]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda pair: compare(*pair, options), work):
            rows.append(row)
            if row["passed"] < row["reference"] and not options.only_reference:
                print(f"{row['library']} {row['file']}: {row['passed']} of {row['reference']}")
                sys.stdout.flush()
    results = Path(options.out) / "results.json"
    results.write_text(json.dumps(rows, indent=1))
    return 0 if report(rows, 98.0) else 1


if __name__ == "__main__":
    sys.exit(main())
