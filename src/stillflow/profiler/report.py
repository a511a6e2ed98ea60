"""Profiles as text, in the form of TensorFlow's profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.profiler.tree import Entry


class Column(NamedTuple):
    """What can be selected: the measure, if it is a number, its heading and explanation."""

    measure: str
    heading: str
    meaning: str


# In the order they are shown.
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


def _scaled(steps: tuple[str, ...], plain: str) -> Callable[[int], str]:
    def text(number: int) -> str:
        if number < 1000 or not steps:
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


def columns(options: dict[str, Any]) -> list[str]:
    """What is shown of each entry, in order."""
    selected = set(options["select"])
    if "micros" in selected:
        selected |= {"total_micros", "accelerator_micros", "cpu_micros"}
    return [name for name in _COLUMNS if name in selected]


def settings(options: dict[str, Any]) -> str:
    """The options, as a report begins."""
    lines = ["", "=========================Options============================="]
    for name in _SETTINGS:
        value = options.get(name, 0)
        if isinstance(value, (list, tuple)):
            value = ",".join(value)
        elif isinstance(value, bool):
            value = str(value).lower()
        lines.append(f"{f'-{name}':<28}{value}")
    lines.append(f"{'-select':<28}{','.join(sorted(set(options['select'])))}")
    kind, _, target = options.get("output", "stdout").partition(":")
    return "\n".join([*lines, f"{'-output':<28}{kind}:{target}", ""])


def explanation(view: str, options: dict[str, Any]) -> str:
    """What the view and the columns mean."""
    texts = [_COLUMNS[name].meaning for name in sorted(columns(options))]
    return "\n".join(["", "Doc:", _VIEWS[view], *texts, "", "Profile:", ""])


TITLE = "\n==================Model Analysis Report======================\n"
END = "\n======================End of Report==========================\n"


def legend(options: dict[str, Any]) -> str:
    """The heading of the columns."""
    return f"node name | {' | '.join(_COLUMNS[name].heading for name in columns(options))}\n"


def tree_lines(entry: Entry, options: dict[str, Any], indent: int = 0) -> str:
    """An entry and what is shown below it, a line each."""
    below = "".join(tree_lines(child, options, indent + 2) for child in entry.shown)
    return f"{' ' * indent}{_tree_line(entry, options)}\n{below}"


def _tree_line(entry: Entry, options: dict[str, Any]) -> str:
    parts = []
    for name in columns(options):
        measure = _COLUMNS[name].measure
        if name == "params" and entry.item.shape:
            parts.append("x".join(map(str, entry.item.shape)))
        if measure:
            amount = _amount(measure)
            own = amount(entry.item.own[measure]) if entry.accounted else "--"
            unit = {"params": " params", "float_ops": " flops"}.get(name, "")
            parts.append(f"{own}/{amount(entry.total[measure])}{unit}")
        elif name == "device":
            parts += [entry.item.device] if entry.item.device else []
        elif name == "op_types":
            parts.append("|".join(sorted(entry.item.types)))
        elif name == "occurrence":
            mine = (number(entry.item.own["run_count"]), "1") if entry.accounted else ("--", "--")
            all_ = entry.total["run_count"], entry.total["definitions"]
            parts.append("|".join(f"{a}/{number(b)}" for a, b in zip(mine, all_, strict=True)))
        else:
            parts.append("|".join(_shapes(entry)))
    return f"{entry.name} ({', '.join(parts)})"


def _shapes(entry: Entry) -> list[str]:
    return [
        f"{index}:{'x'.join(map(str, dims)) if dims else 'unknown'}"
        for index, dims in entry.item.input_shapes.items()
    ]


def row_lines(root: Any, options: dict[str, Any]) -> str:
    """The types of a profile by type, a line each."""
    return "".join(_row_line(group, root, options) for group in root.shown)


def _row_line(group: Any, root: Any, options: dict[str, Any]) -> str:
    parts = []
    for name in columns(options):
        measure = _COLUMNS[name].measure
        if measure:
            all_, total, own = (
                root.total[measure], group.total[measure], group.item.own[measure],
            )  # fmt: skip
            shares = [100.0 * part / all_ if total else 0.0 for part in (total, own)]
            unit = {"params": " params", "float_ops": " float_ops"}.get(name, "")
            text = f"{_amount(measure)(own)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)"
            parts.append(f"{text:>30}")
        elif name == "device":
            parts.append("|".join(sorted({item.device for item in group.members if item.device})))
        elif name == "op_types":
            parts.append("|".join(sorted(group.item.types)))
        elif name == "occurrence":
            runs = group.item.own["run_count"]
            parts.append(f"{f'{runs}|{len(group.members)}':>10}")
    return f"{group.name:<25}{', '.join(parts)}\n"
