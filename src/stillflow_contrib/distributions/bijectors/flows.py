"""Flows: vectors that are stretched and shifted as networks say of their own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved


def _depth(x: Any) -> int | None:
    return dimension_value(x.shape.with_rank_at_least(1)[-1])


def _known_depth(x: Any) -> int:
    depth = _depth(x)
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    return int(depth)


def _stretched(x: Any, shift: Any, log_scale: Any) -> Tensor:
    if log_scale is not None:
        x *= tf.exp(log_scale)
    return x if shift is None else x + shift


def _unstretched(y: Any, shift: Any, log_scale: Any) -> Tensor:
    if shift is not None:
        y -= shift
    return y if log_scale is None else y * tf.exp(-log_scale)


@export("contrib.distributions.bijectors.MaskedAutoregressiveFlow")
class MaskedAutoregressiveFlow(Bijector):
    """y = x * exp(log_scale(y)) + shift(y), where each number depends on those before it.

    Args:
      shift_and_log_scale_fn: makes both of y; either may be None.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether the graph checks arguments.
      unroll_loop: whether y is found by one node after the other, not by a loop.
      name: of the scope.
    """

    @_moved
    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x: Any) -> Tensor:
        return self._unrolled(x) if self._unroll_loop else self._looped(x)

    def _unrolled(self, x: Any) -> Tensor:
        size = _depth(x)
        if size is None:
            raise ValueError(
                "The final dimension of `x` must be known at graph construction time if "
                f"`unroll_loop=True`. `x.shape: {x.shape!r}`"
            )
        y = tf.zeros_like(x, name="y0")
        for _ in range(size):
            y = _stretched(x, *self._shift_and_log_scale_fn(y))
        return y

    def _looped(self, x: Any) -> Tensor:
        size = tf.shape(x)[-1]
        first = tf.zeros_like(x, name="y0")
        # Makes the variables outside of the loop.
        self._shift_and_log_scale_fn(first)

        def turn(index: Any, y: Any) -> tuple[Tensor, Tensor]:
            with tf.variable_scope(tf.get_variable_scope()) as scope:
                # Variables are read once, on their own devices.
                if scope.caching_device is None:
                    scope.set_caching_device(lambda op: op.device)
                shift, log_scale = self._shift_and_log_scale_fn(y)
            y = _stretched(x, shift, log_scale)
            return index + 1, y

        _, y = tf.while_loop(
            cond=lambda index, _: index < size,
            body=turn,
            loop_vars=(0, first),
            maximum_iterations=_depth(x),
        )
        return y

    def _inverse(self, y: Any) -> Tensor:
        return _unstretched(y, *self._shift_and_log_scale_fn(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        _, log_scale = self._shift_and_log_scale_fn(y)
        if log_scale is None:
            return tf.constant(0.0, dtype=y.dtype, name="ildj")
        return -tf.reduce_sum(log_scale, axis=-1)


def _mask(blocks: Any, inputs: int, units: int, exclusive: bool) -> np.ndarray:
    """Return the inputs visible to each unit, [inputs, units], in blocks."""
    mask = np.zeros([units, inputs], dtype=np.float32)
    of_inputs, of_units = inputs // blocks, units // blocks
    for block in range(blocks):
        row = (block + exclusive) * of_units
        mask[row:, block * of_inputs : (block + 1) * of_inputs] = 1
    return mask.T


@export("contrib.distributions.bijectors.masked_dense")
@_moved
def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: Any = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: Any = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """Return a dense layer whose units see only inputs that come before theirs.

    Args:
      inputs: `[..., depth]`, of known depth.
      units: how many numbers come out.
      num_blocks: into how many blocks inputs and units fall.
      exclusive: whether a unit does not see the inputs of its own block.
      kernel_initializer: Glorot's normal one if None.
      reuse, name, ...: as of `tf.layers.dense`.

    Raises:
      NotImplementedError: if the depth is not known.
    """
    mask = _mask(num_blocks, _known_depth(inputs), units, exclusive)
    initial_values = kernel_initializer or tf.glorot_normal_initializer()

    def visible(kernel: Any) -> Tensor:
        return mask * kernel

    def visible_values(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return visible(initial_values(shape, dtype, partition_info))

    masks = {"kernel_initializer": visible_values, "kernel_constraint": visible}
    scopes = {"name": name, "_scope": name, "_reuse": reuse}
    with tf.name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        dtype = inputs.dtype.base_dtype
        return tf.layers.Dense(units, *args, dtype=dtype, **masks, **scopes, **kwargs).apply(inputs)


@export("contrib.distributions.bijectors.masked_autoregressive_default_template")
@_moved
def masked_autoregressive_default_template(
    hidden_layers: Any,
    shift_only: bool = False,
    activation: Any = tf.nn.relu,
    log_scale_min_clip: Any = -5.0,
    log_scale_max_clip: Any = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a function for `MaskedAutoregressiveFlow`: masked dense layers (Germain et al., 2015).

    Args:
      hidden_layers: numbers of units.
      shift_only: whether there is no `log_scale`.
      activation: of the hidden layers.
      log_scale_min_clip, log_scale_max_clip: bounds of `log_scale`.
      log_scale_clip_gradient: whether gradients stop where it is clipped.
      name: of the variables' scope.
      args, kwargs: for `masked_dense`.

    Returns:
      a template, which makes `shift` and `log_scale` of `x [..., depth]`.

    Raises:
      NotImplementedError: when it is called, if the depth is not known.
    """
    name = name or "masked_autoregressive_default_template"
    bounds = (log_scale_min_clip, log_scale_max_clip)
    dense: Callable[..., Tensor] = masked_dense
    with tf.name_scope(name, values=list(bounds)):

        def network(x: Any) -> tuple[Tensor, Tensor | None]:
            depth = _known_depth(x)
            static = x.shape.is_fully_defined()
            shape: Any = np.int32(x.shape.as_list()) if static else tf.shape(x)
            for i, units in enumerate(hidden_layers):
                x = dense(
                    *args, inputs=x, units=units, num_blocks=depth, exclusive=i == 0,
                    activation=activation, **kwargs,
                )  # fmt: skip
            x = dense(
                *args, inputs=x, units=(1 if shift_only else 2) * depth, num_blocks=depth,
                activation=None, **kwargs,
            )  # fmt: skip
            if shift_only:
                return tf.reshape(x, shape=shape), None
            x = tf.reshape(x, shape=tf.concat([shape, [2]], axis=0))
            shift, log_scale = tf.unstack(x, num=2, axis=-1)
            clip = tf.clip_by_value if log_scale_clip_gradient else _clip_values_only
            return shift, clip(log_scale, *bounds)

        return tf.make_template(name, network)


