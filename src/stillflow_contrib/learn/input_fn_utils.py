"""The input of exported models of `tf.contrib.learn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.ops.constants import placeholder
from stillflow.ops.io.parsing.functions import parse_example


@export("contrib.learn.InputFnOps", "contrib.learn.utils.InputFnOps")
class InputFnOps(NamedTuple):
    """Features, labels, and the placeholders that they are made from by default."""

    features: Any
    labels: Any
    default_inputs: Any


@export(
    "contrib.learn.build_parsing_serving_input_fn",
    "contrib.learn.utils.build_parsing_serving_input_fn",
)
def build_parsing_serving_input_fn(
    feature_spec: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return an input function that parses serialized examples.

    Args:
      feature_spec: {name: the arguments of `tf.parse_example`}.
      default_batch_size: how many examples; any number if None.
    """

    def input_fn() -> InputFnOps:
        serialized = placeholder(
            dtype=dtypes.string, shape=[default_batch_size], name="input_example_tensor"
        )
        features = parse_example(serialized, feature_spec)
        return InputFnOps(features, None, {"examples": serialized})

    return input_fn


@export("contrib.learn.utils.build_default_serving_input_fn")
def build_default_serving_input_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return an input function of placeholders that are like given tensors.

    Args:
      features: {name: tensor [batch, ...]}.
      default_batch_size: how many examples; any number if None.
    """

    def input_fn() -> InputFnOps:
        placeholders = {
            name: placeholder(
                dtype=tensor.dtype, shape=[default_batch_size, *tensor.shape.as_list()[1:]],
                name=tensor.op.name,
            )
            for name, tensor in features.items()
        }  # fmt: skip
        return InputFnOps(placeholders, None, placeholders)

    return input_fn
