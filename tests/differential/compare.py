"""Differences between outcomes of the same cases.

    python -m tests.differential.compare OURS THEIRS [--all]

Prints counts by kind of difference, then a line for each; the exit status is 1 if there are any.
What is no fault of ours is counted apart, by the reason, and printed with --all.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import pickle
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .outcomes import pack, unpack

#: Relative tolerance by the size of a real number in bytes; training adds up a few roundings.
TOLERANCES = {2: 2e-2, 4: 2e-3, 8: 1e-6}
PARTS = ("refused", "result", "nodes", "collections", "shapes", "types")
SAME_FAULT = 0.6  # how alike the words of two messages are that tell one fault

#: Words of Python itself, which change from one version to the next.
PYTHON = re.compile(
    r"object has no attribute|must be str|can only concatenate|unsupported operand|"
    r"object is not (callable|iterable|subscriptable)|argument of type|not supported between|"
    r"positional argument|unexpected keyword|required argument|unhashable|has no len|"
    r"referenced before assignment|cannot unpack|values to unpack|indices must be|"
    r"an integer is required|cannot be interpreted as an integer|int\(\) argument|"
    r"float\(\) argument|could not convert string|bad operand|__array__|list index|"
    r"values must be a sequence|pickle .* objects?$|expected string or bytes|bytes-like|"
    r"first argument must be|truth value of an array|only size-1|cannot reshape array|"
    r"setting an array"
)
#: What is told of a name that TensorFlow does not have, or has no more.
ABSENT = re.compile(r"module '.*' has no attribute|Op \w+ is not available in GraphDef version")
#: TensorFlow's message for a kernel that is missing on the CPU, where we have one.
LACKING = re.compile(
    r"No OpKernel was registered|Could not find valid device|(?:on|for) (?:device type )?CPU|"
    r"only (?:supports?|works? with) NHWC|CPU implementation|not (?:yet )?implemented|"
    r"not (?:yet )?supported on CPU|does not support|"
    r"(?:implementation|currently) only supports|mkldnn_sgemm|"
    r"must be real-valued floating-point, but got C"
)


#: Operations of vectors whose signs nothing says: another library gives others.
EITHER_SIGN = {"BatchSvd", "BatchSelfAdjointEigV2", "Qr", "SelfAdjointEigV2", "Svd"}
#: Functions that give what these do, by the last part of their names.
EITHER_SIGN |= {"eigh", "qr", "self_adjoint_eig", "svd"}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each difference, and a line that tells it."""
    if ours["stage"] != theirs["stage"]:
        yield _stage_kind(ours, theirs), _sides(_told(ours), _told(theirs))
        return
    if ours["error"] != theirs["error"]:
        pair = ours["error"], theirs["error"]
        kind = "message" if pair[0][0] == pair[1][0] else "error class"
        yield kind, _sides(_told(ours), _told(theirs))
    for part in PARTS:
        if ours.get(part) != theirs.get(part):
            yield part, _first_difference(ours.get(part), theirs.get(part))
            return  # what follows from it would only repeat it
    values = ours.get("values", []), theirs.get("values", [])
    wrong = _different_values(*values, noise=ours.get("noise", 0.0))
    if wrong:
        yield "values", wrong


def _stage_kind(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    for kind in ("crash", "hang", "tool"):
        if kind in (ours["stage"], theirs["stage"]):
            return kind
    if ours["stage"] == "done":
        return "accepted"
    return "refused" if theirs["stage"] == "done" else "stage"


def _told(outcome: dict[str, Any]) -> str:
    return outcome["stage"] + (" {}: {}".format(*outcome["error"]) if outcome["error"] else "")


def _sides(ours: Any, theirs: Any) -> str:
    return f"{str(ours)[:200]} | not {str(theirs)[:200]}"


def _first_difference(ours: Any, theirs: Any) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted({*ours, *theirs})
        ours, theirs = ([[key, side.get(key)] for key in keys] for side in (ours, theirs))
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return _sides(ours, theirs)
    for place, pair in enumerate(zip(ours, theirs)):
        if pair[0] != pair[1]:
            return f"at {place}: {_sides(*pair)}"
    return f"{len(ours)} instead of {len(theirs)}"


def _different_values(ours: list[Any], theirs: list[Any], noise: float = 0.0) -> str | None:
    for place, pair in enumerate(zip(ours, theirs)):
        wrong = _different(*(unpack(packed) for packed in pair), noise)
        if wrong:
            return f"at {place}: {wrong}"
    return None if len(ours) == len(theirs) else f"{len(ours)} instead of {len(theirs)}"


def _different(ours: np.ndarray, theirs: np.ndarray, noise: float) -> str | None:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape} | not {theirs.dtype}{theirs.shape}"
    if ours.dtype.kind not in "fc":
        close = ours == theirs
    else:
        close = _close(ours, theirs, noise)
    if np.all(close):
        return None
    wrong = ~np.asarray(close)
    return f"{wrong.sum()} of {wrong.size}: " + _sides(ours[wrong][:4], theirs[wrong][:4])


