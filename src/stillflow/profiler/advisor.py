"""tf.profiler.advise: a model's use of time, and possible speed-ups."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from stillflow.profiler import report
from stillflow.profiler.groups import Group, by_line, by_type
from stillflow.profiler.measures import is_accelerator
from stillflow.profiler.model import Model
from stillflow.profiler.outputs import options_proto
from stillflow.profiler.tree import by_scope
from stillflow.protos import AdviceProto

_EXPENSIVE = "ExpensiveOperationChecker"
ALL_ADVICE: dict[str, dict[str, Any]] = {
    _EXPENSIVE: {}, "AcceleratorUtilizationChecker": {}, "JobChecker": {}, "OperationChecker": {},
}  # fmt: skip
_MOST = 3  # of each kind that are named
_DEEPEST = 3
_NOTICED = 1000  # microseconds, from which on a line is named


def advice(model: Model, options: dict[str, Any] | None) -> Any:
    """Return an `AdviceProto`, which is printed, too.

    `options` are {name of a checker: its options}, of which there are none: TypeError.
    """
    result = AdviceProto()
    for name, given in (options or {}).items():
        if given:
            raise TypeError("'CheckerOption' object does not support item assignment")
        if name in _CHECKERS:
            result.checkers[name].reports.extend(_CHECKERS[name](model))
    for name in _CHECKERS:
        if name in result.checkers:
            print("", f"{name}:", *result.checkers[name].reports, sep="\n")
    return result


def _expensive(model: Model) -> list[str]:
    if not model.steps:
        print(f"Missing RunMetadata info. Skip {_EXPENSIVE}", file=sys.stderr)
        print(f"Missing run_meta for {_EXPENSIVE}", file=sys.stderr)
    reports = [_expensive_types(model)] if model.steps else []
    reports.append(_expensive_scopes(model))
    if model.has_trace:
        reports.append(_expensive_lines(model))
    else:
        print(f"Missing op_log (code traces) for {_EXPENSIVE}", file=sys.stderr)
    return [lines for lines in reports if lines is not None]


def _options(**changes: Any) -> Any:
    every = {"account_type_regexes": [".*"], "start_name_regexes": [".*"],
             "show_name_regexes": [".*"], "order_by": "micros", "output": "none"}  # fmt: skip
    return options_proto({**every, **changes})


def _times(of: Any) -> str:
    cpu, accelerator, both = (
        report.micros(of[f"{kind}exec_micros"]) for kind in ("cpu_", "accelerator_", "")
    )
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {both}"


def _expensive_types(model: Model) -> str | None:
    root = by_type(model, _options(max_depth=_MOST, min_micros=1))
    all_ = root.total["exec_micros"] + 1e-10
    return _joined(
        f"top {place} operation type: {group.name}, {_times(group.own)} "
        f"({100.0 * group.own['exec_micros'] / all_:.2f}%)"
        for place, group in enumerate(root.shown[:_MOST], 1)
    )


def _expensive_scopes(model: Model) -> str | None:
    root = by_scope(model, _options(max_depth=100, min_micros=100))
    return _joined(
        f"top {place} graph node: {entry.name}, {_times(entry.own)}"
        for place, entry in enumerate(root.shown[:_MOST], 1)
    )


def _expensive_lines(model: Model) -> str | None:
    group = by_line(model, _options(max_depth=100, min_micros=1))
    while len(group.shown) == 1:  # lines that everything is called from tell nothing
        group = group.shown[0]
    return "\n".join(_lines(group, 0)) if group.shown else None


def _lines(group: Group, depth: int) -> list[str]:
    if len(group.shown) <= 1 or depth > _DEEPEST:
        return []
    found = []
    for child in group.shown[:_MOST]:
        if child.total["exec_micros"] >= _NOTICED:
            found.append(f"{'  ' * depth}{child.name}, {_times(child.total)}")
            found += _lines(child, depth + 1)
    return found


def _joined(lines: Any) -> str | None:
    return "\n".join(lines) or None


def _formats(model: Model) -> list[str]:
    items = model.items()
    reports = []
    fused = any("FusedBatchNorm" in item.types for item in items)
    if any("BatchNorm" in item.name for item in items) and not fused:
        reports.append("Maybe use faster FusedBatchNorm instead of BatchNorm")
    if any(
        is_accelerator(item.device) and item.attrs is not None and "data_format" in item.attrs
        and item.attrs["data_format"].s == b"NHWC" for item in items
    ):  # fmt: skip
        reports.append("Found operation using NHWC data_format on GPU. Maybe NCHW is faster.")
    return reports


def _utilization(model: Model) -> list[str]:
    """Return the share of the last step that each accelerator computed."""
    spent: dict[str, list[int]] = {}
    for item in model.items():
        if not item.executions or not is_accelerator(item.device):
            continue
        run = item.executions[max(item.executions)]
        start, end, busy = spent.setdefault(item.device, [0, 0, 0])
        start = min(start or run.started, run.started or start)
        spent[item.device] = [
            start, max(end, run.ended), busy + run.amounts()["accelerator_exec_micros"],
        ]  # fmt: skip
    reports = []
    for device, (start, end, busy) in sorted(spent.items()):
        if end > start:
            low = "" if busy / (end - start) >= 0.5 else "low "
            reports.append(f"device: {device} {low}utilization: {busy / (end - start):.2f}")
    return reports


# In the order they are printed.
_CHECKERS: dict[str, Callable[[Model], list[str]]] = {
    _EXPENSIVE: _expensive, "OperationChecker": _formats,
    "AcceleratorUtilizationChecker": _utilization,
}  # fmt: skip
