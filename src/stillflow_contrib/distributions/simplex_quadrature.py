"""Points between two components and their probabilities: quadratures of softmax of normals."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.layout import pad
from stillflow.distributions.normal import Normal
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.softmax_centered import SoftmaxCentered
from stillflow_contrib.distributions.inner_quantiles import inner_quantiles
from stillflow_contrib.distributions.moved import moved_from_contrib


def _checked(param: Any, name: str, validate_args: bool) -> Tensor:
    """Return a parameter of two components: its last dimension is 1."""
    with tf.name_scope("check_" + name, values=[param]):
        checks = []
        rank = param.shape.ndims
        wanted = f"Mixing params must be a (batch of) vector; {name}.rank"
        if rank == 0:
            raise ValueError(f"{wanted}={rank} is not at least one.")
        if rank is None and validate_args:
            message = f"{wanted} is not at least one."
            checks.append(tf.assert_rank_at_least(param, 1, message=message))
        last = param.shape.with_rank_at_least(1)[-1]
        if last is not None:
            size = dimension_value(last)
            if size != 1:
                raise NotImplementedError(
                    f"Currently only bimixtures are supported; {name}.shape[-1]={size} is not 1."
                )
        elif validate_args:
            message = f"Currently only bimixtures are supported; {name}.shape[-1] is not 1."
            checks.append(tf.assert_equal(tf.shape(param)[-1], 1, message=message))
        return with_dependencies(checks, param) if checks else param


def _softmax(x: Any, axis: int) -> Tensor:
    with tf.name_scope(None, "softmax", [x, axis]):
        x = convert_to_tensor(x, name="x")
        ndims = tf.rank(x, name="ndims") if x.shape.ndims is None else x.shape.ndims
        convert_to_tensor(axis, dtype=tf.int32, name="axis")
        return tf.nn.softmax(x, axis=ndims + axis)


@export("contrib.distributions.quadrature_scheme_softmaxnormal_gauss_hermite")
@moved_from_contrib
def quadrature_scheme_softmaxnormal_gauss_hermite(
    normal_loc: Any,
    normal_scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Gauss-Hermite quadrature of the softmax of normal distributions.

    (TensorFlow 1.15's own raises an AttributeError for all arguments.)

    Args:
      normal_loc: means [..., 1].
      normal_scale: standard deviations, which broadcast with the means.
      quadrature_size: how many points there are.
      validate_args: whether the graph checks shapes.
      name: of the scope.

    Returns:
      the points [..., 2, quadrature_size], and their probabilities [quadrature_size].

    Raises:
      NotImplementedError: for more than two components.
      ValueError: for scalars.
    """
    title = "quadrature_scheme_softmaxnormal_gauss_hermite"
    with tf.name_scope(name, title, [normal_loc, normal_scale]):
        loc, scale = _parameters(normal_loc, normal_scale, validate_args)
        dtype = loc.dtype.base_dtype
        points, weights = np.polynomial.hermite.hermgauss(deg=quadrature_size)
        points = points.astype(dtype.as_numpy_dtype)
        weights = weights.astype(dtype.as_numpy_dtype)
        weights /= np.linalg.norm(weights, ord=1, keepdims=True)
        probs = convert_to_tensor(weights, name="probs", dtype=dtype)
        normals = loc[..., tf.newaxis] + np.sqrt(2.0) * scale[..., tf.newaxis] * points
        return _softmax(-pad(normals, axis=-2, front=True), axis=-2), probs


def _parameters(loc: Any, scale: Any, validate_args: bool) -> tuple[Any, Any]:
    loc = convert_to_tensor(loc, name="normal_loc")
    scale = convert_to_tensor(scale, dtype=loc.dtype.base_dtype, name="normal_scale")
    return loc, _checked(scale, "normal_scale", validate_args)


@export("contrib.distributions.quadrature_scheme_softmaxnormal_quantiles")
@moved_from_contrib
def quadrature_scheme_softmaxnormal_quantiles(
    normal_loc: Any,
    normal_scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Points between quantiles of the softmax of normals, all of the same probability.

    Args:
      normal_loc, normal_scale, quadrature_size, validate_args, name: as of
        `quadrature_scheme_softmaxnormal_gauss_hermite`.

    Returns:
      the points [..., 2, quadrature_size], and their probabilities [quadrature_size].

    Raises:
      NotImplementedError: for more than two components.
      ValueError: for scalars.
    """
    with tf.name_scope(name, "softmax_normal_grid_and_probs", [normal_loc, normal_scale]):
        loc, scale = _parameters(normal_loc, normal_scale, validate_args)
        normal = Normal(loc=loc, scale=scale)
        quantiles = inner_quantiles(
            normal,
            quadrature_size,
            lambda edges: SoftmaxCentered().forward(normal.quantile(edges)),
        )
        quantiles.set_shape(_static_shape(normal, quadrature_size + 1))
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
        grid.set_shape(_static_shape(normal, quadrature_size))
        each = 1.0 / tf.cast(quadrature_size, normal.dtype)
        return grid, tf.fill(dims=[quadrature_size], value=each)


def _static_shape(normal: Any, count: int) -> tf.TensorShape:
    batch = normal.batch_shape.with_rank_at_least(1)
    components = dimension_value(batch[-1])
    if components is not None:
        components += 1
    return batch[:-1].concatenate(tf.TensorShape([components, count]))
