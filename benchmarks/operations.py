"""Time of single operations under TensorFlow 1.15.5 and Stillflow, at three sizes each.

    python -m benchmarks.operations                               # all operations with a sample
    python -m benchmarks.operations Cumsum SparseReduceSum --sizes 100,10000 --above 0
    python -m benchmarks.operations --part 3/10 --out out/operations.json

The samples of the cards are the arguments. A sample grows until its largest input has about as many
elements as a size says: its values are repeated along all axes, equal dimensions staying equal, or
along the first or the last axis alone, whichever both implementations accept. Constants such as
axes and shapes stay as they are. One graph, a GraphDef, is for both; inputs are fed, outputs are
not fetched. Each implementation has a process of its own, and they take turns; of all their runs
the fastest counts.

The table has the operations above a ratio, worst first. Ratios of runs below 0.2 ms are those of
`Session.run` rather than of a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

if __package__ in (None, ""):  # started as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.peer import PEERS, Peer

SIZES = "100,10000,1000000"
WAYS = ("all", "first", "last")  # in which a sample grows
ROUNDS, SECONDS, PATIENCE = 3, 0.05, 20.0


# ---- Arguments


def graph_of(card: Any) -> bytes | None:
    """Return a graph of an operation, its arguments "value_k" and the inputs they are fed to.

    None for operations without a sample that can be fed.
    """
    from tests.ops.sampling import arrays_of

    import stillflow as tf
    from stillflow.ops.samples import Sample

    samples = card.samples_part() if card.samples_part else ()
    sample = next((each for each in samples if isinstance(each, Sample)), None)
    if sample is None or not card.signature.inputs:
        return None
    with tf.Graph().as_default() as graph:
        inputs: list[Any] = []
        count = 0
        for place, given in enumerate(arrays_of(card, sample)):
            made = []
            for array in given if isinstance(given, list) else [given]:
                value = tf.constant(single(array), name=f"value_{count}")
                name = f"{'fixed' if place in sample.fixed else 'input'}_{count}"
                made.append(tf.placeholder(value.dtype, name=name))
                count += 1
            inputs.append(made if isinstance(given, list) else made[0])
        card(*inputs, name="measured", **sample.attrs)
    return bytes(graph.as_graph_def().SerializeToString())


def single(array: Any) -> Any:
    """Return an array in single precision, which programs use, if it is in double precision."""
    return array.astype(np.float32) if array.dtype == np.float64 else array


def grown(arrays: dict[str, Any], size: int, way: str) -> dict[str, Any] | None:
    """Return the inputs with about `size` elements in the largest; None if they have more now."""
    growing = [each for name, each in arrays.items() if name.startswith("input") and each.ndim]
    largest = max(growing, key=lambda each: each.size, default=None)
    if largest is None or largest.size >= size:
        return None
    axes = max(1, sum(count > 1 for count in largest.shape)) if way == "all" else 1
    factor = max(2, round((size / max(1, largest.size)) ** (1 / axes)))

    def repeated(array: Any) -> Any:
        chosen = {"all": range(array.ndim), "first": [0], "last": [array.ndim - 1]}[way]
        for axis in chosen:
            count = array.shape[axis]
            if count > 1 or way != "all":
                array = np.take(array, np.arange(count * factor) % max(1, count), axis)
        return array

    return {
        name: repeated(each) if name.startswith("input") and each.ndim else each
        for name, each in arrays.items()
    }


# ---- One implementation, which answers requests; Python 3.7 as well


class Measured:
    """An operation in a session."""

    def __init__(self, tf: Any, path: str) -> None:
        graph_def = tf.GraphDef()
        with open(path, "rb") as file:
            graph_def.ParseFromString(file.read())
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        names = [node.name for node in graph_def.node if node.op == "Placeholder"]
        self._session = tf.Session(graph=graph)
        self._arrays = {
            name: self._session.run(f"value_{name.partition('_')[2]}:0") for name in names
        }
        self._op = graph.get_operation_by_name("measured")

    def seconds(self, size: int, way: str) -> dict[str, Any]:
        """Return the least time of several runs, and the elements of the largest input."""
        arrays = {name: np.asarray(each) for name, each in self._arrays.items()}
        found = grown(arrays, size, way) if size else None
        if found is not None:
            arrays = found
        feeds = {f"{name}:0": array for name, array in arrays.items()}
        self._session.run(self._op, feeds)
        best, end = float("inf"), time.perf_counter() + SECONDS
        while best == float("inf") or time.perf_counter() < end:
            start = time.perf_counter()
            self._session.run(self._op, feeds)
            best = min(best, time.perf_counter() - start)
        return {"seconds": best, "elements": max(each.size for each in arrays.values())}


_measured: dict[str, Measured] = {}


def answer(tf: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return the times of the operation of a graph at a size."""
    path = request["path"]
    if path not in _measured:
        _measured.clear()
        _measured[path] = Measured(tf, path)
    return _measured[path].seconds(request["size"], request["way"])


