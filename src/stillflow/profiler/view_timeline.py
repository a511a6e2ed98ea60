"""Profiles as traces that chrome://tracing shows: trees by time, operations by when they ran.

TensorFlow's also has arrows between devices, and the memory of a GPU's allocator.
"""

from __future__ import annotations

import json
from typing import Any

from stillflow.profiler.outputs import write
from stillflow.profiler.tree import Entry, walk

_RULE = "\n******************************************************\n"


def of_tree(root: Any) -> list[dict[str, Any]]:
    """Return the events of a tree: each entry lasts as long as all below it together."""
    events: list[dict[str, Any]] = []
    _add_tree(events, root, 0, 0, set())
    return events


def _add_tree(events: list[Any], entry: Any, start: int, depth: int, seen: set[int]) -> None:
    if depth not in seen:
        seen.add(depth)
        events.append(_process(f"Scope:{depth}", depth))
    args = {"name": entry.name, "op": entry.name}
    events.append(_region(start, entry.total["exec_micros"], depth, 0, entry.name, args))
    for child in entry.shown:
        spent = child.total["exec_micros"]
        if spent > 0:
            _add_tree(events, child, start, depth + 1, seen)
            start += spent


def of_graph(root: Entry, step: int) -> list[dict[str, Any]]:
    """Return the events of a step's operations, for each device in as many rows as overlap."""
    runs: dict[str, dict[int, tuple[str, int]]] = {}
    for entry, _ in walk(root):
        _add_runs(runs, entry, step)
    processes = {device: number for number, device in enumerate(runs)}
    events = []
    for device, number in processes.items():
        kind = "execution" if "stream" in device else "scheduling"
        events.append(_process(f"Op {kind} threads: {device}", number))
    for device, number in processes.items():
        lanes: list[int] = []  # when the last of each ends
        rows: dict[int, list[Any]] = {}
        for start, (name, spent) in sorted(runs[device].items()):
            lane = next((at for at, end in enumerate(lanes) if end <= start), len(lanes))
            lanes[lane : lane + 1] = [start + spent]
            rows.setdefault(lane, []).append(
                _region(start, spent, number, lane, name, {"name": name})
            )
        events += [event for lane in sorted(rows) for event in rows[lane]]
    return events


def _add_runs(runs: dict[str, dict[int, Any]], entry: Entry, step: int) -> None:
    spent = entry.item.executions.get(step)
    if spent is not None and spent.started and entry.item.device:
        for device in sorted(spent.times):
            for start, duration in spent.times[device]:
                runs.setdefault(device, {}).setdefault(start, (entry.name, duration))


def _process(name: str, number: int) -> dict[str, Any]:
    return {"args": {"name": name}, "name": "process_name", "ph": "M", "pid": number}


def _region(
    start: int, spent: int, process: int, lane: int, name: str, args: dict[str, str]
) -> dict[str, Any]:
    return {
        "args": args, "cat": "Op", "dur": spent, "name": name, "ph": "X", "pid": process,
        "tid": lane, "ts": start,
    }  # fmt: skip


def put_out(events: list[dict[str, Any]], path: str, step: int) -> None:
    """Write the events of a step, and say where."""
    path = f"{path}_{step}"
    if write(path, json.dumps({"traceEvents": events}, separators=(",", ":")) + "\n"):
        print(f"{_RULE}Timeline file is written to {path}.\n"
              "Open a Chrome browser, enter URL chrome://tracing and load the timeline file."
              f"{_RULE}", end="")  # fmt: skip
