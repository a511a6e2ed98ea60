"""Benchmarks side by side: the same programs under Stillflow, TF 1.15, TF 2, PyTorch and JAX.

    python benchmarks/run.py --out results.json
    python -m benchmarks --only resnet20,scalar_add --implementations tf115,stillflow --rounds 3

Every (program, implementation) of every round runs in a fresh process; rounds are interleaved.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # started as a script
    sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.child import MARK, module_of  # noqa: E402

PROGRAMS = [
    "scalar_add",
    *report.STEP_PROGRAMS,
    *report.NETWORK_PROGRAMS,
    *report.LOOP_PROGRAMS,
    *report.INPUT_PROGRAMS,
    *report.FILE_PROGRAMS,
    *report.COSTS,
]
IMPLEMENTATIONS = ["tf115", "stillflow", "tf2", "torch", "compile", "jax"]
REFERENCE = "tf115"


def main(argv: list[str] | None = None) -> int:
    """Run, write the JSON, print the table; returns 1 if anything failed."""
    options = parse(argv)
    names = [n for n in options.implementations.split(",") if usable(n)]
    programs = options.only.split(",")
    records = []
    load = busy()
    if load:
        print(f"the machine is busy ({load}): its ratios are not worth quoting", file=sys.stderr)
    compile_sources()
    for turn in range(options.rounds):
        for program in programs:
            for name in rotated(names, turn):
                if has_program(program, name):
                    record = run_child(program, name, options)
                    records.append({"round": turn, **record})
    failures = [r for r in records if "error" in r]
    if options.out:
        write(options.out, records, names, load)
    print_report(records, names)
    for record in failures:
        print(f"FAILED {record['program']} {record['implementation']}: {record['error']}")
    missed = list(report.missed_goals(records, "stillflow", REFERENCE)) if options.check else []
    for line in missed:
        print("goal missed: " + line)
    return 1 if failures or missed else 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--out", help="JSON file for the raw numbers and the ratios")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs: %(default)s")
    parser.add_argument(
        "--implementations", default=",".join(IMPLEMENTATIONS), help="any of %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes each (%(default)s)")
    parser.add_argument(
        "--steps",
        type=float,
        default=1.0,
        help="share of each program's usual number of steps (%(default)s)",
    )
    parser.add_argument("--gpu", action="store_true", help="let the peers see the GPU")
    parser.add_argument("--check", action="store_true", help="fail if Stillflow misses a goal")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one process")
    options = parser.parse_args(argv)
    for given, known in [(options.only, PROGRAMS), (options.implementations, IMPLEMENTATIONS)]:
        unknown = set(given.split(",")) - set(known)
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return options


def interpreter(name: str) -> str:
    """Return the Python that runs an implementation: ours, or the peer's own environment."""
    if name in ("stillflow", "torch", "compile"):
        return sys.executable
    root = os.environ.get("STILLFLOW_ENVS") or Path.home() / ".cache" / "stillflow-envs"
    return str(Path(root) / name / "bin" / "python")


def usable(name: str) -> bool:
    """Return True if the interpreter is there; says so if it is not."""
    if Path(interpreter(name)).exists():
        return True
    print(f"{name}: left out, there is no {interpreter(name)}", file=sys.stderr)
    return False


def has_program(program: str, name: str) -> bool:
    """PyTorch and JAX have versions of the training programs only."""
    return (ROOT / "benchmarks" / "programs" / f"{module_of(program, name)}.py").exists()


def rotated(names: list[str], turn: int) -> list[str]:
    """Another implementation begins in every round."""
    start = turn % len(names) if names else 0
    return names[start:] + names[:start]


def run_child(program: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run a fresh process; return its measurements, or its error."""
    record: dict[str, Any] = {"program": program, "implementation": name}
    command = [
        interpreter(name),
        "-W",
        "ignore",
        "-m",
        "benchmarks.child",
        program,
        name,
        str(options.steps),
    ]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(options.gpu),
            check=False,
            timeout=options.timeout,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return {**record, "error": f"took longer than {options.timeout:g} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not lines:
        tail = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        record["error"] = tail[0]
    else:
        record.update(json.loads(lines[-1][len(MARK) :]))
    progress = record.get("error") or f"{record['step'] * 1e3:.3f} ms a step"
    print(f"{program:<20} {name:<10} {progress}", file=sys.stderr, flush=True)
    return record


def environment(gpu: bool) -> dict[str, str]:
    """Quiet, with bytecode kept, and on the CPU unless the GPU is asked for."""
    settings = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
    if not gpu:
        settings.update(CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **settings}


def compile_sources() -> None:
    """Make the bytecode that pip makes when it installs a package, as it did for the peers."""
    compileall.compile_dir(ROOT / "src" / "stillflow", quiet=1)


def busy() -> str:
    """Return the load of the machine when it is too high for measurements, else nothing."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return f"load {load:.1f} on {os.cpu_count()} CPUs" if load > 0.3 * (os.cpu_count() or 1) else ""


def write(path: str, records: list[dict[str, Any]], names: list[str], load: str) -> None:
    """Raw records, the machine, whether it was busy, and the ratios."""
    ratios = {
        row.title: {
            name: found._asdict()
            for name in names
            if (found := report.ratio(records, row, name, REFERENCE))
        }
        for row in report.rows()
    }
    machine = {
        "cpus": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "busy": load,
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine, "ratios": ratios, "records": records}
    Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def print_report(records: list[dict[str, Any]], names: list[str]) -> None:
    """Print the table, and a note for implementations that did not do the same work."""
    good = [record for record in records if "error" not in record]
    for line in report.table(good, names, REFERENCE):
        print(line)
    for line in report.cost_table(good, names):
        print(line)
    for line in report.different_losses(good, "stillflow", REFERENCE):
        print("not the same numbers, " + line)


if __name__ == "__main__":
    sys.exit(main())
