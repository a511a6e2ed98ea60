"""Shared parts of networks that end in fully connected layers, built as convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.contrib.layers.utils import convert_collection_to_dict
from stillflow.graph.operation import Tensor

if TYPE_CHECKING:
    from stillflow.variables.initializers import TruncatedNormal


layers = tf.contrib.layers


def trunc_normal(stddev: float) -> TruncatedNormal:
    """Return an initializer of truncated normal numbers around 0."""
    return tf.truncated_normal_initializer(0.0, stddev)


def trained_arg_scope(weight_decay: float, biases_initializer: Any) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that these networks were trained with."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=tf.nn.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=biases_initializer,
        ),
        arg_scope([layers.conv2d], padding="SAME") as scope,
    ):
        return scope


@contextmanager
def collecting_outputs(collection: str) -> Iterator[None]:
    """Collect the outputs of layers, by the names of their scopes."""
    collected = [layers.conv2d, layers.fully_connected, layers.max_pool2d]
    with arg_scope(collected, outputs_collections=collection):
        yield


def fully_connected_layers(
    net: Any,
    depth: int,
    kernel_size: list[int],
    num_classes: int,
    is_training: Any,
    dropout_keep_prob: float,
    **last: Any,
) -> Tensor:
    """Return layers `fc6`, `fc7` and `fc8`, with dropout between them, of a picture of features.

    `net` is `[batch, height, width, channels]`, `depth` and `kernel_size` are of `fc6`; `fc7` has
    4096 channels, `fc8` `num_classes`, and the arguments `last`.
    """
    net = layers.conv2d(net, depth, kernel_size, padding="VALID", scope="fc6")
    net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
    net = layers.conv2d(net, 4096, [1, 1], scope="fc7")
    net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
    return layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last
    )


def with_end_points(
    net: Any, collection: str, scope: Any, spatial_squeeze: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the logits, without height and width if wanted, and the layers' outputs by name."""
    end_points = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = tf.squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[f"{scope.name}/fc8"] = net
    return net, end_points
