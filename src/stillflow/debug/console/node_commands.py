"""Commands that show operations and their connections: ni, li, lo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.debug.console.command_line import Command, CommandError
from stillflow.debug.console.config import Config
from stillflow.debug.dump_dir import DebugDumpDir


def node_commands(dump: DebugDumpDir, config: Config) -> list[Command]:
    """Return the commands on the operations of a dump."""
    flag = {"action": "store_true"}
    tree: list[Any] = [
        (("node_name",), {}),
        (("-c", "--control"), {**flag, "help": "follow control dependencies too"}),
        (("-d", "--depth"), {"type": int, "help": "how far to go"}),
        (("-r", "--recursive"), {**flag, "help": "go on from there"}),
        (("-t", "--op_type"), {**flag, "help": "show types too"}),
    ]
    return [
        Command(
            "node_info", "ni", "Show an operation: its type, inputs and recipients.",
            lambda arguments: node_info(dump, arguments),
            [(("node_name",), {}),
             (("-a", "--attributes"), {**flag, "help": "its attributes"}),
             (("-d", "--dumps"), {**flag, "help": "what the run computed of it"}),
             (("-t", "--traceback"), {**flag, "help": "where the program made it"})],
        ),
        Command(
            "list_inputs", "li", "Show what an operation takes, as a tree.",
            lambda arguments: node_tree(dump, arguments, "Inputs to", dump.node_inputs, config),
            tree,
        ),
        Command(
            "list_outputs", "lo", "Show the consumers of an operation's outputs, as a tree.",
            lambda arguments: node_tree(
                dump, arguments, "Recipients of", dump.node_recipients, config
            ),
            tree,
        ),
    ]  # fmt: skip


def _node(dump: DebugDumpDir, text: str) -> str:
    """Return the node of a name of an operation or tensor."""
    name = text.partition(":")[0]
    if not dump.node_exists(name):
        raise CommandError(f'There is no node named "{name}" in the partition graphs')
    return name


def node_info(dump: DebugDumpDir, arguments: Any) -> list[str]:
    """Return the description of an operation."""
    name = _node(dump, arguments.node_name)
    lines = [f"Node {name}", "", f"  Op: {dump.node_op_type(name)}",
             f"  Device: {dump.node_device(name)}", ""]  # fmt: skip
    lines += _neighbours(dump, "input", dump.node_inputs, name)
    lines += _neighbours(dump, "recipient", dump.node_recipients, name)
    if arguments.attributes:
        lines.append("Node attributes:")
        for key, value in sorted(dump.node_attributes(name).items()):
            shown = str(value).strip().replace("\n", "\n    ")
            lines += [f"  {key}:", f"    {shown[:1000]}", ""]
    if arguments.dumps:
        lines += _dumps(dump, name)
    if arguments.traceback:
        lines += traceback_lines(dump.node_traceback(name))
    return lines


def _neighbours(
    dump: DebugDumpDir, what: str, of: Callable[..., list[str]], name: str
) -> list[str]:
    data, control = of(name), of(name, is_control=True)
    lines = [f"  {len(data)} {what}(s) + {len(control)} control {what}(s):"]
    for title, names in ((what, data), (f"control {what}", control)):
        if names:
            lines.append(f"    {len(names)} {title}(s):")
            lines += [f"      [{dump.node_op_type(node)}] {node}" for node in names]
    return [*lines, ""]


def _dumps(dump: DebugDumpDir, name: str) -> list[str]:
    start = dump.t0 or 0
    data = [d for key in dump.debug_watch_keys(name) for d in dump.watch_key_to_data(key)]
    lines = [f"{len(data)} dumped tensor(s):", ""]
    for datum in data:
        time = (datum.timestamp - start) / 1000
        lines.append(f"  Slot {datum.output_slot} @ {datum.debug_op} @ {time:.3f} ms")
    return [*lines, ""]


def traceback_lines(frames: Any) -> list[str]:
    """Return the stack of a creation, outermost frame first, without frames of ours."""
    lines = ["Traceback of node construction:"]
    for number, (file, line, function, text, *_) in enumerate(of_user(frames)):
        lines += [
            f"{number}: {file}", f"  Line:     {line}", f"  Function: {function}",
            f'  Text:     "{text}"', "",
        ]  # fmt: skip
    return lines


def of_user(frames: Any) -> list[Any]:
    """Return the frames of the program; all of them if there is none."""
    from stillflow.errors import of_program

    return of_program(list(frames)) or list(frames)


def node_tree(
    dump: DebugDumpDir,
    arguments: Any,
    title: str,
    neighbours: Callable[..., list[str]],
    config: Config,
) -> list[str]:
    """Return the inputs or consumers of an operation, indented by distance."""
    name = _node(dump, arguments.node_name)
    depth = arguments.depth or config.get("graph_recursion_depth")
    depth = depth if arguments.recursive else 1
    controls = ", control inputs included" if arguments.control else ""
    lines = [f'{title} node "{name}" (Depth limit = {depth}{controls}):']
    seen = {name}

    def branch(node: str, level: int, indent: str) -> None:
        found = [(child, False) for child in neighbours(node)]
        if arguments.control:
            found += [(child, True) for child in neighbours(node, is_control=True)]
        for number, (child, is_control) in enumerate(found):
            kind = f"[{dump.node_op_type(child)}] " if arguments.op_type else ""
            lines.append(f"{indent}|- ({level}) {kind}{'(Ctrl) ' * is_control}{child}")
            below = indent + ("   " if number == len(found) - 1 else "|  ")
            if level >= depth:
                if neighbours(child):
                    lines.append(f"{below}|- ...")
            elif child not in seen:
                seen.add(child)
                branch(child, level + 1, below)

    branch(name, 1, "")
    lines += ["", "Legend:", "  (d): recursion depth = d."]
    lines += ["  (Ctrl): Control input."] * arguments.control
    lines += ["  [Op]: Input node has op type Op."] * arguments.op_type
    return [*lines, ""]
