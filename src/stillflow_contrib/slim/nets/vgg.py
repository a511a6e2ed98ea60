"""The networks of Oxford's Visual Geometry Group with 11, 16 and 19 layers (arXiv:1409.1556)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope as arg_scope
from stillflow.graph.export import export
from stillflow_contrib.slim.nets.classifiers import (
    collecting_outputs,
    fully_connected_layers,
    trained_arg_scope,
    with_end_points,
)

layers = tf.contrib.layers

_DEPTHS = (64, 128, 256, 512, 512)


@export("contrib.slim.nets.vgg.vgg_arg_scope")
def vgg_arg_scope(weight_decay: float = 0.0005) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that these were trained with; `weight_decay` is that of L2."""
    return trained_arg_scope(weight_decay, tf.zeros_initializer())


def _network(
    name: str, repetitions: tuple[int, ...], by_name_scope: bool = True
) -> Callable[..., Any]:
    """Return a network with so many convolutions, of each of `_DEPTHS`, before each pooling.

    The collection of outputs is named after the name scope, or the variables' scope.
    """

    def network(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: str = name,
    ) -> tuple[Any, dict[str, Any]]:
        with tf.variable_scope(scope, name, [inputs]) as variables:
            named = variables.original_name_scope if by_name_scope else variables.name
            collection = f"{named}_end_points"
            with collecting_outputs(collection):
                net = inputs
                for number, (depth, times) in enumerate(zip(_DEPTHS, repetitions, strict=True), 1):
                    convolution = (layers.conv2d, depth, [3, 3])
                    net = layers.repeat(net, times, *convolution, scope=f"conv{number}")
                    net = layers.max_pool2d(net, [2, 2], scope=f"pool{number}")
                net = fully_connected_layers(
                    net, 4096, [7, 7], num_classes, is_training, dropout_keep_prob
                )
                return with_end_points(net, collection, variables, spatial_squeeze)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""The network with {sum(repetitions) + 3} layers.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 224 x 224 as a rule.
      num_classes: how many logits there are.
      is_training: whether features are dropped.
      dropout_keep_prob: the share that is kept then.
      spatial_squeeze: whether height and width of the logits, which must be 1, are left out.
      scope: of the variables.

    Returns:
      The logits, and the outputs of all layers by name.
    """
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


vgg_a = export("contrib.slim.nets.vgg.vgg_a")(_network("vgg_a", (1, 1, 2, 2, 2)))
vgg_16 = export("contrib.slim.nets.vgg.vgg_16", "contrib.slim.nets.vgg.vgg_d")(
    _network("vgg_16", (2, 2, 3, 3, 3))
)
vgg_19 = export("contrib.slim.nets.vgg.vgg_19", "contrib.slim.nets.vgg.vgg_e")(
    _network("vgg_19", (2, 2, 4, 4, 4), by_name_scope=False)
)
vgg_d, vgg_e = vgg_16, vgg_19
