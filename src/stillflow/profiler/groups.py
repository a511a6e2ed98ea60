"""Profiles of operations taken together: by type, or by the line of the program."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stillflow.profiler.measures import NAMES, Measured
from stillflow.profiler.model import Model
from stillflow.profiler.tree import ROOT, Entry, gather, is_shown, matches, ordered, started
from stillflow.profiler.tree import message as entry_message

_LONGEST = 20  # characters of a function's name, and more
_GRADIENTS, _OF_GRADIENT = "gradients/", "_grad/"
_GRADIENT = " (gradient)"


@dataclass
class Group(Entry):
    """Operations that are counted together.

    Attributes:
      members: the operations, by name.
      picked: those that count, by name.
      types, devices: theirs.
      trace: of a line, its (path, line, function, line where that begins).
      step: which the measures are of.
    """

    members: dict[str, Measured] = field(default_factory=dict)
    picked: dict[str, Measured] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    trace: tuple[str, int, str, int] | None = None
    step: int = -1

    def account(self, options: Any) -> None:
        """Find the operations that count; one counts as often as a regular expression fits."""
        self.step, patterns = options.step, list(options.account_type_regexes)
        found = []
        for pattern in patterns:
            for name in sorted(self.members):
                item = self.members[name]
                if patterns == [".*"] or any(matches(kind, [pattern]) for kind in item.types):
                    found.append(item)
        self.own = Counter()
        for item in found:
            self.own.update(item.at(options.step))
        self.picked = {item.name: item for item in found}
        self.types = {kind for item in found for kind in item.types}
        self.devices = {item.device for item in found}
        self.accounted = bool(found) or patterns == [".*"]

    def key(self, order: str) -> Any:
        """Return the sort key."""
        return -len(self.picked) if order == "occurrence" else super().key(order)

    def amount(self, option: str, measure: str) -> int:
        """Return its amount of a measure, including entries below."""
        if option == "min_occurrence":
            return sys.maxsize if self.trace is not None else len(self.picked)
        return self.total[measure]


def by_type(model: Model, options: Any) -> Group:
    """Operations by type, in one row: each total is that of a type and all after it."""
    groups: dict[str, Group] = {}
    for item in model.items():
        group = groups.setdefault(item.op_type, Group(Measured(item.op_type)))
        group.members[item.name] = item
    root = Group(Measured(ROOT))
    for group in groups.values():
        group.account(options)
        group.restart()
    row = [group for _, group in sorted(groups.items())]
    row = [group for group in ordered(row, options) if group.accounted]
    _accumulate(root, row)
    start = 0
    if list(options.start_name_regexes) not in ([], [".*"]):
        fits = [matches(group.name, options.start_name_regexes) for group in row]
        start = fits.index(True) if True in fits else len(row)
    for depth, group in enumerate(row[start:]):
        if matches(group.name, options.trim_name_regexes) or depth > options.max_depth:
            break
        if is_shown(group, options, depth):
            root.shown.append(group)
    if options.account_displayed_op_only:
        _accumulate(root, root.shown)
    return root


def _accumulate(root: Group, row: list[Group]) -> None:
    """Has the total of each hold those of all after it, and that of the root the first's."""
    later: Group | None = None
    for group in reversed(row):
        group.restart()
        if later is not None:
            group.add(later)
        later = group
    root.total = Counter(later.total) if later is not None else Counter()


def by_line(model: Model, options: Any) -> Group:
    """Return the tree of calls that made the operations, from the program's lines inwards."""
    if options.account_displayed_op_only:
        print("Note: code view ignores account_displayed_op_only", file=sys.stderr)
    root = _lines(model)
    root.shown = _account(root.children, options)
    for child in root.shown:
        root.add(child)
    if list(options.start_name_regexes) != [".*"]:
        root.shown = started(root.shown, options.start_name_regexes)
    _display(root, options)
    return root


