"""Transformations one after the other, and transformations made of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.bijectors.bijector import Bijector, static_rank
from stillflow_contrib.distributions.bijectors.elementwise import _moved


def _least_event_ndims(steps: Iterable[tuple[int, int]]) -> int:
    """Return the least rank of events that steps can take one after the other.

    Args:
      steps: the least rank that each takes, and the least rank that it gives.
    """
    least = held = 0
    for taken, given in steps:
        # `held` is the rank that is sure to arrive at this step.
        least += max(taken - held, 0)
        held = max(taken, held) - (taken - given)
    return least


@export("contrib.distributions.bijectors.Chain")
class Chain(Bijector):
    """y = g1(g2(... gn(x))).

    Args:
      bijectors: g1, g2, ...; the last of them comes first. None of them leaves x as it is.
      validate_args: whether the graph checks arguments.
      name: of the scope; "chain_of_" and theirs by default.

    Raises:
      NotImplementedError: if one of them takes several x to one y.
      ValueError: if they are of several types.
    """

    @_moved
    def __init__(
        self, bijectors: Any = None, validate_args: bool = False, name: str | None = None
    ) -> None:
        self._bijectors = bijectors = () if bijectors is None else bijectors
        for each in bijectors:
            if not each._is_injective:
                raise NotImplementedError(
                    f"Invert is not implemented for non-injective bijector ({each.name})"
                )
        dtypes = list({each.dtype for each in bijectors})
        if len(dtypes) > 2:
            raise ValueError(f"incompatible dtypes: {dtypes}")
        known = [dtype for dtype in dtypes if dtype is not None]
        ranks = [(b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in bijectors]
        names = "_of_".join(["chain", *(each.name for each in bijectors)])
        super().__init__(
            graph_parents=[parent for each in bijectors for parent in each.graph_parents],
            forward_min_event_ndims=_least_event_ndims(reversed(ranks)),
            inverse_min_event_ndims=_least_event_ndims((after, before) for before, after in ranks),
            is_constant_jacobian=all(each.is_constant_jacobian for each in bijectors),
            validate_args=validate_args,
            dtype=known[0] if known else None,
            name=name or (names if bijectors else "identity"),
        )

    @property
    def bijectors(self) -> list[Bijector] | tuple[Any, ...]:
        """The transformations; the last of them comes first."""
        return self._bijectors

    def _backwards(self) -> list[Bijector]:
        return list(reversed(self.bijectors))

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        for each in self._backwards():
            input_shape = each.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        for each in self._backwards():
            input_shape = each.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        for each in self.bijectors:
            output_shape = each.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        for each in self.bijectors:
            output_shape = each.inverse_event_shape_tensor(output_shape)
        return output_shape

    def _forward(self, x: Any, **kwargs: Any) -> Tensor:
        for each in self._backwards():
            x = each.forward(x, **kwargs.get(each.name, {}))
        return x

    def _inverse(self, y: Any, **kwargs: Any) -> Tensor:
        for each in self.bijectors:
            y = each.inverse(y, **kwargs.get(each.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Tensor:
        x = convert_to_tensor(x, name="x")
        return self._summed_log_dets(x, "forward", self._backwards(), kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Tensor:
        y = convert_to_tensor(y, name="y")
        return self._summed_log_dets(y, "inverse", list(self.bijectors), kwargs)

    def _summed_log_dets(
        self, x: Any, way: str, steps: list[Bijector], kwargs: dict[str, Any]
    ) -> Tensor:
        """Return the sum of the logarithms of Jacobians of all steps, forward or inverse."""
        total = tf.cast(0.0, dtype=x.dtype.base_dtype)
        if not steps:
            return total
        ndims: Any = static_rank(getattr(self, f"{way}_min_event_ndims"))
        shape = x.shape[x.shape.ndims - ndims :] if _is_static(x, ndims) else _inner_shape(x, ndims)
        for each in steps:
            given = kwargs.get(each.name, {})
            total += getattr(each, f"{way}_log_det_jacobian")(x, event_ndims=ndims, **given)
            if _is_static(x, ndims):
                shape = getattr(each, f"{way}_event_shape")(shape)
                ndims = static_rank(shape.ndims)
            else:
                shape = getattr(each, f"{way}_event_shape_tensor")(shape)
                size = tf.size(shape)
                known = static_rank(size)
                ndims = size if known is None else known
            x = getattr(each, way)(x, **given)
        return total


def _is_static(x: Any, ndims: Any) -> bool:
    return x.shape.is_fully_defined() and isinstance(ndims, int)


def _inner_shape(x: Any, ndims: Any) -> Tensor:
    return tf.shape(x)[tf.rank(x) - ndims :]


_Function = Callable[..., Any] | None


@export("contrib.distributions.bijectors.Inline")
class Inline(Bijector):
    """A transformation made of functions.

    Args:
      forward_fn: y = g(x).
      inverse_fn: x = g^-1(y).
      inverse_log_det_jacobian_fn: log |det dx/dy| of y.
      forward_log_det_jacobian_fn: log |det dy/dx| of x.
      forward_event_shape_fn: the static shape of events y by that of x; the same if None.
      forward_event_shape_tensor_fn: the same for shapes that are tensors.
      inverse_event_shape_fn, inverse_event_shape_tensor_fn: those of x by those of y.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether the graph checks arguments.
      forward_min_event_ndims: the least rank of events x.
      inverse_min_event_ndims: the least rank of events y.
      name: of the scope.

    Raises:
      ValueError: if neither least rank is given.
    """

    @_moved
    def __init__(
        self,
        forward_fn: _Function = None,
        inverse_fn: _Function = None,
        inverse_log_det_jacobian_fn: _Function = None,
        forward_log_det_jacobian_fn: _Function = None,
        forward_event_shape_fn: _Function = None,
        forward_event_shape_tensor_fn: _Function = None,
        inverse_event_shape_fn: _Function = None,
        inverse_event_shape_tensor_fn: _Function = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        given = dict(locals())
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        self._functions = {key: value for key, value in given.items() if key.endswith("_fn")}

    def _shape_by(self, name: str, shape: Any) -> Any:
        function = self._functions[name]
        return shape if function is None else function(shape)

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        return self._shape_by("forward_event_shape_fn", input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        return self._shape_by("forward_event_shape_tensor_fn", input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        return self._shape_by("inverse_event_shape_fn", output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        return self._shape_by("inverse_event_shape_tensor_fn", output_shape)

    def _call(self, name: str, value: Any, kwargs: dict[str, Any]) -> Tensor:
        function = self._functions[name]
        if not callable(function):
            raise NotImplementedError(f"{name} is not a callable function.")
        return function(value, **kwargs)

    def _forward(self, x: Any, **kwargs: Any) -> Tensor:
        return self._call("forward_fn", x, kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Tensor:
        return self._call("inverse_fn", y, kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Tensor:
        return self._call("inverse_log_det_jacobian_fn", y, kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Tensor:
        return self._call("forward_log_det_jacobian_fn", x, kwargs)
