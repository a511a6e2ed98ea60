"""Profiles as trees: by name scopes, or by consumers of values."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from stillflow.profiler.measures import NAMES, Measured
from stillflow.profiler.model import Model
from stillflow.profiler.order import in_order

ROOT = "_TFProfRoot"
_SCOPE = "_kTFScopeParent"
_GRAPH = "_TFGraphParent"

# Which total each way to sort goes by; by name if none.
ORDERS = {
    "bytes": "requested_bytes", "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes", "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros", "cpu_micros": "cpu_exec_micros",
    "params": "parameters", "float_ops": "float_ops",
}  # fmt: skip
# {option that hides smaller entries: its measure}
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
      own: its measures.
      total: its measures including entries below and `definitions`.
    """

    item: Measured
    children: list[Any] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)
    accounted: bool = False
    own: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The name of the operation or scope."""
        return self.item.name

    def restart(self) -> None:
        """Reset the total to the own measures."""
        self.total = Counter(self.own)
        self.total["definitions"] = 1

    def add(self, child: Entry) -> None:
        """Add the total of an entry below."""
        self.total.update(child.total)

    def add_up(self) -> None:
        """Has the total be that of itself and of all that are shown below."""
        self.restart()
        for child in self.shown:
            self.add(child)

    def account(self, options: Any) -> None:
        """Find its own measures, and whether they count."""
        self.own = self.item.at(options.step)
        patterns = list(options.account_type_regexes)
        self.accounted = patterns == [".*"] or any(
            matches(kind, patterns) for kind in self.item.types
        )

    def key(self, order: str) -> Any:
        """Return the sort key."""
        return -self.total[ORDERS[order]] if order in ORDERS else self.name

    def amount(self, option: str, measure: str) -> int:
        """Return its amount of a measure that an option limits."""
        return (self.own if option in _OWN else self.total)[measure]


@lru_cache
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except re.error as error:
        logging.getLogger("tensorflow").error("Error parsing %r: %s", text, error)
        return None


def matches(text: str, patterns: Any) -> bool:
    """Return True if one of some regular expressions matches a whole text."""
    if list(patterns) == [".*"]:
        return True
    compiled = map(_pattern, patterns)
    return any(pattern is not None and pattern.fullmatch(text) for pattern in compiled)


def ordered(entries: list[Any], options: Any) -> list[Any]:
    """Entries by the measure that options sort by, largest first; by name if there is none."""
    if not options.order_by:
        return entries
    return in_order(entries, key=lambda entry: entry.key(options.order_by))


def is_shown(entry: Entry, options: Any, depth: int) -> bool:
    """Return True if an entry reaches all minima and has a name to be shown."""
    if entry.name == ROOT:
        return True
    for option, measure in _MINIMA.items():
        if entry.amount(option, measure) < getattr(options, option):
            return False
    return (
        depth <= options.max_depth
        and matches(entry.name, options.show_name_regexes)
        and not matches(entry.name, options.hide_name_regexes)
    )


def by_scope(model: Model, options: Any) -> Entry:
    """Return the tree of name scopes."""
    entries = {item.name: Entry(item) for item in model.items()}
    for name in list(entries):
        parts = name.split("/")
        for count in range(1, len(parts)):
            scope = "/".join(parts[:count])
            entries.setdefault(scope, Entry(Measured(scope, _SCOPE, types={_SCOPE})))
    root = Entry(Measured(ROOT, _SCOPE, types={_SCOPE}))
    for name in sorted(entries):
        parent = entries.get(name.rpartition("/")[0], root) if "/" in name else root
        parent.children.append(entries[name])
    return _accounted(root, options, scopes=True)


def by_graph(model: Model, options: Any) -> Entry:
    """Return the tree of operations by inputs, from those without consumers."""
    entries = {item.name: Entry(item) for item in model.items()}
    taken = set()
    for entry in entries.values():
        inputs = [entry.item.inputs[number] for number in sorted(entry.item.inputs)]
        taken.update(inputs)
        entry.children = [entries[name] for name in inputs if name in entries]
    root = Entry(Measured(ROOT, _GRAPH, types={_GRAPH}))
    root.children = [entry for name, entry in entries.items() if name not in taken]
    return _accounted(root, options, scopes=False)


def _accounted(root: Entry, options: Any, scopes: bool) -> Entry:
    """Add up counted entries, leave out those without counts below them, and hide others.

    With `scopes`, entries that do not count themselves stay where something below does.
    """
    root.shown = _account(root.children, options, scopes)
    for child in root.shown:
        root.add(child)
    if list(options.start_name_regexes) != [".*"]:
        root.shown = started(root.shown, options.start_name_regexes)
    _display(root, options)
    return root


def gather(
    roots: list[Any],
    enter: Callable[[Any, int], list[Any] | None],
    leave: Callable[[Any, int, list[Any]], list[Any]],
) -> list[Any]:
    """Return the results for the entries of trees, from the leaves up; trees may be very deep.

    `enter` gives what is below an entry of a depth, 1 for roots; None leaves the entry out. `leave`
    makes a list of an entry, its depth and what has become of all below it.
    """
    stack: list[tuple[Any, Iterator[Any], list[Any]]] = [(None, iter(roots), [])]
    while True:
        entry, rest, found = stack[-1]
        child = next(rest, None)
        if child is not None:
            below = enter(child, len(stack))
            if below is not None:
                stack.append((child, iter(below), []))
            continue
        stack.pop()
        if not stack:
            return found
        stack[-1][2].extend(leave(entry, len(stack), found))


def _account(entries: list[Entry], options: Any, scopes: bool) -> list[Entry]:
    visited: set[str] = set()

    def enter(entry: Entry, depth: int) -> list[Entry] | None:
        if entry.name in visited:
            return None
        visited.add(entry.name)
        return entry.children

    def leave(entry: Entry, depth: int, below: list[Entry]) -> list[Entry]:
        entry.account(options)
        if not entry.accounted and not (scopes and below):
            return below
        entry.shown = below
        entry.add_up()
        return [entry]

    return gather(entries, enter, leave)


def started(entries: list[Any], patterns: Any) -> list[Any]:
    """Return the topmost entries whose names match."""
    visited: set[int] = set()

    def enter(entry: Any, depth: int) -> list[Any] | None:
        if id(entry) in visited:
            return None
        visited.add(id(entry))
        return [] if matches(entry.name, patterns) else entry.shown

    def leave(entry: Any, depth: int, below: list[Any]) -> list[Any]:
        return [entry] if matches(entry.name, patterns) else below

    return gather(entries, enter, leave)


def _display(root: Entry, options: Any) -> None:
    """Leave out hidden entries; the ones below take their places."""
    visited: set[str] = set()

    def enter(entry: Entry, depth: int) -> list[Entry] | None:
        if entry.name in visited:
            return None
        visited.add(entry.name)
        cut = depth > options.max_depth or matches(entry.name, options.trim_name_regexes)
        return [] if cut else entry.shown

    def leave(entry: Entry, depth: int, below: list[Entry]) -> list[Entry]:
        if not is_shown(entry, options, depth):
            return below
        entry.shown = ordered(below, options)
        if options.account_displayed_op_only:
            entry.add_up()
        return [entry]

    gather([root], enter, leave)


def walk(root: Any) -> Iterator[tuple[Any, int]]:
    """Yield an entry and all that are shown below it, each with its depth, from 0 on."""
    stack = [(root, 0)]
    while stack:
        entry, depth = stack.pop()
        yield entry, depth
        stack += [(child, depth + 1) for child in reversed(entry.shown)]


def message(root: Entry, model: Model, make: Any) -> Any:
    """Return an entry, and the entries shown below it, as a `GraphNodeProto`."""
    result = make()
    waiting = [(root, result)]
    while waiting:
        entry, made = waiting.pop()
        _fill(made, entry, model)
        waiting += [(child, made.children.add()) for child in entry.shown]
    return result


def _fill(made: Any, entry: Entry, model: Model) -> None:
    made.name = entry.name
    made.total_definition_count = entry.total["definitions"]
    if entry.item.device:
        made.devices.append(entry.item.device)
    for name in NAMES:
        setattr(made, name, entry.own[name])
        setattr(made, f"total_{name}", entry.total[name])
    for index, dims in model.input_shapes(entry.item).items():
        shape = made.input_shapes[index]
        shape.unknown_rank = not dims
        for size in dims:
            shape.dim.add(size=size)