def _close(ours: np.ndarray, theirs: np.ndarray, noise: float) -> np.ndarray:
    """Return True for numbers that agree; small ones next to large ones are cancelled sums."""
    if ours.dtype.kind == "c":
        sizes = np.abs(theirs[np.isfinite(theirs)])
        if sizes.size:  # either part of a product rounds by its size
            noise += 1e-6 * sizes.max()
        real = _close(ours.real, theirs.real, noise)
        return real & _close(ours.imag, theirs.imag, noise)
    tolerance = TOLERANCES[theirs.dtype.itemsize]
    with np.errstate(all="ignore"):
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
        finite = np.abs(theirs[np.isfinite(theirs)])
        largest = finite.max() if finite.size else 0.0
        least = noise + 1e-6 * min(largest, 1.0)
        allowed = tolerance * np.maximum(np.abs(theirs), 1e-3 * largest) + least
        equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        return equal | (np.isfinite(theirs) & (np.abs(ours - theirs) <= allowed))


def forgiven(
    kind: str, case: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> str | None:
    """Why a difference is no fault of ours, or None if it may be one."""
    return next((why for why, holds in FORGIVEN.items() if holds(kind, case, ours, theirs)), None)


def _message(outcome: dict[str, Any]) -> str:
    return outcome["error"][1] if outcome["error"] else ""


def _two_faults(kind: str, case: dict[str, Any], ours: Any, theirs: Any) -> bool:
    """Return True if both raise errors for a call with several changes, with other texts.

    Nobody but a reader can tell that from one fault in other words, so `--all` is worth a look.
    """
    if kind not in ("message", "error class", "stage") or case.get("changes", 0) < 2:
        return False
    if ABSENT.match(_message(theirs)) or _message(ours) in _message(theirs):
        return False
    alike = difflib.SequenceMatcher(None, _message(ours), _message(theirs), autojunk=False)
    return alike.ratio() < SAME_FAULT


def _either_sign(kind: str, case: dict[str, Any], ours: Any, theirs: Any) -> bool:
    if kind != "values" or case["name"].rpartition(".")[2] not in EITHER_SIGN:
        return False
    sizes = ([pack(np.abs(unpack(value))) for value in side["values"]] for side in (ours, theirs))
    return _different_values(*sizes) is None


FORGIVEN = {
    "TensorFlow crashes or hangs": lambda kind, case, ours, theirs: (
        theirs["stage"] in ("crash", "hang") and ours["stage"] not in ("crash", "hang")
    ),
    "a kernel that TensorFlow lacks on the CPU": lambda kind, case, ours, theirs: (
        kind in ("accepted", "stage", "message", "error class")
        and theirs["stage"] == "run"
        and bool(LACKING.search(_message(theirs)))
    ),
    "other nodes on purpose (docs/differences.md)": lambda kind, case, ours, theirs: (
        kind in ("result", "nodes") and case["name"] == "vectorized_map"
    ),
    "vectors of either sign": _either_sign,
    "random without a seed": lambda kind, case, ours, theirs: (
        kind == "values" and theirs.get("unseeded", False) and ours.get("unseeded", False)
    ),
    "Python's own words": lambda kind, case, ours, theirs: (
        kind in ("message", "error class") and bool(PYTHON.search(_message(theirs)))
    ),
    "taken here, where TensorFlow trips over the kind of an argument": (
        lambda kind, case, ours, theirs: (
            kind == "accepted" and bool(PYTHON.search(_message(theirs)))
        )
    ),
    "words that are not alike, likely of two faults": _two_faults,
}


def report(ours: dict[str, Any], theirs: dict[str, Any], everything: bool = False) -> int:
    """Print how two written runs differ; return the number of differences."""
    # As texts, for a NaN among the attributes is not equal to itself.
    if repr(ours["cases"]) != repr(theirs["cases"]) or ours["kind"] != theirs["kind"]:
        raise SystemExit("these are runs of other cases: run the second with --cases OURS")
    counts: dict[str, collections.Counter] = {
        name: collections.Counter() for name in ("same", "different", "no fault")
    }
    lines = []
    for number, case in enumerate(ours["cases"]):
        pair = ours["outcomes"][number], theirs["outcomes"][number]
        found = list(differences(*pair))
        if not found:
            counts["same"][pair[0]["stage"]] += 1
        for kind, told in found:
            why = forgiven(kind, case, *pair)
            counts["no fault" if why else "different"][why or kind] += 1
            if everything or not why:
                shown = f"{number} {_called(case)}: {kind}: {told}"
                lines.append(shown + (f" (no fault: {why})" if why else ""))
    for name, counter in counts.items():
        details = ", ".join(f"{count} {kind}" for kind, count in counter.most_common())
        print(f"{name}: {sum(counter.values())}" + (f" ({details})" if details else ""))
    print("\n".join(sorted(lines, key=lambda line: line.partition(": ")[2])))
    return sum(counts["different"].values())


def _called(case: dict[str, Any]) -> str:
    return " ".join(str(case[key]) for key in ("name", "seed") if key in case)


def main(argv: list[str]) -> int:
    """Compare two files that `run` wrote."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("--all", action="store_true", help="print what is no fault as well")
    options = parser.parse_args(argv)
    runs = []
    for path in (options.ours, options.theirs):
        with open(path, "rb") as file:
            runs.append(pickle.load(file))
    return 1 if report(*runs, everything=options.all) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
