"""Profiles as trees: by name scopes, or by what takes whose values."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stillflow.profiler.measures import NAMES, Measured

ROOT = "_TFProfRoot"
_SCOPE = "_kTFScopeParent"

# Which total each way to sort goes by.
ORDERS = {
    "bytes": "requested_bytes", "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes", "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros", "cpu_micros": "cpu_exec_micros",
    "params": "parameters", "float_ops": "float_ops",
}  # fmt: skip
# What hides an entry that has less: options, and the measure each looks at.
_MINIMA = {
    "min_bytes": "requested_bytes", "min_peak_bytes": "peak_bytes",
    "min_residual_bytes": "residual_bytes", "min_output_bytes": "output_bytes",
    "min_micros": "exec_micros", "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros", "min_params": "parameters",
    "min_float_ops": "float_ops", "min_occurrence": "run_count",
}  # fmt: skip
# Of these an entry's own counts, of the others the total.
_OWN = frozenset(("min_params", "min_float_ops", "min_occurrence"))


@dataclass
class Entry:
    """A node of a tree.

    Attributes:
      item: what it stands for.
      children: below it, before anything is left out.
      shown: below it, of what is accounted or shown.
      accounted: whether its own measures count.
      total: its measures with those below; `definitions` among them.
    """

    item: Measured
    children: list[Entry] = field(default_factory=list)
    shown: list[Entry] = field(default_factory=list)
    accounted: bool = False
    total: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The name of the operation or scope."""
        return self.item.name

    def restart(self) -> None:
        """Has the total begin with what is its own."""
        self.total = Counter(self.item.own)
        self.total["definitions"] = 1

    def add(self, child: Entry) -> None:
        """Adds the total of an entry below."""
        self.total.update(child.total)


def matches(text: str, patterns: list[str]) -> bool:
    """Whether a text is wholly matched by one of some regular expressions."""
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def is_accounted(item: Measured, options: dict[str, Any]) -> bool:
    """Whether the measures of an operation count."""
    patterns = options["account_type_regexes"]
    return patterns == [".*"] or any(matches(kind, patterns) for kind in sorted(item.types))


def ordered(entries: list[Any], options: dict[str, Any]) -> list[Any]:
    """Entries by the measure that options sort by, largest first, then by name."""
    measure = ORDERS.get(options.get("order_by", "name"), "")
    return sorted(entries, key=lambda entry: (-entry.total[measure], entry.name))


def is_shown(entry: Entry, options: dict[str, Any], depth: int, own: bool = True) -> bool:
    """Whether an entry has enough of everything and a name to be shown."""
    if entry.name == ROOT:
        return True
    for option, measure in _MINIMA.items():
        values = entry.item.own if own and option in _OWN else entry.total
        if values[measure] < options.get(option, 0):
            return False
    return (
        depth <= options["max_depth"]
        and matches(entry.name, options["show_name_regexes"])
        and not matches(entry.name, options["hide_name_regexes"])
    )


def by_scope(items: list[Measured]) -> Entry:
    """The tree of name scopes."""
    entries = {item.name: Entry(item) for item in items}
    for name in list(entries):
        parts = name.split("/")
        for count in range(1, len(parts)):
            scope = "/".join(parts[:count])
            entries.setdefault(scope, Entry(Measured(scope, types={_SCOPE})))
    root = Entry(Measured(ROOT, types={_SCOPE}))
    for name in sorted(entries):
        parent = entries.get(name.rpartition("/")[0], root) if "/" in name else root
        parent.children.append(entries[name])
    return root


def by_graph(items: list[Measured]) -> Entry:
    """The tree of what each operation takes values of, from those that nobody takes."""
    entries = {item.name: Entry(item) for item in items}
    taken = {name for item in items for name in item.inputs}
    for entry in entries.values():
        entry.children = [entries[name] for name in entry.item.inputs if name in entries]
    root = Entry(Measured(ROOT))
    root.children = [entries[name] for name in sorted(entries) if name not in taken]
    return root


def account(root: Entry, options: dict[str, Any], scopes: bool) -> None:
    """Adds up what counts, and leaves out what neither counts nor has something below.

    Args:
      root: the tree.
      options: of the profile.
      scopes: whether entries that do not count themselves stay where something below does.
    """
    visited: set[str] = set()
    root.shown = [
        found for child in root.children for found in _account(child, options, scopes, visited)
    ]
    root.total = Counter()
    for child in root.shown:
        root.add(child)
    if options["start_name_regexes"] != [".*"]:
        root.shown = _started(root.shown, options["start_name_regexes"])


def _account(entry: Entry, options: dict[str, Any], scopes: bool, visited: set[str]) -> list[Entry]:
    if entry.name in visited:
        return []
    visited.add(entry.name)
    below = [
        found for child in entry.children for found in _account(child, options, scopes, visited)
    ]
    entry.accounted = is_accounted(entry.item, options)
    if not entry.accounted and not (scopes and below):
        return below
    entry.restart()
    entry.shown = below
    for child in below:
        entry.add(child)
    return [entry]


def _started(entries: list[Entry], patterns: list[str]) -> list[Entry]:
    """The topmost entries whose names match."""
    found = []
    for entry in entries:
        if matches(entry.name, patterns):
            found.append(entry)
        else:
            found += _started(entry.shown, patterns)
    return found


def display(entries: list[Entry], options: dict[str, Any], depth: int = 1) -> list[Entry]:
    """Leaves out entries that are not shown; what is below them takes their places."""
    result = []
    for entry in entries:
        shown = is_shown(entry, options, depth)
        trimmed = matches(entry.name, options["trim_name_regexes"])
        below = []
        if not trimmed and depth <= options["max_depth"]:
            below = display(entry.shown, options, depth + 1)
        if not shown:
            result += below
            continue
        if options["account_displayed_op_only"]:
            if entry.name == ROOT:
                entry.total = Counter()
            else:
                entry.restart()
            for child in below:
                entry.add(child)
        entry.shown = ordered(below, options)
        result.append(entry)
    return result


def message(entry: Entry, make: Any) -> Any:
    """An entry, and what is shown below it, as a `GraphNodeProto`."""
    result = make(name=entry.name, total_definition_count=entry.total["definitions"])
    if entry.item.device:
        result.devices.append(entry.item.device)
    for name in NAMES:
        setattr(result, name, entry.item.own[name])
        setattr(result, f"total_{name}", entry.total[name])
    for index, dims in entry.item.input_shapes.items():
        shape = result.input_shapes[index]
        for size in dims or ():
            shape.dim.add(size=size)
    result.children.extend(message(child, make) for child in entry.shown)
    return result
