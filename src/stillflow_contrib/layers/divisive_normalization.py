"""Generalized divisive normalization (Ballé, Laparra and Simoncelli, 2015)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.gradient_registry import RegisterGradient
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.layers.base import Layer
from stillflow.layers.input_spec import InputSpec

_CHANNEL_AXES = {"channels_first": 1, "channels_last": -1}


def _at_least(inputs: Any, bound: Any) -> Tensor:
    """Return the greater one; below the bound gradients pass that lead back to it."""
    with tf.name_scope(None, "GDNLowerBound", [inputs, bound]) as scope:
        given = {"inputs": inputs, "bound": bound}
        operands = [tf.convert_to_tensor(value, name=name) for name, value in given.items()]
        with get_default_graph().gradient_override_map({"Maximum": "GDNLowerBound"}):
            return tf.maximum(*operands, name=scope)


@RegisterGradient("GDNLowerBound")
def _at_least_gradient(op: Any, grad: Any) -> list[Any]:
    inputs, bound = op.inputs
    passes = tf.logical_or(inputs >= bound, grad < 0)
    return [tf.cast(passes, grad.dtype) * grad, None]


@export("contrib.layers.GDN", "contrib.slim.GDN")
class GDN(Layer):
    """Divides every channel by a length that its weights make of all channels at its place.

    `y[i] = x[i] / sqrt(beta[i] + sum over j of gamma[j, i] * x[j]**2)`

    Args:
      inverse: whether it multiplies instead.
      beta_min: the least `beta`.
      gamma_init: what `gamma` has on its diagonal in the beginning.
      reparam_offset: keeps gradients of the square roots, which are the variables, from vanishing.
      data_format: "channels_last" or "channels_first".
      activity_regularizer: of the outputs.
      trainable: whether the variables are trained.
      name: of the layer.

    Attributes:
      beta: [channels].
      gamma: [channels, channels].

    Raises:
      ValueError: for another `data_format`.
    """

    def __init__(
        self, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1,
        reparam_offset: float = 2**-18, data_format: str = "channels_last",
        activity_regularizer: Any = None, trainable: bool = True, name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        if data_format not in _CHANNEL_AXES:
            raise ValueError(f"Unsupported `data_format` for GDN layer: {data_format}.")
        self.inverse = inverse
        self.data_format = data_format
        self._beta_min = beta_min
        self._gamma_init = gamma_init
        self._reparam_offset = reparam_offset
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape: Any) -> None:
        """Make the variables, whose squares `beta` and `gamma` are.

        Raises:
          ValueError: if the number of channels is not known.
        """
        axis = _CHANNEL_AXES[self.data_format]
        input_shape = tf.TensorShape(input_shape)
        channels = input_shape.dims[axis].value
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self._rank = input_shape.ndims
        self.input_spec = InputSpec(ndim=self._rank, axes={axis: channels})
        offset = self._reparam_offset**2
        pedestal = tf.constant(offset, dtype=self.dtype)
        beta_bound = tf.constant((self._beta_min + offset) ** 0.5, dtype=self.dtype)
        gamma_bound = tf.constant(self._reparam_offset, dtype=self.dtype)

        def first_beta(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            base = tf.constant(offset, dtype=self.dtype)
            return tf.sqrt(tf.ones(shape, dtype=dtype) + base)

        def first_gamma(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            diagonal = tf.eye(shape[0], dtype=dtype)
            base = tf.constant(offset, dtype=self.dtype)
            return tf.sqrt(self._gamma_init * diagonal + base)

        beta = self._root("reparam_beta", [channels], first_beta)
        self.beta = tf.square(_at_least(beta, beta_bound)) - pedestal
        gamma = self._root("reparam_gamma", [channels, channels], first_gamma)
        self.gamma = tf.square(_at_least(gamma, gamma_bound)) - pedestal
        self.built = True

    def _root(self, name: str, shape: list[int], initializer: Any) -> Any:
        return self.add_variable(
            name, shape=shape, initializer=initializer, dtype=self.dtype, trainable=True
        )

    def call(self, inputs: Any) -> Tensor:
        """Return inputs divided by their lengths, or multiplied with them."""
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        spatial = self._rank - 2
        gamma = tf.reshape(self.gamma, spatial * [1] + self.gamma.get_shape().as_list())
        if self.data_format == "channels_first":
            layout = "NC" + "DHW"[-spatial:]
            squares = tf.nn.convolution(tf.square(inputs), gamma, "VALID", data_format=layout)
            squares = self._add_beta_first(squares)
        else:
            squares = tf.nn.convolution(tf.square(inputs), gamma, "VALID")
            squares = tf.nn.bias_add(squares, self.beta, data_format="NHWC")
        lengths = tf.sqrt(squares)
        outputs = inputs * lengths if self.inverse else inputs / lengths
        outputs.set_shape(inputs.get_shape())
        return outputs

    def _add_beta_first(self, squares: Any) -> Tensor:
        """Add `beta` to channels that are the second dimension."""
        if self._rank == 3:
            squares = tf.expand_dims(squares, 2)
            squares = tf.nn.bias_add(squares, self.beta, data_format="NCHW")
            return tf.squeeze(squares, [2])
        if self._rank == 4:
            return tf.nn.bias_add(squares, self.beta, data_format="NCHW")
        shape = tf.shape(squares)
        squares = tf.reshape(squares, shape[:3] + [-1])
        squares = tf.nn.bias_add(squares, self.beta, data_format="NCHW")
        return tf.reshape(squares, shape)


@export("contrib.layers.gdn")
def gdn(
    inputs: Any, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1,
    reparam_offset: float = 2**-18, data_format: str = "channels_last",
    activity_regularizer: Any = None, trainable: bool = True, name: Any = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """Generalized divisive normalization; arguments are those of `tf.contrib.layers.GDN`.

    Args:
      inputs: [batch, ..., channels], or [batch, channels, ...], of three to five dimensions.
      reuse: whether to use the variables of a layer of this name.
    """
    layer = GDN(
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer,
        trainable, name, dtype=inputs.dtype.base_dtype, _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs)
