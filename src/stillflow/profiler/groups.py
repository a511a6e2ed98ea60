"""Profiles of operations taken together: by type, or by the line of the program."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stillflow.profiler.measures import NAMES, Measured
from stillflow.profiler.tree import ROOT, Entry, is_accounted, is_shown, matches, message, ordered

_LONGEST = 20  # characters of a function's name


@dataclass
class Group(Entry):
    """Operations that are counted together.

    Attributes:
      members: the operations that count.
    """

    members: list[Measured] = field(default_factory=list)

    def take(self, item: Measured) -> None:
        """Adds an operation."""
        self.members.append(item)
        self.item.own.update(item.own)
        self.item.types.update(item.types)
        self.accounted = True


def by_type(items: list[Measured], options: dict[str, Any]) -> Group:
    """Operations by type, in one row: each total is that of a type and all after it."""
    groups: dict[str, Group] = {}
    for item in items:
        group = groups.setdefault(item.op_type, Group(Measured(item.op_type)))
        if is_accounted(item, options):
            group.take(item)
    for group in groups.values():
        group.restart()
    row = [group for group in ordered(list(groups.values()), options) if group.accounted]
    _accumulate(row)
    start = 0
    if options["start_name_regexes"] != [".*"]:
        names = [matches(group.name, options["start_name_regexes"]) for group in row]
        start = names.index(True) if True in names else len(row)
    root = Group(Measured(ROOT))
    if row:
        root.total = Counter(row[0].total)
    for depth, group in enumerate(row[start:]):
        if matches(group.name, options["trim_name_regexes"]) or depth > options["max_depth"]:
            break
        if is_shown(group, options, depth, own=False):
            root.shown.append(group)
    if options["account_displayed_op_only"]:
        _accumulate(root.shown)
        root.total = Counter(root.shown[0].total) if root.shown else Counter()
    return root


def _accumulate(row: list[Any]) -> None:
    later: Any = None
    for group in reversed(row):
        group.restart()
        if later is not None:
            group.add(later)
        later = group


def by_line(items: list[Measured], options: dict[str, Any]) -> Group:
    """The tree of calls that made the operations, from the program's lines inwards."""
    root = Group(Measured(ROOT))
    places: dict[tuple[Any, ...], Group] = {(): root}
    for item in items:
        if not is_accounted(item, options):
            continue
        way: tuple[Any, ...] = ()
        for frame in item.trace:
            parent, way = places[way], (*way, frame)
            if way not in places:
                places[way] = Group(Measured(_line(*frame)))
                parent.children.append(places[way])
        if way:
            places[way].take(item)
    _add_up(root)
    root.shown = _display(root.shown, options, 2)
    return root


def _line(path: str, line: int, function: str) -> str:
    short = function if len(function) <= _LONGEST else f"{function[:_LONGEST]}..."
    return f"{os.path.basename(path)}:{line}:{short}"


def _add_up(group: Group) -> None:
    group.restart()
    group.shown = list(group.children)
    for child in group.children:
        assert isinstance(child, Group)
        _add_up(child)
        group.add(child)


def _display(entries: list[Entry], options: dict[str, Any], depth: int) -> list[Entry]:
    result = []
    for entry in entries:
        below = [] if matches(entry.name, options["trim_name_regexes"]) else entry.shown
        below = _display(below, options, depth + 1)
        if is_shown(entry, options, depth, own=False) and _has_any(entry):
            entry.shown = ordered(below, options)
            result.append(entry)
        else:
            result += below
    return ordered(result, options)


def _has_any(entry: Entry) -> bool:
    return any(entry.total[name] for name in NAMES)


def multi_message(group: Any, make: Any, make_node: Any, chained: bool) -> Any:
    """A group as a `MultiGraphNodeProto`.

    Args:
      group: the group.
      make, make_node: the messages of groups and operations.
      chained: whether each group stands inside the one before, as types do.
    """
    result = _one_message(group, make, make_node)
    if not chained:
        parts = [multi_message(child, make, make_node, False) for child in group.shown]
        result.children.extend(parts)
        return result
    inner = None
    for child in reversed(group.shown):
        outer = _one_message(child, make, make_node)
        if inner is not None:
            outer.children.append(inner)
        inner = outer
    if inner is not None:
        result.children.append(inner)
    return result


def _one_message(group: Any, make: Any, make_node: Any) -> Any:
    result = make(name=group.name)
    for name in NAMES[1:]:
        setattr(result, name, group.item.own[name])
        setattr(result, f"total_{name}", group.total[name])
    for item in group.members:
        entry = Entry(item)
        entry.restart()
        result.graph_nodes.append(message(entry, make_node))
    return result
