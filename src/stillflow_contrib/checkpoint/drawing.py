"""`tf.contrib.checkpoint.dot_graph_from_checkpoint`: the objects in a checkpoint as a drawing."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.train.checkpoint_utils import new_checkpoint_reader
from stillflow.train.tracking.base import VARIABLE_VALUE_KEY
from stillflow.train.tracking.checkpoint import object_metadata


@export("contrib.checkpoint.dot_graph_from_checkpoint")
def dot_graph_from_checkpoint(save_path: Any) -> str:
    """Return the objects in a checkpoint as a graph in the language of Graphviz.

    Args:
      save_path: the checkpoint, as `tf.train.Checkpoint.save` gives it.

    Raises:
      ValueError: if it is one of names.
    """
    reader = new_checkpoint_reader(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    nodes = object_metadata(save_path).nodes
    slots = {slot.slot_variable_node_id for node in nodes for slot in node.slot_variables}
    lines = ["digraph {"]
    for number, node in enumerate(nodes):
        point = f'N_{number} [shape=point label=""'
        names = [attribute.name for attribute in node.attributes]
        if names == [VARIABLE_VALUE_KEY]:
            color, what = ("orange", "Slot variable") if number in slots else ("blue", "Variable")
            value = node.attributes[0]
            key = value.checkpoint_key
            lines.append(
                f'{point} color={color} width=.25 tooltip="{what} {_escaped(value.full_name)} '
                f'shape={shapes[key]} {types[key].name}"]'
            )
        elif node.slot_variables:
            lines.append(f'{point} width=.25 color=red,tooltip="Optimizer"]')
        else:
            lines.append(f"{point} width=.25]")
        lines += _edges(number, node)
    return "\n".join([*lines, "}", ""])


def _edges(number: int, node: Any) -> list[str]:
    lines = [
        f'N_{number} -> N_{child.node_id} [label="{_escaped(child.local_name)}"]'
        for child in node.children
    ]
    for slot in node.slot_variables:
        target = f"N_{slot.slot_variable_node_id}"
        label = _escaped(slot.slot_name)
        lines.append(f'N_{number} -> {target} [label="{label}" style=dotted]')
        lines.append(f"N_{slot.original_variable_node_id} -> {target} [style=dotted]")
    return lines


def _escaped(name: str) -> str:
    return name.replace('"', '\\"')
