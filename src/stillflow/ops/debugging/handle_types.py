"""Types of variables behind handles, and the errors for operations of another type."""

from __future__ import annotations

from stillflow.graph.dtypes import DType
from stillflow.graph.node import Node

# C++ names for types, which are in messages from shape rules.
_TYPE_WORDS = {"float32": "float", "float64": "double", "float16": "half"}


def type_word(dtype: DType) -> str:
    """Return the name of a type in TensorFlow's messages."""
    name = dtype.base_dtype.name
    return _TYPE_WORDS.get(name, name)


def check_built_type(node: Node) -> None:
    """Raise ValueError at graph construction if `dtype` is not the variable's type."""
    known, asked = node.inputs[0]._handle_dtype, node.op.attrs["dtype"]
    if not node.planning and known is not None and known.base_dtype != asked.base_dtype:
        raise ValueError(
            "Trying to read variable with wrong dtype. "
            f"Expected {type_word(known)} got {type_word(asked)}"
        )
