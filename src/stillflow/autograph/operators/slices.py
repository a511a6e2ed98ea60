"""Items of lists and tensors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.arrays.scatter import tensor_scatter_update_op
from stillflow.ops.control_flow.flows import is_tensor_array
from stillflow.ops.strings.parts import substr
from stillflow.ops.tensor_list import public as lists

GetItemOpts = namedtuple("GetItemOpts", ("element_dtype",))


def get_item(target: Any, i: Any, opts: Any) -> Any:
    """`target[i]`; ValueError for a list in the graph whose elements' type is not known."""
    if is_tensor_array(target):
        return target.read(i)
    if not is_tensor(target):
        return target[i]
    if target.dtype == dtypes.variant:
        if opts.element_dtype is None:
            raise ValueError(
                "cannot retrieve from a list without knowing its element type; use "
                "set_element_type to annotate it"
            )
        return lists.tensor_list_get_item(target, i, element_dtype=opts.element_dtype)
    if target.dtype == dtypes.string and target.shape.ndims == 0:
        return substr(target, i, 1)
    return target[i]


def set_item(target: Any, i: Any, x: Any) -> Any:
    """`target[i] = x`; gives the target, which is a new one in a graph."""
    if is_tensor_array(target):
        return target.write(i, x)
    if not is_tensor(target):
        target[i] = x
        return target
    if target.dtype == dtypes.variant:
        return lists.tensor_list_set_item(target, i, x)
    return tensor_scatter_update_op(target, ((i,),), (x,))
