"""Invertible, differentiable transformations, which cache their results."""

from __future__ import annotations

import abc
import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.checks import maybe_get_static_value
from stillflow.distributions.distribution import either
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_like import check_graph_parents
from stillflow.graph.tensor_shape import TensorShape


class _Pair:
    """An input and output that belong together, and logarithms of Jacobians between them."""

    def __init__(self, x: Any = None, y: Any = None) -> None:
        self.x, self.y = x, y
        # By event rank: log |det dx/dy|.
        self.log_dets: dict[Any, Any] = {}


def _key(tensor: Any, kwargs: dict[str, Any]) -> tuple[int, ...]:
    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value

    return (id(tensor), *frozen(tuple(sorted(kwargs.items()))))


@export("contrib.distributions.bijectors.Bijector")
class Bijector(metaclass=abc.ABCMeta):
    """A transformation y = g(x) of events.

    Subclasses define `_forward`, `_inverse` and one of `_forward_log_det_jacobian` and
    `_inverse_log_det_jacobian`.

    Args:
      graph_parents: the tensors that this is made from.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether the graph checks arguments.
      dtype: of x and y, None for any.
      forward_min_event_ndims: the least rank of events x.
      inverse_min_event_ndims: the least rank of events y.
      name: of the scope; by default the class's in snake case.

    Raises:
      TypeError: if ranks are no integers.
      ValueError: if they are negative or both missing, or a graph parent is no tensor.
    """

    @abc.abstractmethod
    def __init__(
        self,
        graph_parents: list[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = graph_parents or []
        ranks = {"forward": forward_min_event_ndims, "inverse": inverse_min_event_ndims}
        if all(rank is None for rank in ranks.values()):
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and "
                "`inverse_min_event_ndims`."
            )
        given = [rank for rank in ranks.values() if rank is not None]
        known = {name: given[0] if rank is None else rank for name, rank in ranks.items()}
        for which, rank in known.items():
            if not isinstance(rank, int):
                raise TypeError(
                    f"Expected {which}_min_event_ndims to be of type int, got {type(rank).__name__}"
                )
        for which, rank in known.items():
            if rank < 0:
                raise ValueError(f"{which}_min_event_ndims must be a non-negative integer.")
        self._forward_min_event_ndims = known["forward"]
        self._inverse_min_event_ndims = known["inverse"]
        self._is_constant_jacobian = is_constant_jacobian
        self._constant_log_dets: dict[Any, Any] = {}
        self._validate_args = validate_args
        self._dtype = dtype
        self._from_x: dict[Any, _Pair] = {}
        self._from_y: dict[Any, _Pair] = {}
        self._name = name or _snake_case(type(self).__name__.lstrip("_"))
        check_graph_parents(self._graph_parents)

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that this is made from."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> Any:
        """The least rank of events x."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> Any:
        """The least rank of events y."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """True if the Jacobian does not depend on x."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        return True

    @property
    def validate_args(self) -> bool:
        """True if the graph checks arguments."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The type of x and y, None for any."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the scope."""
        return self._name

    # ---- shapes of events

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        return input_shape

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        return output_shape

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        return TensorShape(output_shape)

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Tensor:
        """Return the shape of events y by that of events x, as a tensor."""
        with self._name_scope(name, [input_shape]):
            shape = convert_to_tensor(input_shape, dtype=tf.int32, name="input_shape")
            return self._forward_event_shape_tensor(shape)

    def forward_event_shape(self, input_shape: Any) -> TensorShape:
        """Return the static shape of events y by that of events x."""
        return self._forward_event_shape(TensorShape(input_shape))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Tensor:
        """Return the shape of events x by that of events y, as a tensor."""
        with self._name_scope(name, [output_shape]):
            shape = convert_to_tensor(output_shape, dtype=tf.int32, name="output_shape")
            return self._inverse_event_shape_tensor(shape)

    def inverse_event_shape(self, output_shape: Any) -> TensorShape:
        """Return the static shape of events x by that of events y."""
        return self._inverse_event_shape(output_shape)

    # ---- values

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _call_forward(self, x: Any, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, [x]):
            x = self._argument(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            pair = self._pair_of(x=x, kwargs=kwargs)
            if pair.y is None:
                self._complete(pair, kwargs, y=self._forward(x, **kwargs))
            return pair.y

    def _call_inverse(self, y: Any, name: str, **kwargs: Any) -> Tensor | tuple[Tensor, Tensor]:
        with self._name_scope(name, [y]):
            y = self._argument(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            pair = self._pair_of(y=y, kwargs=kwargs)
            if pair.x is None:
                self._complete(pair, kwargs, x=self._inverse(y, **kwargs))
            return pair.x

    def forward(self, x: Any, name: str = "forward") -> Any:
        """Return y = g(x)."""
        return self._call_forward(x, name)

    def inverse(self, y: Any, name: str = "inverse") -> Tensor | tuple[Tensor, Tensor]:
        """Return x = g^-1(y)."""
        return self._call_inverse(y, name)

    def _argument(self, value: Any, name: str) -> Tensor:
        value = convert_to_tensor(value, name=name)
        if self.dtype is not None and self.dtype.base_dtype != value.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {value.dtype}.")
        return value

    # ---- Jacobians

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return log |det dx/dy|, summed over events of rank `event_ndims`."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Tensor:
        """Return log |det dy/dx|, summed over events of rank `event_ndims`."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _call_inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str, **kwargs: Any
    ) -> Tensor | tuple[Tensor, Tensor]:
        with self._name_scope(name, [y]):
            if event_ndims in self._constant_log_dets:
                return self._constant_log_dets[event_ndims]
            y = self._argument(y, "y")
            checks = self._check_event_ndims(self.inverse_min_event_ndims, event_ndims)
            with tf.control_dependencies(checks):
                if not self._is_injective:
                    return self._branches(y, event_ndims, kwargs)
                pair = self._pair_of(y=y, kwargs=kwargs)
                if event_ndims not in pair.log_dets:
                    self._find_log_det(pair, event_ndims, kwargs, forward_first=False)
                return pair.log_dets[event_ndims]

    def _call_forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str, **kwargs: Any
    ) -> Tensor:
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            checks = self._check_event_ndims(self.forward_min_event_ndims, event_ndims)
            with tf.control_dependencies(checks):
                if event_ndims in self._constant_log_dets:
                    # A multiplication, since the constant may be a number.
                    return -1.0 * self._constant_log_dets[event_ndims]
                x = self._argument(x, "x")
                pair = self._pair_of(x=x, kwargs=kwargs)
                if event_ndims not in pair.log_dets:
                    self._find_log_det(pair, event_ndims, kwargs, forward_first=True)
                return -pair.log_dets[event_ndims]

    def _branches(self, y: Any, event_ndims: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """One logarithm per inverse of a transformation that is not injective."""

        def direct() -> tuple[Any, ...]:
            return tuple(
                self._sum_over_event(y, value, self.inverse_min_event_ndims, event_ndims)
                for value in self._inverse_log_det_jacobian(y, **kwargs)
            )

        def by_forward() -> tuple[Any, ...]:
            x = self._inverse(y, **kwargs)
            return tuple(
                self._sum_over_event(x, -value, self.forward_min_event_ndims, event_ndims)
                for value in self._forward_log_det_jacobian(x, **kwargs)
            )

        return either(direct, by_forward)

    def _find_log_det(
        self, pair: _Pair, event_ndims: Any, kwargs: dict[str, Any], forward_first: bool
    ) -> None:
        """Compute log |det dx/dy| by whichever Jacobian is implemented."""

        def by_inverse() -> Tensor:
            y = self._forward(pair.x, **kwargs) if pair.y is None else pair.y
            value = self._inverse_log_det_jacobian(y, **kwargs)
            value = self._sum_over_event(y, value, self.inverse_min_event_ndims, event_ndims)
            self._complete(pair, kwargs, y=y)
            return value

        def by_forward() -> Tensor:
            x = self._inverse(pair.y, **kwargs) if pair.x is None else pair.x
            value = -self._forward_log_det_jacobian(x, **kwargs)
            value = self._sum_over_event(x, value, self.forward_min_event_ndims, event_ndims)
            self._complete(pair, kwargs, x=x)
            return value

        ways = (by_forward, by_inverse) if forward_first else (by_inverse, by_forward)
        pair.log_dets[event_ndims] = either(*ways)
        self._complete(pair, kwargs)
        if self.is_constant_jacobian:
            self._constant_log_dets[event_ndims] = pair.log_dets[event_ndims]

    # ---- cached results

    def _pair_of(self, x: Any = None, y: Any = None, kwargs: Any = None) -> _Pair:
        if x is not None:
            return self._from_x.get(_key(x, kwargs)) or _Pair(x=x)
        return self._from_y.get(_key(y, kwargs)) or _Pair(y=y)

    def _complete(self, pair: _Pair, kwargs: Any, x: Any = None, y: Any = None) -> None:
        pair.x = pair.x if x is None else x
        pair.y = pair.y if y is None else y
        if pair.x is not None:
            self._from_x[_key(pair.x, kwargs)] = pair
        if pair.y is not None:
            self._from_y[_key(pair.y, kwargs)] = pair

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: Any = None) -> Iterator[str]:
        with tf.name_scope(self.name):
            with tf.name_scope(name, values=[*(values or []), *self.graph_parents]) as scope:
                yield scope

    # ---- events

    def _sum_over_event(self, y: Any, log_det: Any, least: int, event_ndims: Any) -> Tensor:
        """Sum over the dimensions of an event that the Jacobian treats separately."""
        rank = tf.rank(y)
        sizes = tf.shape(y)[rank - event_ndims : rank - least]
        everywhere = tf.ones(sizes, log_det.dtype) * log_det
        known = static_rank(event_ndims)
        if known is not None:
            axes: Any = [-index for index in range(1, known - least + 1)]
        else:
            axes = tf.range(-(event_ndims - least), 0)
        result = tf.reduce_sum(everywhere, axis=axes)
        ranks = (y.shape.ndims, log_det.shape.ndims)
        if known is not None and None not in ranks:
            inner = y.shape[ranks[0] - known : ranks[0] - least]
            shape = tf.broadcast_static_shape(log_det.shape, inner)
            result.set_shape(shape[: shape.ndims - (known - least)])
        return result

    def _check_event_ndims(self, least: int, event_ndims: Any) -> list[Any]:
        """Return assertions that an event's rank is large enough, if it is unknown."""
        given = convert_to_tensor(event_ndims, name="event_ndims")
        if not given.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {given.dtype}")
        known, has_shape = static_value(given), given.shape.is_fully_defined()
        if known is not None and given.shape.ndims:
            raise ValueError(f"Expected scalar event_ndims, got shape {given.shape}")
        if known is not None and known < least:
            raise ValueError(f"event_ndims ({known}) must be larger than min_event_ndims ({least})")
        if has_shape and given.shape.ndims:
            raise ValueError(f"Expected scalar shape, got ndims {given.shape.ndims}")
        checks = []
        if self.validate_args and known is None:
            checks.append(tf.assert_greater_equal(given, least))
        if self.validate_args and not has_shape:
            checks.append(tf.assert_rank(given, 0, message="Expected scalar."))
        return checks


def _snake_case(name: str) -> str:
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def static_rank(event_ndims: Any) -> int | None:
    """Return the rank of events, an integer, None if it is not known."""
    known = maybe_get_static_value(event_ndims)
    if not isinstance(known, (np.generic, np.ndarray)):
        return known
    if known.dtype not in (np.int32, np.int64):
        raise ValueError(f"Expected integer dtype, got dtype {known.dtype}")
    if known.ndim:
        raise ValueError(f"Expected a scalar integer, got {known}")
    return int(known)


@export("contrib.distributions.bijectors.Identity")
class Identity(Bijector):
    """y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return tf.constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.constant(0.0, dtype=x.dtype)
