"""Commands that list, print and combine tensors: lt, pt, eval, find_nan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stillflow.debug.console.command_line import Command, CommandError
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.nan_origin import dumped_origin
from stillflow.debug.tensor_dump import DebugTensorDatum

_TENSOR = re.compile(
    r"(?P<node>[^:\[\]]+)(?::(?P<slot>\d+))?(?::(?P<op>[A-Za-z]\w*))?(?P<slices>(?:\[[^\]]*\])*)"
)
_SORT_KEYS: dict[str, Callable[[DebugDumpDir, DebugTensorDatum], Any]] = {
    "timestamp": lambda dump, datum: datum.timestamp,
    "dump_size": lambda dump, datum: datum.dump_size_bytes,
    "op_type": lambda dump, datum: _op_type(dump, datum),
    "tensor_name": lambda dump, datum: datum.tensor_name,
}
# Options of commands that print an array.
HOW_TO_SHOW: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("-r", "--ranges"),
     {"help": "count the elements in intervals: [0,1] or [[-inf,-1],[1,inf]]"}),
    (("-a", "--all"), {"action": "store_true", "help": "all elements, nothing left out"}),
    (("-s", "--numeric_summary"), {"action": "store_true", "help": "counts and moments as well"}),
    (("-w", "--write_path"), {"help": "save it there, as numpy.save does"}),
]  # fmt: skip


def tensor_commands(dump: DebugDumpDir, filters: dict[str, Callable[..., bool]]) -> list[Command]:
    """Return the commands on the tensors of a dump, with tensor filters by name."""
    flag = {"action": "store_true"}
    return [
        Command(
            "list_tensors", "lt", "List what the run computed.",
            lambda arguments: list_tensors(dump, filters, arguments),
            [(("-f", "--tensor_filter"), {"help": "only those that pass this filter"}),
             (("-fenn", "--filter_exclude_node_names"),
              {"help": "with -f: leave out nodes whose names match this"}),
             (("-n", "--node_name_filter"), {"help": "only nodes whose names match this"}),
             (("-t", "--op_type_filter"), {"help": "only nodes whose types match this"}),
             (("-s", "--sort_by"), {"choices": list(_SORT_KEYS), "default": "timestamp"}),
             (("-r", "--reverse"), {**flag, "help": "the other way round"})],
        ),
        Command(
            "print_tensor", "pt", "Print a tensor, or a part of it: a:0, a:0[1, :].",
            lambda arguments: print_tensor(dump, arguments),
            [(("tensor_name",), {"nargs": "+"}),
             (("-n", "--number"),
              {"type": int, "help": "which of its dumps, where a loop has several"}),
             *HOW_TO_SHOW],
        ),
        Command(
            "eval", "ev", "Compute with tensors in backquotes: np.max(`a:0` - `b:0`).",
            lambda arguments: evaluate(dump, arguments),
            [(("expression",), {"nargs": "+"}),
             (("-a", "--all"), {**flag, "help": "all elements, nothing left out"}),
             (("-w", "--write_path"), {"help": "save it there, as numpy.save does"})],
        ),
        Command(
            "find_nan", "fn", "Say where the first NaN or infinity came from.",
            lambda arguments: dumped_origin(dump).splitlines(),
        ),
    ]  # fmt: skip


def list_tensors(
    dump: DebugDumpDir, filters: dict[str, Callable[..., bool]], arguments: Any
) -> list[str]:
    """Return a table of dumps."""
    data, title = dump.dumped_tensor_data, "dumped tensor(s)"
    if arguments.tensor_filter:
        if arguments.tensor_filter not in filters:
            raise CommandError(f'There is no tensor filter named "{arguments.tensor_filter}".')
        data = dump.find(
            filters[arguments.tensor_filter],
            exclude_node_names=arguments.filter_exclude_node_names,
        )
        title += f' passing filter "{arguments.tensor_filter}"'
    notes = []
    for pattern, what, text in (
        (arguments.node_name_filter, "Node name", lambda datum: datum.node_name),
        (arguments.op_type_filter, "Op type", lambda datum: _op_type(dump, datum)),
    ):
        if pattern:
            notes.append(f'{what} regex filter: "{pattern}"')
            data = [datum for datum in data if re.match(pattern, text(datum))]
    key = _SORT_KEYS[arguments.sort_by]
    data = sorted(data, key=lambda datum: key(dump, datum), reverse=arguments.reverse)
    start = dump.t0 or 0
    rows = [("t (ms)", "Size (B)", "Op type", "Tensor name")]
    for datum in data:
        time = f"[{(datum.timestamp - start) / 1000:.3f}]"
        rows.append((time, str(datum.dump_size_bytes), _op_type(dump, datum), datum.tensor_name))
    return [f"{len(data)} {title}:", *notes, "", *table(rows), ""]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, columns under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        " ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _op_type(dump: DebugDumpDir, datum: DebugTensorDatum) -> str:
    try:
        return dump.node_op_type(datum.node_name, datum.device_name)
    except (LookupError, ValueError):
        return ""


def print_tensor(dump: DebugDumpDir, arguments: Any) -> Iterable[str]:
    """Return a tensor as text."""
    key, slices, data = find(dump, "".join(arguments.tensor_name))
    number = arguments.number
    if number is None and len(data) > 1 and not slices:
        lines = [f'Tensor "{key}" generated {len(data)} dumps; -n chooses one:']
        start = dump.t0 or 0
        for index, datum in enumerate(data):
            lines.append(f"  #{index}  [{(datum.timestamp - start) / 1000:.3f}] ms")
        return lines
    if number is not None and not -len(data) <= number < len(data):
        raise CommandError(
            f"Invalid number ({number}) for tensor {key}, which generated {len(data)} dump(s)."
        )
    value = data[number or 0].get_tensor()
    return shown(f"{key}{slices}", sliced(value, slices), arguments)


def find(dump: DebugDumpDir, text: str) -> tuple[str, str, list[DebugTensorDatum]]:
    """Return the dumps of a tensor as it is typed: its key, its slice, and the dumps."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise CommandError(f'"{text}" is no name of a tensor')
    node, slot, debug_op = match["node"], match["slot"], match["op"] or "DebugIdentity"
    known = not dump.loaded_partition_graphs() or dump.node_exists(node)
    if not known and not dump.debug_watch_keys(node):
        raise CommandError(f'Node "{node}" does not exist in partition graphs')
    if slot is None:
        slots = {key.rsplit(":", 2)[1] for key in dump.debug_watch_keys(node)}
        if len(slots) > 1:
            raise CommandError(f'Node "{node}" has several outputs; say which: {node}:0')
        slot = slots.pop() if slots else "0"
    key = f"{node}:{slot}:{debug_op}"
    data = dump.watch_key_to_data(key)
    if not data:
        raise CommandError(f'Tensor "{key}" did not generate any dumps.')
    return key, match["slices"], data