# ---- The comparison


def compare(peers: dict[str, Peer], name: str, path: str, size: int) -> dict[str, Any]:
    """Return an operation's times at a size, or why there are none."""
    error: dict[str, Any] = {}
    for way in WAYS if size else WAYS[:1]:
        rounds: list[dict[str, Any]] = []
        for _ in range(ROUNDS):
            found = {each: peer.ask(path=path, size=size, way=way) for each, peer in peers.items()}
            failed = {each: said["error"] for each, said in found.items() if "error" in said}
            if failed:
                error = error or failed
                break
            rounds.append(found)
        else:
            times = {each: min(r[each]["seconds"] for r in rounds) for each in peers}
            elements = rounds[0]["tf115"]["elements"]
            ratio = times["stillflow"] / times["tf115"]
            return {"op": name, "elements": elements, "way": way, **times, "ratio": ratio}
    return {"op": name, "size": size, "error": error}


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    from stillflow.graph import card as cards

    every = cards.load_all()
    part, parts = map(int, options.part.split("/"))
    names = (options.operations or sorted(every))[part - 1 :: parts]
    peers = {name: Peer(name, "benchmarks.operations", PATIENCE) for name in PEERS}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                graph = graph_of(every[name])
            except Exception as error:
                rows.append({"op": name, "error": {"graph": str(error)[:300]}})
                continue
            if graph is None:
                continue
            path = os.path.join(folder, name)
            Path(path).write_bytes(graph)
            seen: set[int] = set()
            for size in map(int, options.sizes.split(",")):
                row = compare(peers, name, path, size)
                if row.get("elements") not in seen:  # a sample that does not grow counts once
                    rows.append(row)
                    seen.add(row.get("elements", -size))
    for peer in peers.values():
        peer.close()
    if options.out:
        Path(options.out).write_text(json.dumps(rows, indent=1))
    report(rows, options.above)
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operations", nargs="*", help="names; all with a sample by default")
    parser.add_argument("--sizes", default=SIZES, help="elements, 0: the sample (%(default)s)")
    parser.add_argument("--above", type=float, default=1.5, help="the least ratio (%(default)s)")
    parser.add_argument("--part", default="1/1", help="every nth operation, from the kth: k/n")
    parser.add_argument("--out", help="JSON file for all times")
    return parser.parse_args(argv)


def report(rows: list[dict[str, Any]], above: float) -> None:
    """Print the operations above a ratio, and how many there are."""
    timed = [row for row in rows if "ratio" in row]
    for row in sorted(timed, key=lambda row: -row["ratio"]):
        if row["ratio"] > above:
            times = f"{row['tf115'] * 1e3:10.3f} {row['stillflow'] * 1e3:10.3f}"
            print(f"{row['op']:40} {row['elements']:10,} {times} {row['ratio']:7.2f}")
    slow = sum(row["ratio"] > above for row in timed)
    print(f"{slow} of {len(timed)} times above {above}; {len(rows) - len(timed)} not measured")


if __name__ == "__main__":
    sys.exit(main())
