"""Moving the channels of a tensor, or of a list of sizes, to another place."""

from __future__ import annotations

from typing import Any

from stillflow.graph.tensor_like import is_tensor


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Move channels from the last dimension to the second, of a tensor or sizes of rank 4 or 5."""
    return _move(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Move channels from the second dimension to the last, of a tensor or sizes of rank 4 or 5."""
    return _move(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def NHWCToNCHW_VECT_C(input_shape_or_tensor: Any) -> Any:
    """Move channels from the last dimension to the second, four of them each to a new last one.

    Tensors or sizes are of rank 4 or 5.
    """
    sizes = _sizes(input_shape_or_tensor)
    if sizes[-1] % 4 != 0:
        raise ValueError(
            "Last dimension of input must be evenly divisible by 4 to convert to NCHW_VECT_C."
        )
    split = [*sizes[:-1], sizes[-1] // 4, 4]
    orders = {5: [0, 3, 1, 2, 4], 6: [0, 4, 1, 2, 3, 5]}
    if not is_tensor(input_shape_or_tensor):
        return _move(split, orders)
    import stillflow as tf

    return _move(tf.reshape(input_shape_or_tensor, split), orders)


def NCHW_VECT_CToNHWC(input_shape_or_tensor: Any) -> Any:
    """Undo `NHWCToNCHW_VECT_C` of a tensor, or sizes, of rank 5 or 6."""
    sizes = _sizes(input_shape_or_tensor)
    if sizes[-1] != 4:
        raise ValueError("Last dimension of NCHW_VECT_C must be 4.")
    orders = {5: [0, 2, 3, 1, 4], 6: [0, 2, 3, 4, 1, 5]}
    *merged, last = _move(sizes, orders)
    merged[-1] *= last
    if not is_tensor(input_shape_or_tensor):
        return merged
    import stillflow as tf

    return tf.reshape(_move(input_shape_or_tensor, orders), merged)


def _sizes(value: Any) -> list[int]:
    return list(value.shape.as_list() if is_tensor(value) else value)


def _move(value: Any, orders: dict[int, list[int]]) -> Any:
    if not is_tensor(value):
        return [value[axis] for axis in orders[len(value)]]
    import stillflow as tf

    return tf.transpose(value, orders[value.shape.ndims])