def _clip_values_only(x: Any, least: Any, most: Any) -> Tensor:
    """Clipped numbers, whose gradients are those of numbers that are not."""
    with tf.name_scope("clip_by_value_preserve_grad", values=[x, least, most]):
        clipped = tf.clip_by_value(x, least, most)
        return x + tf.stop_gradient(clipped - x)


@export("contrib.distributions.bijectors.RealNVP")
class RealNVP(Bijector):
    """The first numbers of `x [batch, depth]` say how the others are stretched and shifted.

    Args:
      num_masked: how many numbers stay as they are.
      shift_and_log_scale_fn: makes both of those numbers and how many others there are.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether the graph checks arguments.
      name: of the scope.

    Raises:
      ValueError: if `num_masked` is not positive.
    """

    @_moved
    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked = num_masked
        self._input_depth: int | None = None
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _rest(self, x: Any) -> int:
        """Return the number of unmasked numbers; the depth is that of the first call."""
        depth = self._input_depth
        if depth is None:
            depth = self._input_depth = _depth(x)
            if depth is None:
                raise NotImplementedError(
                    "Rightmost dimension must be known prior to graph execution."
                )
            if self._num_masked >= depth:
                raise ValueError("Number of masked units must be smaller than the event size.")
        return int(depth) - self._num_masked

    def _transformed(self, x: Any, transform: Callable[..., Any]) -> Tensor:
        rest = self._rest(x)
        first, others = x[:, : self._num_masked], x[:, self._num_masked :]
        others = transform(others, *self._shift_and_log_scale_fn(first, rest))
        return tf.concat([first, others], axis=-1)

    def _forward(self, x: Any) -> Tensor:
        return self._transformed(x, _stretched)

    def _inverse(self, y: Any) -> Tensor:
        return self._transformed(y, _unstretched)

    def _log_scale(self, x: Any) -> Tensor | None:
        rest = self._rest(x)
        return self._shift_and_log_scale_fn(x[:, : self._num_masked], rest)[1]

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        log_scale = self._log_scale(y)
        if log_scale is None:
            return tf.constant(0.0, dtype=y.dtype, name="ildj")
        return -tf.reduce_sum(log_scale, axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        log_scale = self._log_scale(x)
        if log_scale is None:
            return tf.constant(0.0, dtype=x.dtype, name="fldj")
        return tf.reduce_sum(log_scale, axis=-1)


@export("contrib.distributions.bijectors.real_nvp_default_template")
@_moved
def real_nvp_default_template(
    hidden_layers: Any,
    shift_only: bool = False,
    activation: Any = tf.nn.relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a function for `RealNVP`: dense layers.

    Args:
      hidden_layers: numbers of units.
      shift_only: whether there is no `log_scale`.
      activation: of the hidden layers.
      name: of a scope.
      args, kwargs: for `tf.layers.dense`.

    Returns:
      a template, which makes `shift` and `log_scale` of `x` and a number of units.
    """
    with tf.name_scope(name, "real_nvp_default_template"):

        def network(x: Any, output_units: int) -> tuple[Tensor, Tensor | None]:
            layers = [(units, activation) for units in hidden_layers]
            for units, bend in [*layers, ((2 - shift_only) * output_units, None)]:
                x = tf.layers.dense(*args, inputs=x, units=units, activation=bend, **kwargs)
            return (x, None) if shift_only else tuple(tf.split(x, 2, axis=-1))

        return tf.make_template("real_nvp_default_template", network)