def sliced(value: Any, slices: str) -> Any:
    """Return a part of an array, as `[1, :]` describes it."""
    if not slices:
        return value
    if not re.fullmatch(r"(?:\[[-\d\s:,.]*\])+", slices):
        raise CommandError(f"{slices} is no slicing")
    return eval(f"value{slices}", {"__builtins__": {}}, {"value": value})


def shown(title: str, value: Any, arguments: Any) -> list[str]:
    """Return a value as text, with the parts that the arguments select."""
    array = np.asarray(value)
    if arguments.write_path:
        with open(arguments.write_path, "wb") as file:
            np.save(file, array)
    if not isinstance(value, np.ndarray):
        number = isinstance(value, (np.number, np.bool_))
        return [f'Tensor "{title}":', "", str(value) if number else repr(value), ""]
    lines = [f'Tensor "{title}":', f"  dtype: {array.dtype}", f"  shape: {array.shape}", ""]
    if getattr(arguments, "ranges", None):
        inside = _in_ranges(array, arguments.ranges)
        share = 100 * inside / max(array.size, 1)
        lines[0] += f" Highlighted({arguments.ranges}): {inside} of {array.size} element(s)"
        lines[0] += f" ({share:.2f}%)"
    if getattr(arguments, "numeric_summary", False):
        lines += [*summary(array), ""]
    with np.printoptions(threshold=array.size + 1 if arguments.all else 1000):
        return [*lines, *repr(array).splitlines(), ""]


def summary(array: np.ndarray) -> list[str]:
    """Count an array's elements and compute their moments."""
    if not array.size:
        return ["No numeric summary available due to empty tensor."]
    if array.dtype.kind not in "biuf":
        return [f"No numeric summary available due to tensor dtype: {array.dtype}."]
    kinds: dict[str, Any]
    if array.dtype.kind == "b":
        kinds = {"False": ~array, "True": array}
    else:
        finite = np.isfinite(array)
        kinds = {
            "nan": np.isnan(array), "-inf": np.isneginf(array), "-": finite & (array < 0),
            "0": array == 0, "+": finite & (array > 0), "+inf": np.isposinf(array),
        }  # fmt: skip
    counts = {name: str(found.sum()) for name, found in kinds.items() if found.any()}
    total = f" | {'total':>5} |", f" | {array.size:>5} |"
    boxed = [line[:-2] + end for line, end in zip(_boxed(counts), total, strict=True)]
    lines = ["Numeric summary:", *boxed]
    rest = array[np.isfinite(array)]
    if array.dtype.kind != "b" and rest.size:
        functions = {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std}
        lines += _boxed({name: str(function(rest)) for name, function in functions.items()})  # type: ignore[operator]
    return lines


def _boxed(values: dict[str, str]) -> list[str]:
    """Names and values under each other, all as wide as the widest."""
    width = max(map(len, [*values, *values.values()]))
    rows = values.keys(), values.values()
    return [f"| {' '.join(f'{cell:>{width}}' for cell in row)} |" for row in rows]


def _in_ranges(array: np.ndarray, text: str) -> int:
    numbers = [float(part) for part in re.findall(r"[-+]?(?:inf|[\d.]+(?:e[-+]?\d+)?)", text)]
    if not numbers or len(numbers) % 2:
        raise CommandError(f"{text} is no interval, as [0,1], nor a list of them")
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return int(sum(((array >= low) & (array <= high)).sum() for low, high in pairs))


def evaluate(dump: DebugDumpDir, arguments: Any) -> list[str]:
    """Return the value of an expression of numpy and tensors."""
    expression = " ".join(arguments.expression)
    values: dict[str, Any] = {"np": np, "numpy": np}

    def value_of(match: re.Match[str]) -> str:
        key, slices, data = find(dump, match[1])
        del key
        number = int(slices[1:-1]) if slices else 0
        name = f"_tensor_{len(values)}"
        values[name] = data[number].get_tensor()
        return name

    result = eval(re.sub(r"`([^`]*)`", value_of, expression), values)
    return shown(f"from eval of expression '{expression}'", result, arguments)
