"""Graph transform that prints values."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from stillflow.protos import GraphDef
from stillflow.tools.graph_transforms.context import Context, invalid, transforms
from stillflow.tools.graph_transforms.nodes import canonical, imported, node_name, renamed_inputs

_SUFFIX = "__print__"


@transforms("insert_logging")
def insert_logging(graph_def: Any, context: Context) -> Any:
    """Put a Print behind nodes of some types, or whose names begin in some way."""
    ops, prefixes = (context.parameters.get(name) for name in ("op", "prefix"))
    read = defaultdict(set)
    for node in graph_def.node:
        for source in node.input:
            number = canonical(source).rpartition(":")[2]
            if not number.isdigit():
                raise invalid(f"Couldn't understand output number in {source}")
            read[node_name(source)].add(int(number))
    types = _output_types(graph_def)
    result = GraphDef()
    names, prints = {}, []
    for node in graph_def.node:
        result.node.add().CopyFrom(node)
        if (
            not read[node.name]
            or (ops and node.op not in ops)
            or (prefixes and not node.name.startswith(tuple(prefixes)))
        ):
            continue
        printing = result.node.add(op="Print", name=node.name + _SUFFIX)
        text = f";{node.op};" * context.flag("show_op", False)
        text += f";{printing.name};" * context.flag("show_name", False)
        printing.attr["message"].s = (text + context.one("message", "")).encode()
        printing.attr["first_n"].i = context.number("first_n", -1)
        printing.attr["summarize"].i = context.number("summarize", 1024)
        printing.input.append(f"{node.name}:0")
        printing.input.extend(f"{node.name}:{number}" for number in sorted(read[node.name]))
        printing.attr["T"].type = types[node.name][0]
        printing.attr["U"].list.type.extend(types[node.name])
        prints.append(printing.name)
        names[f"{node.name}:0"] = f"{printing.name}:0"
    return renamed_inputs(result, names, prints)


def _output_types(graph_def: Any) -> dict[str, list[int]]:
    return {
        op.name: [tensor.dtype.as_datatype_enum for tensor in op.outputs]
        for op in imported(graph_def).get_operations()
    }
