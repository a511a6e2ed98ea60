"""Commands that show the program's lines and their operations: ps, ls."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from typing import Any

from stillflow.debug.console.command_line import Command, CommandError
from stillflow.debug.console.node_commands import of_user
from stillflow.debug.console.tensor_commands import table
from stillflow.debug.dump_dir import DebugDumpDir


def source_commands(dump: DebugDumpDir) -> list[Command]:
    """Return the commands on the program that made a dump's graph."""
    return [
        Command(
            "print_source", "ps", "Show a source file with what its lines made.",
            lambda arguments: print_source(dump, arguments),
            [(("source_file_path",), {}),
             (("-t", "--tensors"), {"action": "store_true", "help": "only what the run computed"}),
             (("-m", "--max_elements_per_line"),
              {"type": int, "default": 10, "help": "show so many for a line of the file"}),
             (("-b", "--line_begin"), {"type": int, "default": 1, "help": "begin at this line"})],
        ),
        Command(
            "list_source", "ls", "List the source files that made the graph.",
            lambda arguments: list_source(dump, arguments),
            [(("-p", "--path_filter"), {"help": "only paths in which this is found"}),
             (("-n", "--node_name_filter"), {"help": "only of nodes whose names match this"})],
        ),
    ]  # fmt: skip


def _frames(dump: DebugDumpDir) -> dict[str, Any]:
    """Return the creation stacks of operations, by name."""
    if dump.python_graph is None:
        raise CommandError("the graph of the program is not known")
    return {op.name: of_user(op.traceback) for op in dump.python_graph.get_operations()}


def print_source(dump: DebugDumpDir, arguments: Any) -> list[str]:
    """Return a file's lines, each with the operations or tensors that it made."""
    path = os.path.realpath(arguments.source_file_path)
    if not os.path.isfile(path):
        raise CommandError(f"there is no file {arguments.source_file_path}")
    made: dict[int, list[str]] = defaultdict(list)
    for name, frames in _frames(dump).items():
        for file, line, *_ in frames:
            if os.path.realpath(file) == path and name not in made[line]:
                made[line].append(name)
    if not any(made.values()):
        raise CommandError(f"{arguments.source_file_path} made nothing of this graph")
    dumped = defaultdict(list)
    for datum in dump.dumped_tensor_data:
        dumped[datum.node_name].append(datum.tensor_name)
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read().splitlines()
    lines = []
    for number, text in enumerate(source, 1):
        if number < arguments.line_begin:
            continue
        lines.append(f"{f'L{number}':<5}{text}")
        names = sorted(made[number])
        if arguments.tensors:
            names = sorted({tensor for name in names for tensor in dumped[name]})
        limit = arguments.max_elements_per_line
        lines += [f"    {name}" for name in names[:limit]]
        if len(names) > limit:
            what = "tensor(s)" if arguments.tensors else "op(s)"
            lines.append(f"    (... Omitted {len(names) - limit} of {len(names)} {what} ...)")
    return [*lines, ""]


def list_source(dump: DebugDumpDir, arguments: Any) -> list[str]:
    """Return the files that made the graph, with how much they made."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    dumped: dict[str, int] = defaultdict(int)
    for datum in dump.dumped_tensor_data:
        dumped[datum.node_name] += 1
    for name, frames in _frames(dump).items():
        if arguments.node_name_filter and not re.match(arguments.node_name_filter, name):
            continue
        for file in {frame[0] for frame in frames}:
            if not arguments.path_filter or re.search(arguments.path_filter, file):
                counts[file][0] += 1
                counts[file][1] += dumped[name]
    rows = [("Source file path", "#(nodes)", "#(tensor dumps)")]
    rows += [(file, str(nodes), str(dumps)) for file, (nodes, dumps) in sorted(counts.items())]
    return ["Source files that made the nodes of this graph:", "", *table(rows), ""]
