"""Profiles as text, in the form of TensorFlow's profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.profiler.groups import Group
from stillflow.profiler.model import Model
from stillflow.profiler.order import in_order
from stillflow.profiler.tree import Entry, walk


class Column(NamedTuple):
    """Selectable column: its measure, if it is a number, heading and explanation."""

    measure: str
    heading: str
    meaning: str


# In the order in which trees of operations show them.
_COLUMNS = {
    "params": Column(
        "parameters", "# parameters", "param: Number of parameters (in the Variable)."
    ),
    "float_ops": Column(
        "float_ops", "# float_ops",
        "flops: Number of float operations. Note: Please read the implementation for the math "
        "behind it.",
    ),
    "bytes": Column(
        "requested_bytes", "requested bytes",
        "requested bytes: The memory requested by the operation, accumulatively.",
    ),
    "peak_bytes": Column(
        "peak_bytes", "peak bytes",
        "peak bytes: The peak amount of memory that the operation is holding at some point.",
    ),
    "residual_bytes": Column(
        "residual_bytes", "residual bytes",
        "residual bytes: The memory not de-allocated after the operation finishes.",
    ),
    "output_bytes": Column(
        "output_bytes", "output bytes",
        "output bytes: The memory that is output from the operation (not necessarilty allocated "
        "by the operation)",
    ),
    "total_micros": Column(
        "exec_micros", "total execution time",
        "total execution time: Sum of accelerator execution time and cpu execution time.",
    ),
    "accelerator_micros": Column(
        "accelerator_exec_micros", "accelerator execution time",
        "accelerator execution time: Time spent executing on the accelerator. This is normally "
        "measured by the actual hardware library.",
    ),
    "cpu_micros": Column(
        "cpu_exec_micros", "cpu execution time",
        "cpu execution time: The time from the start to the end of the operation. It's the sum of "
        "actual cpu run time plus the time that it spends waiting if part of computation is "
        "launched asynchronously.",
    ),
    "device": Column("", "assigned devices", "device: which device is placed on."),
    "op_types": Column(
        "", "op types",
        "op_types: The attributes of the operation, includes the Kernel name device placed on and "
        "user-defined strings.",
    ),
    "occurrence": Column("", "op count (run|defined)", "occurrence: The number of times it occurs"),
    "input_shapes": Column("", "input shapes", "input shape: The shape of input tensors"),
}  # fmt: skip
_COUNTS = ("params", "float_ops")
_TIMES = ("total_micros", "accelerator_micros", "cpu_micros")
_DESCRIPTIONS = ("device", "op_types", "occurrence", "input_shapes")
# Where operations are grouped, memory and time come before counts.
_OF_GROUPS = [
    *(name for name in _COLUMNS if name not in (*_COUNTS, *_DESCRIPTIONS)), *_COUNTS,
    *_DESCRIPTIONS,
]  # fmt: skip
_VIEWS = {
    "scope": "scope: The nodes in the model graph are organized by their names, which is "
             "hierarchical like filesystem.",
    "code": "code: When python trace is available, the nodes are python lines and their are "
            "organized by the python call stack.",
    "op": "op: The nodes are operation kernel type, such as MatMul, Conv2D. Graph nodes belonging "
          "to the same type are aggregated together.",
}  # fmt: skip
_VIEWS["graph"] = _VIEWS["scope"]
_SETTINGS = (
    "max_depth", "min_bytes", "min_peak_bytes", "min_residual_bytes", "min_output_bytes",
    "min_micros", "min_accelerator_micros", "min_cpu_micros", "min_params", "min_float_ops",
    "min_occurrence", "step", "order_by", "account_type_regexes", "start_name_regexes",
    "trim_name_regexes", "show_name_regexes", "hide_name_regexes", "account_displayed_op_only",
)  # fmt: skip
GROUPED = ("op", "code")


def _scaled(steps: tuple[str, ...], plain: str) -> Callable[[int], str]:
    def text(number: int) -> str:
        if number < 1000:
            return f"{number}{plain}"
        size = min((len(str(number)) - 1) // 3, len(steps))
        return f"{number / 1000**size:.2f}{steps[size - 1]}"

    return text


number = _scaled(("k", "m", "b"), "")
_bytes = _scaled(("KB", "MB"), "B")
micros = _scaled(("ms", "sec"), "us")


def _amount(measure: str) -> Callable[[int], str]:
    if measure.endswith("bytes"):
        return _bytes
    return micros if measure.endswith("micros") else number


def _columns(view: str, options: Any) -> list[str]:
    """Return the columns of each entry, in order."""
    selected = set(options.select)
    if "micros" in selected:
        selected.update(_TIMES)
    return [name for name in (_OF_GROUPS if view in GROUPED else _COLUMNS) if name in selected]


def settings(options: Any, output: str) -> str:
    """Return the options, as a report begins."""
    lines = ["", "=========================Options============================="]
    for name in _SETTINGS:
        value = getattr(options, name)
        if isinstance(value, bool):
            value = str(value).lower()
        elif not isinstance(value, (int, str)):
            value = ",".join(value)
        lines.append(f"{f'-{name}':<28}{value}")
    lines.append(f"{'-select':<28}{','.join(sorted(set(options.select)))}")
    return "\n".join([*lines, f"{'-output':<28}{output}", ""])


def explanation(view: str, options: Any) -> str:
    """Return the meaning of the view and the columns."""
    texts = []
    for name in sorted(set(options.select)):
        if name == "micros":
            texts += [_COLUMNS[one].meaning for one in (_TIMES[0], _TIMES[2], _TIMES[1])]
        elif name == "tensor_value":
            texts.append("tensor_value: Not supported now.")
        elif name in _COLUMNS and name != _TIMES[0]:
            texts.append(_COLUMNS[name].meaning)
        else:
            texts.append(f"Unknown select: {name}")
    joined = "\n".join(texts)
    return f"\nDoc:\n{_VIEWS[view]}\n{joined}\n\nProfile:\n"


TITLE = "\n==================Model Analysis Report======================\n"
END = "\n======================End of Report==========================\n"


def report(view: str, root: Any, model: Model, options: Any) -> str:
    """Return the heading of the columns, and a line for each entry."""
    columns = _columns(view, options)
    headings = [_COLUMNS[name].heading for name in columns]
    if view in GROUPED and "occurrence" in columns:
        headings[columns.index("occurrence")] = "op occurrence (run|defined)"
    lines = [f"node name | {' | '.join(headings)}\n"]
    if view == "op":
        lines += [_row_line(group, root, model, columns) for group in root.shown]
    else:
        for entry, depth in walk(root):
            parts = ", ".join(_parts(entry, model, columns))
            lines.append(f"{'  ' * depth}{entry.name} ({parts})\n")
    return "".join(lines)


def _parts(entry: Entry, model: Model, columns: list[str]) -> list[str]:
    parts = []
    for name in columns:
        measure = _COLUMNS[name].measure
        if not measure:
            parts += _described(entry, name, model)
            continue
        if name == "params" and entry.item.shape:
            parts.append("x".join(map(str, entry.item.shape)))
        amount = _amount(measure)
        own = amount(entry.own[measure]) if entry.accounted else "--"
        unit = {"params": " params", "float_ops": " flops"}.get(name, "")
        parts.append(f"{own}/{amount(entry.total[measure])}{unit}")
    return parts


def _described(entry: Entry, name: str, model: Model) -> list[str]:
    if isinstance(entry, Group):
        if name == "device":
            return ["|".join(sorted(entry.devices))] if entry.devices else []
        return ["|".join(sorted(entry.types)) if name == "op_types" else f"{name} N/A in code view"]
    if name == "device":
        return [entry.item.device] if entry.item.device else []
    if name == "op_types":
        return ["|".join(sorted(entry.item.types))]
    if name == "occurrence":
        mine = (number(entry.own["run_count"]), "1") if entry.accounted else ("--", "--")
        all_ = entry.total["run_count"], entry.total["definitions"]
        return ["|".join(f"{a}/{number(b)}" for a, b in zip(mine, all_, strict=True))]
    return ["|".join(_shapes(entry.item, model))]


def _shapes(item: Any, model: Model) -> list[str]:
    return [
        f"{index}:{'x'.join(map(str, dims)) if dims else 'unknown'}"
        for index, dims in model.input_shapes(item).items()
    ]


def _row_line(group: Group, root: Group, model: Model, columns: list[str]) -> str:
    parts = []
    for name in columns:
        measure = _COLUMNS[name].measure
        if measure:
            parts.append(f"{_share(group, root, name, measure):>30}")
        elif name == "device":
            parts.append("|".join(sorted(group.devices)))
        elif name == "op_types":
            parts.append("|".join(sorted(group.types)))
        elif name == "occurrence":
            parts.append(f"{group.own['run_count']}|{len(group.picked)}".rjust(10))
    line = f"{group.name:<25}{', '.join(parts)}\n"
    shapes = _shapes_of(group, model) if "input_shapes" in columns else ""
    return f"{line}\n{shapes}\n\n" if shapes else line


def _share(group: Group, root: Group, name: str, measure: str) -> str:
    own, total, all_ = group.own[measure], group.total[measure], root.total[measure]
    counts = own if measure.endswith("bytes") else total
    shares = [100.0 * part / all_ if counts > 0 else 0.0 for part in (total, own)]
    unit = {"params": " params", "float_ops": " float_ops"}.get(name, "")
    return f"{_amount(measure)(own)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)"


def _shapes_of(group: Group, model: Model) -> str:
    """Return the combinations of shapes that a type takes, the ones that ran most often first."""
    counts: dict[str, list[int]] = {}
    for item in group.picked.values():
        shapes = ",\t".join(_shapes(item, model))
        count = counts.setdefault(f"input_type: {shapes}", [0, 0, 0])
        own = item.at(group.step)
        for index, more in enumerate((1, own["run_count"], own["exec_micros"])):
            count[index] += more
    most = in_order(sorted(counts), key=lambda text: -counts[text][1])
    return "\n".join(
        f"{text}\t(run*{counts[text][1]}|defined*{counts[text][0]})\t"
        f"exec_time: {micros(counts[text][2])}"
        for text in most
    )