def _lines(model: Model) -> Group:
    """Return the tree, before anything is counted.

    Operations of a gradient stand at the line of the operation that it is the gradient of.
    """
    root = Group(Measured(ROOT))
    gradients: dict[str, list[Measured]] = {}
    forward = {}
    for item in model.items():
        name = _differentiated(item.name) if item.trace else None
        if name is not None:
            gradients.setdefault(name, []).append(item)
        elif item.trace:
            forward[item.name] = item
            _leaf(root, model, item).members[item.name] = item
    for name in sorted(gradients.keys() & forward.keys()):
        leaf = _leaf(root, model, forward[name], _GRADIENT)
        leaf.members.update({item.name: item for item in gradients[name]})
    lost = len(gradients.keys() - forward.keys())
    if lost:
        print(f"{lost} gradient nodes not accounted", file=sys.stderr)
    return root


def _differentiated(name: str) -> str | None:
    """Return the operation whose gradient an operation belongs to; None if it belongs to none."""
    start, end = name.find(_GRADIENTS), name.find(_OF_GRADIENT)
    if start < 0 or end < 0:
        return None
    start += len(_GRADIENTS)
    return name[start:end] if end > start else name[start:]


def _leaf(root: Group, model: Model, item: Measured, suffix: str = "") -> Group:
    """Return the innermost line of the calls that made an operation."""
    group = root
    for trace in item.trace:
        path, function = (model.words.get(word, "") for word in (trace.file_id, trace.function_id))
        name = _line(path, trace.lineno, function) + suffix
        for child in group.children:
            if child.name == name:
                group = child
                break
        else:
            made = (path, trace.lineno, function + suffix, trace.func_start_line)
            group.children.append(Group(Measured(name), trace=made))
            group = group.children[-1]
    return group


def _line(path: str, line: int, function: str) -> str:
    short = function if len(function) < _LONGEST else f"{function[: _LONGEST - 3]}..."
    return f"{os.path.basename(path)}:{line}:{short}"


def _account(groups: list[Group], options: Any) -> list[Group]:
    def leave(group: Group, depth: int, below: list[Group]) -> list[Group]:
        group.account(options)
        if not group.accounted and not below:
            return []
        group.shown = below
        group.add_up()
        return [group]

    return gather(groups, lambda group, depth: group.children, leave)


def _display(root: Group, options: Any) -> None:
    def enter(group: Group, depth: int) -> list[Group] | None:
        if matches(group.name, options.trim_name_regexes) or depth > options.max_depth:
            return None
        return group.shown

    def leave(group: Group, depth: int, below: list[Group]) -> list[Group]:
        if not is_shown(group, options, depth):
            return below
        group.shown = ordered(below, options)
        return [group]

    gather([root], enter, leave)


def multi_message(root: Group, model: Model, options: Any, makes: tuple[Any, Any]) -> Any:
    """Return a group as a `MultiGraphNodeProto`; types stand inside each other, lines in a tree.

    `makes` are the messages of groups and of operations.
    """
    result = makes[0]()
    _fill(result, root, model, options, makes[1])
    if not root.children:
        made = result
        for group in root.shown:
            made = made.children.add()
            _fill(made, group, model, options, makes[1])
        return result
    waiting = [(child, result.children.add()) for child in root.shown]
    while waiting:
        group, made = waiting.pop()
        _fill(made, group, model, options, makes[1])
        waiting += [(child, made.children.add()) for child in group.shown]
    return result


def _fill(made: Any, group: Group, model: Model, options: Any, make: Any) -> None:
    made.name = group.name
    for name in NAMES[1:]:
        setattr(made, name, group.own[name])
        setattr(made, f"total_{name}", group.total[name])
    for name in sorted(group.picked):
        entry = Entry(group.picked[name])
        entry.own = entry.item.at(options.step)
        entry.restart()
        made.graph_nodes.append(entry_message(entry, model, make))
