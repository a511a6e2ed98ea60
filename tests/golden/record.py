"""Record golden programs under TensorFlow 1.15.5 (or capture them with another module).

python -m tests.golden.record [folder | family | family/program ...] [--check]
                               [--module tensorflow] [--session plain]
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from typing import Any

from tests.golden import compare, encode, sessions
from tests.golden.capture import Built
from tests.golden.registry import Program, describe_error, families, load_programs, split_name

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def main(argv: list[str]) -> int:
    """Record the families asked for; returns the number of programs that failed."""
    options = _parse(argv)
    if options.session != "plain" and not options.check:
        raise SystemExit("goldens are recorded in plain sessions; --session goes with --check")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(options.module)
    tf.logging.set_verbosity(tf.logging.ERROR)
    if not options.check and options.out == RECORDED and tf.__version__ != "1.15.5":
        raise SystemExit("goldens are recorded under TensorFlow 1.15.5, not " + tf.__version__)
    failures = 0
    for family in families():
        everything = [name for name in load_programs() if split_name(name)[0] == family]
        wanted = [name for name in everything if _asked_for(name, options.names)]
        if wanted:
            failures += _record_family(tf, family, wanted, everything, options)
    return failures


def _asked_for(name: str, given: list[str]) -> bool:
    """Return True for a named program, or one of a named family or folder; for all by default."""
    return not given or any((name + "/").startswith(each.rstrip("/") + "/") for each in given)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="folders, families, or programs as family/program")
    parser.add_argument("--module", default="tensorflow", help="the TF1 module to build with")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; print what differs from the recordings"
    )
    parser.add_argument(
        "--session", choices=sessions.WAYS, default="plain", help="what --check runs programs in"
    )
    parser.add_argument("--out", default=RECORDED, help="folder for the recordings")
    return parser.parse_args(argv)


def _record_family(
    tf: Any, family: str, wanted: list[str], everything: list[str], options: argparse.Namespace
) -> int:
    path = os.path.join(options.out, family + ".json.gz")
    stored = encode.read_recording(path) if os.path.exists(path) else {}
    recording: dict[str, Any] = {}
    failures = 0
    for name in wanted:
        try:
            record = _capture(tf, load_programs()[name], options.session)
            recording[split_name(name)[1]] = record
            print(f"{name:<52} {summary(record)}")
        except Exception as error:
            failures += 1
            print(f"{name:<52} FAILED {first_line(error)}")
    if options.check:
        return failures + sum(_differs(name, stored, new) for name, new in recording.items())
    if wanted != everything:
        still = {split_name(name)[1] for name in everything}
        kept = {name: old for name, old in stored.items() if name in still}
        recording = {**kept, **recording}
    size = encode.write_recording(path, recording)
    print(f"{family}: {len(recording)} programs, {size} bytes")
    return failures


def _capture(tf: Any, program: Program, way: str) -> dict[str, Any]:
    built = Built(tf, program)
    return {
        "graph": built.graph_record,
        "shapes": built.shapes_record,
        "values": sessions.record_values(built, way),
    }


def _differs(name: str, stored: dict[str, Any], new: dict[str, Any]) -> bool:
    """Print how a program differs from its recording; whether it does."""
    old = stored.get(name)
    lines = (
        ["not recorded yet"]
        if old is None
        else [
            *compare.graph_differences(old["graph"], new["graph"]),
            *compare.shape_differences(old["shapes"], new["shapes"]),
            *compare.value_differences(old["values"], new["values"]),
        ]
    )
    for line in lines:
        print(f"    differs: {line}")
    return bool(lines)


def first_line(error: Exception) -> str:
    """Class and first line of the message."""
    return "{class}: {message}".format(**describe_error(error))


def summary(record: dict[str, Any]) -> str:
    """One line to look at: sizes, and anything that deserves a second look."""
    values, errors, odd = 0, [], []
    if "error" in record["graph"]:
        errors.append(record["graph"]["error"])
    for run in record["values"]:
        leaves = [leaf for group in [run["facts"]] + run["steps"] for leaf in group.items()]
        values += len(leaves)
        errors += [leaf["error"] for _, leaf in leaves if "error" in leaf]
        errors += [run["error"]] if "error" in run else []
        odd += [path for path, leaf in leaves if _not_finite(leaf)]
    text = f"{len(record['graph'].get('node', [])):>4} nodes {values:>3} values"
    if not values and not errors:
        text += "  NOTHING RECORDED"
    text += "  not finite: " + ", ".join(odd) if odd else ""
    return text + "".join("\n    {class}: {message}".format(**error) for error in errors)


def _not_finite(leaf: dict[str, Any]) -> bool:
    if not leaf.get("dtype", "").startswith(("float", "complex", "bfloat")):
        return False
    return not all(math.isfinite(abs(x)) for x in encode.decode_array(leaf).ravel().tolist())


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
