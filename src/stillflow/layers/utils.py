"""Arguments of convolutional layers and the lengths that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.keras.backend.config import image_data_format
from stillflow.ops.control_flow.cond import cond, smart_constant_value
from stillflow.ops.control_flow.cond import smart_cond as _smart_cond
from stillflow.variables.base import VariableV2

_FORMATS = {
    "channels_last": {3: "NWC", 4: "NHWC", 5: "NDHWC"},
    "channels_first": {3: "NCW", 4: "NCHW", 5: "NCDHW"},
}


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return the data format of ops ("NHWC") for that of layers ("channels_last") and a rank."""
    if data_format not in _FORMATS:
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in _FORMATS[data_format]:
        raise ValueError("Input rank not supported:", ndim)
    return _FORMATS[data_format][ndim]


def _is_number(value: Any) -> bool:
    try:
        int(value)
    except (ValueError, TypeError):
        return False
    return True


def normalize_tuple(value: Any, n: int, name: str) -> tuple[Any, ...]:
    """Return `value`, an integer or `n` of them, as a tuple of `n`; else raise ValueError."""
    if isinstance(value, int):
        return (value,) * n
    message = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        values = ()
    if len(values) != n:
        raise ValueError(message)
    others = [item for item in values if not _is_number(item)]
    if others:
        raise ValueError(f"{message} including element {others[0]} of type {type(others[0])}")
    return values


def normalize_data_format(value: str | None) -> str:
    """Return the data format in lower case; Keras' default for None, ValueError if unknown."""
    data_format = (image_data_format() if value is None else value).lower()
    if data_format not in _FORMATS:
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {value}"
        )
    return data_format


def normalize_padding(value: Any) -> Any:
    """Return the padding in lower case; explicit paddings as they are. ValueError if unknown."""
    if isinstance(value, (list, tuple)):
        return value
    padding = value.lower()
    if padding not in {"valid", "same", "causal"}:
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", '
            f"only for `Conv1D). Received: {padding}"
        )
    return padding


def conv_output_length(
    input_length: Any, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> Any:
    """Return the length of a convolution's output; None for an unknown input."""
    if input_length is None:
        return None
    assert padding in {"same", "valid", "full", "causal"}
    reach = (filter_size - 1) * dilation
    change = {"valid": -reach, "full": reach}.get(padding, 0)
    return (input_length + change + stride - 1) // stride


def conv_input_length(
    output_length: Any, filter_size: int, padding: str, stride: int
) -> int | None:
    """Return the length of an input from which a convolution makes an output; None for unknown."""
    if output_length is None:
        return None
    assert padding in {"same", "valid", "full"}
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(
    input_length: Any,
    filter_size: int,
    padding: str,
    output_padding: int | None = None,
    stride: int = 0,
    dilation: int = 1,
) -> Any:
    """Return a transposed convolution's output length; None or a tensor for such an input."""
    assert padding in {"same", "valid", "full"}
    if input_length is None:
        return None
    filter_size = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is not None:
        pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
        return (input_length - 1) * stride + filter_size - 2 * pad + output_padding
    length = input_length * stride
    if padding == "valid":
        return length + max(filter_size - stride, 0)
    return length - (stride + filter_size - 2) if padding == "full" else length


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """`tf.cond`, or just one branch where `pred` is known; `pred` may be a variable."""
    if isinstance(pred, VariableV2):
        return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return _smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def constant_value(pred: Any) -> bool | None:
    """Return the truth of a bool, 0, 1, tensor or variable, None if unknown, or raise TypeError."""
    return None if isinstance(pred, VariableV2) else smart_constant_value(pred)
