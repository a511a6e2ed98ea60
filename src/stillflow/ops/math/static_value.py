"""Values that TF's Python code sees while it builds a graph.

Shape inference knows more than that (`graph/constant_value.py`), but functions that choose between
two ways of building a graph must decide as TF decides, or other nodes would come out.
"""

from __future__ import annotations

import numpy as np

from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Tensor

# Ops whose output follows from an input's static shape, and from inputs that are known likewise.
_FROM_SHAPES = {"Shape", "Size", "Rank"}
_FROM_VALUES = {
    "Range", "Cast", "Concat", "ConcatV2", "ConcatOffset", "Pack", "Fill", "Equal", "NotEqual",
}  # fmt: skip


def static_value(tensor: Tensor) -> np.ndarray | None:
    """The value of `tensor` if it is plain to see, else None.

    A tensor whose value was asked for can no longer be fed: the graph depends on it.
    """
    if not _is_plain(tensor):
        return None
    value = constant_value(tensor)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


def _is_plain(tensor: Tensor) -> bool:
    kind = tensor.op.type
    if kind == "Const" or kind in _FROM_SHAPES:
        return True
    return kind in _FROM_VALUES and all(_is_plain(item) for item in tensor.op._inputs)
