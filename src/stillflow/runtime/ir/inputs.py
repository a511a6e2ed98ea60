"""Forms in which operations take their inputs and run their bodies, by signature and attributes."""

from __future__ import annotations

from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.functional.nodes import disabled_rewriter_config

# Marks branches and loops that are run as if they were the graph's own.
LOWERED = "_lower_using_switch_merge"


def is_handle(tensor: Tensor) -> bool:
    """Return True for references and resources, which cannot be copied between devices."""
    return tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource"


def takes_handle(op: Operation, index: int) -> bool:
    """Return True if an input is taken as a handle: a resource, or a reference declared as one.

    An operation that declares a value and is given a reference reads it, and may be anywhere.
    """
    dtype = op._inputs[index].dtype
    return dtype == dtypes.resource or (dtype._is_ref_dtype and wants_reference(op, index))


def wants_reference(op: Operation, index: int) -> bool:
    """Return True if input number `index` is declared as a reference."""
    position = 0
    for arg in op.card.signature.inputs:
        count = 1
        if arg.number_attr is not None:
            count = op.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(op.attrs[arg.type_list_attr])
        if index < position + count:
            return arg.is_ref
        position += count
    return False


def is_pruned(op: Operation) -> bool:
    """Return True if only the parts of a body run that its results and its definition need.

    That is how the graph's optimizer leaves bodies behind; without it, all effects happen. A
    gradient computes a body again, whose effects happened already.
    """
    if op.type == "SymbolicGradient":
        return True
    config = op.attrs.get("config_proto")
    return bool(op.attrs.get(LOWERED)) or config not in (None, disabled_rewriter_config())
