"""Parameters of a forest: the message that each of its operations carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.ops.boosted_trees.resources import refused
from stillflow.protos import file

MESSAGES = file("tensorflow/contrib/tensor_forest/proto/tensor_forest_params.proto")


def parameters_of(serialized: bytes) -> Any:
    """Parse a `TensorForestParams` message, or raise InvalidArgumentError."""
    message: Any = MESSAGES["TensorForestParams"]()
    try:
        message.ParseFromString(serialized)
    except Exception as error:
        raise refused("Unable to parse the parameters of the forest.") from error
    return message


def at_depth(parameter: Any, depth: int) -> np.float32:
    """Return a parameter's float32 value so many layers below the root, or InvalidArgumentError."""
    kind = parameter.WhichOneof("ParamType")
    if kind is None:
        raise refused("unknown parameter type")
    found = getattr(parameter, kind)
    if kind == "constant_value":
        return np.float32(found)
    if kind == "linear":
        value = np.float32(depth) * np.float32(found.slope) + np.float32(found.y_intercept)
        return min(max(value, np.float32(found.min_val)), np.float32(found.max_val))
    if kind == "exponential":
        exponent = np.float32(found.depth_multiplier) * np.float32(depth)
        power = np.float32(float(found.base) ** float(exponent))
        return np.float32(found.bias) + np.float32(found.multiplier) * power
    return np.float32(found.on_value if depth >= found.threshold else found.off_value)
