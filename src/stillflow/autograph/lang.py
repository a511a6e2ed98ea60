"""Words that programs say to conversion: directives and functions on lists."""

from __future__ import annotations

from typing import Any

from stillflow.autograph.operators.data_structures import (
    ListStackOpts,
    list_stack,
    tf_tensor_array_new,
    tf_tensor_list_new,
)  # fmt: skip
from stillflow.autograph.operators.tensors import match_staging_level as match_staging_level
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor

UNSPECIFIED: Any = object()


@export("contrib.autograph.set_element_type")
def set_element_type(entity: Any, dtype: Any, shape: Any = UNSPECIFIED) -> None:
    """Says, where lists are converted, of which type and shape the elements of a list are."""


@export("autograph.experimental.set_loop_options", "contrib.autograph.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = UNSPECIFIED,
    back_prop: Any = UNSPECIFIED,
    swap_memory: Any = UNSPECIFIED,
    maximum_iterations: Any = UNSPECIFIED,
) -> None:
    """Names arguments of `tf.while_loop` for the loop around; TF 1.15 makes nothing of them."""


@export("contrib.autograph.stack")
def stack(
    list_or_tensor: Any, element_dtype: Any = None, strict: bool = True
) -> Tensor | list[int]:
    """Stack a list of tensors in a graph or a TensorArray.

    Args:
      list_or_tensor: anything.
      element_dtype: the type of the elements, for a list of tensors.
      strict: raise an error for values that cannot be stacked; else return them unchanged.

    Raises:
      ValueError: if it cannot be stacked and `strict`.
    """

    def as_it_is(value: Any) -> Any:
        if strict:
            raise ValueError(f"{value} must be stackable when strict=True")
        return value

    return list_stack(list_or_tensor, ListStackOpts(element_dtype, as_it_is))


def tensor_list(
    elements: Any, element_dtype: Any = None, element_shape: Any = None,
    use_tensor_array: bool = False,
) -> Any:  # fmt: skip
    """Return a list of tensors in the graph, or a TensorArray, of a tensor, list or tuple.

    An empty list needs `element_dtype` and `element_shape`; ValueError for others.
    """
    described = element_dtype is not None and element_shape is not None
    if not described and not is_tensor(elements):
        if not isinstance(elements, list | tuple):
            raise ValueError(
                f"unknown type for elements: {type(elements)}; only Tensor, list and tuple are "
                "allowed"
            )
        if not elements:
            raise ValueError("element_dtype and element_shape are required when elements are empty")
    make = tf_tensor_array_new if use_tensor_array else tf_tensor_list_new
    return make(elements, element_dtype, element_shape)
