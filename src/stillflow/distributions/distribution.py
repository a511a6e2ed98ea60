"""The base class of distributions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.distributions import kullback_leibler
from stillflow.distributions.layout import pick_vector
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_like import check_graph_parents
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.constants import constant
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_prod
from stillflow.ops.math.unary import exp, log, log1p, sqrt, square
from stillflow.ops.random.basic import random_uniform


@export("distributions.ReparameterizationType", "contrib.distributions.ReparameterizationType")
class ReparameterizationType:
    """Reparameterization of samples by parameters; instances equal only themselves.

    Args:
      rep_type: shown in messages.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def _reparameterization(name: str) -> ReparameterizationType:
    # Not the constructor, which warns of its deprecation.
    kind = object.__new__(ReparameterizationType)
    kind._rep_type = name
    return kind


FULLY_REPARAMETERIZED = _reparameterization("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = _reparameterization("NOT_REPARAMETERIZED")
export_value(
    "distributions.FULLY_REPARAMETERIZED",
    "contrib.distributions.FULLY_REPARAMETERIZED",
    FULLY_REPARAMETERIZED,
)
export_value(
    "distributions.NOT_REPARAMETERIZED",
    "contrib.distributions.NOT_REPARAMETERIZED",
    NOT_REPARAMETERIZED,
)


@export("distributions.Distribution", "contrib.distributions.Distribution")
class Distribution:
    """A batch of independent distributions of one family.

    Subclasses define the methods that they support, `_sample_n`, `_log_prob`, `_mean` ... A sample
    has the shape `sample_shape + batch_shape + event_shape`.

    Args:
      dtype: of samples.
      reparameterization_type: `FULLY_REPARAMETERIZED` or `NOT_REPARAMETERIZED`.
      validate_args: whether the graph checks parameters and arguments.
      allow_nan_stats: whether undefined statistics are NaN; else running fails.
      parameters: the arguments of the subclass's constructor.
      graph_parents: the tensors that this is made from.
      name: of the scope of the methods.

    Raises:
      ValueError: if a graph parent is no tensor.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: list[Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = graph_parents or []
        check_graph_parents(self._graph_parents)
        self._name = name or type(self).__name__
        if not self._name.endswith("/"):
            with name_scope(self._name) as self._name:
                pass
        self._dtype, self._parameters = dtype, parameters or {}
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._reparameterization_type = reparameterization_type

    def _initialize(
        self,
        given: dict[str, Any],
        scope: str,
        parents: list[Any],
        dtype: Any = None,
        kind: ReparameterizationType = FULLY_REPARAMETERIZED,
    ) -> None:
        """Call the constructor of this class for that of a subclass.

        Args:
          given: the local variables of that one: its arguments.
          scope: the scope of the tensors that it made.
          parents: those tensors.
          dtype: of samples, by default that of the first tensor.
          kind: the reparameterization type.
        """
        flags = given["validate_args"], given["allow_nan_stats"]
        Distribution.__init__(
            self, parents[0].dtype if dtype is None else dtype, kind, *flags, given, parents, scope
        )

    # ---- arguments of the constructor

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> Any:
        """Return the shapes of parameters, by name, that give samples of `sample_shape`."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """`param_shapes` as static shapes.

        Raises:
          ValueError: if `sample_shape` is not fully known.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        shapes = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            known = static_value(shape)
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            shapes[name] = TensorShape(known)
        return shapes

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> Any:
        raise NotImplementedError("_param_shapes not implemented")

    @property
    def name(self) -> str:
        """The scope of the methods."""
        return self._name

    @property
    def dtype(self) -> DType | type[Any]:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the constructor was given."""
        return {
            name: value
            for name, value in self._parameters.items()
            if not name.startswith("__") and name != "self"
        }

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """True if samples are differentiable in the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """True if undefined statistics are NaN."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """True if the graph checks parameters and arguments."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Distribution:
        """Another of this kind, with some of the constructor's arguments replaced."""
        return type(self)(**dict(self.parameters, **override_parameters_kwargs))

    # ---- shapes

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    def _batch_shape_tensor(self) -> Any:
        raise self._missing("batch_shape_tensor")

    def _batch_shape(self) -> TensorShape:
        return TensorShape(None)

    def _event_shape_tensor(self) -> Any:
        raise self._missing("event_shape_tensor")

    def _event_shape(self) -> TensorShape:
        return TensorShape(None)

    def _shape_tensor(self, static: Any, name: str, dynamic: Callable[[], Any]) -> Tensor:
        if static.is_fully_defined():
            return convert_to_tensor(static.as_list(), dtype=dtypes.int32, name=name)
        return dynamic()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape of the batch as a tensor."""
        with self._name_scope(name):
            return self._shape_tensor(self.batch_shape, "batch_shape", self._batch_shape_tensor)

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch of distributions."""
        return as_shape(self._batch_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the shape of an event as a tensor."""
        with self._name_scope(name):
            return self._shape_tensor(self.event_shape, "event_shape", self._event_shape_tensor)

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one event of one distribution."""
        return as_shape(self._event_shape())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Return True if the event shape is `[]`, as a tensor."""
        with self._name_scope(name):
            scalar = self._is_scalar(self.event_shape, self.event_shape_tensor)
            return convert_to_tensor(scalar, name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Return True if the batch shape is `[]`, as a tensor."""
        with self._name_scope(name):
            scalar = self._is_scalar(self.batch_shape, self.batch_shape_tensor)
            return convert_to_tensor(scalar, name="is_scalar_batch")

    def _is_scalar(self, static: Any, dynamic: Callable[[], Any]) -> bool | Tensor:
        if static.ndims is not None:
            return static.ndims == 0
        shape = dynamic()
        if shape.shape.ndims is not None and shape.shape.dims[0].value is not None:
            return shape.shape.as_list() == [0]
        return equal(shape_of(shape)[0], 0)

    # ---- samples

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        raise self._missing("sample_n")

    def _positive_uniform(self, shape: Any, seed: Any) -> Tensor:
        """Numbers below one without zero, whose logarithm is infinite."""
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        return random_uniform(shape, minval=tiny, maxval=1.0, dtype=self.dtype, seed=seed)

    def _call_sample_n(self, sample_shape: Any, seed: Any, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            shape = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            shape, count = self._as_vector(shape, "sample_shape")
            samples = self._sample_n(count, seed, **kwargs)
            rest = shape_of(samples)[1:]
            samples = reshape(samples, concat([shape, rest], 0))
            return self._set_sample_static_shape(samples, shape)

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Tensor:
        """Return samples of shape `sample_shape + batch_shape + event_shape`."""
        return self._call_sample_n(sample_shape, seed, name)

    def _as_vector(self, x: Any, name: str) -> tuple[Any, Any]:
        """Return a sample shape, which may be a scalar, as a vector, and its number of samples."""
        known = static_value(x)
        if known is None:
            count = reduce_prod(x)
        else:
            count = np.prod(known, dtype=x.dtype.as_numpy_dtype)
        rank = x.shape.ndims
        if rank is None:
            rank = rank_of(x)
            vector = pick_vector(equal(rank, 0), np.array([1], np.int32), shape_of(x))
            x = reshape(x, vector)
        elif rank == 0:
            if known is None:
                x = reshape(x, [1])
            else:
                x = convert_to_tensor(np.array([known], x.dtype.as_numpy_dtype), name=name)
        elif rank != 1:
            raise ValueError("Input is neither scalar nor vector.")
        return x, count

    def _set_sample_static_shape(self, x: Any, sample_shape: Any) -> Tensor:
        """Set the known static shape of samples from its three parts."""
        sample = TensorShape(static_value(sample_shape))
        rank, samples = x.shape.ndims, sample.ndims
        batch, event = self.batch_shape.ndims, self.event_shape.ndims
        if rank is None and None not in (samples, batch, event):
            rank = samples + batch + event  # type: ignore[operator]
            x.set_shape([None] * rank)
        if rank is None:
            return x
        if samples is not None:
            x.set_shape(sample.concatenate([None] * (rank - samples)))
        if event is not None:
            x.set_shape(TensorShape([None] * (rank - event)).concatenate(self.event_shape))
        if batch is None:
            return x
        if samples is None and event is not None:
            samples = rank - batch - event
        elif event is None and samples is not None:
            event = rank - batch - samples
        if samples is not None and event is not None:
            before = TensorShape([None] * samples).concatenate(self.batch_shape)
            x.set_shape(before.concatenate([None] * event))
        return x

    # ---- probabilities: each by itself, or by way of another

    def _log_prob(self, value: Any) -> Any:
        raise self._missing("log_prob")

    def _prob(self, value: Any) -> Any:
        raise self._missing("prob")

    def _log_cdf(self, value: Any) -> Any:
        raise self._missing("log_cdf")

    def _cdf(self, value: Any) -> Any:
        raise self._missing("cdf")

    def _log_survival_function(self, value: Any) -> Any:
        raise self._missing("log_survival_function")

    def _survival_function(self, value: Any) -> Any:
        raise self._missing("survival_function")

    def _quantile(self, value: Any) -> Any:
        raise self._missing("quantile")

    def _of_value(
        self, value: Any, name: str, direct: Callable[..., Any], other: Callable[..., Any], kw: Any
    ) -> Tensor:
        with self._name_scope(name, values=[value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return either(lambda: direct(value, **kw), lambda: other(value, **kw))

    def _call_log_prob(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value, name, self._log_prob, lambda x, **kw: log(self._prob(x, **kw)), kwargs
        )

    def _call_prob(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value, name, self._prob, lambda x, **kw: exp(self._log_prob(x, **kw)), kwargs
        )

    def _call_log_cdf(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value, name, self._log_cdf, lambda x, **kw: log(self._cdf(x, **kw)), kwargs
        )

    def _call_cdf(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value, name, self._cdf, lambda x, **kw: exp(self._log_cdf(x, **kw)), kwargs
        )

    def _call_log_survival_function(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value,
            name,
            self._log_survival_function,
            lambda x, **kw: log1p(-self.cdf(x, **kw)),
            kwargs,
        )

    def _call_survival_function(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        return self._of_value(
            value, name, self._survival_function, lambda x, **kw: 1.0 - self.cdf(x, **kw), kwargs
        )

    def _call_quantile(self, value: Any, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, values=[value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return self._quantile(value, **kwargs)

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """Return the logarithm of the density or probability mass."""
        return self._call_log_prob(value, name)

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """Return the density or probability mass."""
        return self._call_prob(value, name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """Return the logarithm of `cdf`."""
        return self._call_log_cdf(value, name)

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """Return the probability of samples up to `value`."""
        return self._call_cdf(value, name)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """Return the logarithm of `survival_function`."""
        return self._call_log_survival_function(value, name)

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """Return the probability of samples above `value`."""
        return self._call_survival_function(value, name)

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """Return the value below which samples stay with probability `value`."""
        return self._call_quantile(value, name)

    # ---- statistics

    def _entropy(self) -> Any:
        raise self._missing("entropy")

    def _mean(self) -> Any:
        raise self._missing("mean")

    def _variance(self) -> Any:
        raise self._missing("variance")

    def _stddev(self) -> Any:
        raise self._missing("stddev")

    def _covariance(self) -> Any:
        raise self._missing("covariance")

    def _mode(self) -> Any:
        raise self._missing("mode")

    def entropy(self, name: str = "entropy") -> Tensor:
        """Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name: str = "mean") -> Tensor:
        """Return the mean."""
        with self._name_scope(name):
            return self._mean()

    def variance(self, name: str = "variance") -> Tensor:
        """Return the variance of each element."""
        with self._name_scope(name):
            return either(self._variance, lambda: square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """Return the standard deviation of each element."""
        with self._name_scope(name):
            return either(self._stddev, lambda: sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """Return the covariance of the elements of an event."""
        with self._name_scope(name):
            return self._covariance()

    def mode(self, name: str = "mode") -> Any:
        """Return the most probable value."""
        with self._name_scope(name):
            return self._mode()

    # ---- against another distribution

    def _cross_entropy(self, other: Any) -> Tensor:
        return kullback_leibler.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Tensor:
        """Return the cross entropy with `other`."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    def _kl_divergence(self, other: Any) -> Tensor:
        return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Tensor:
        """Return the Kullback-Leibler divergence from `other`."""
        with self._name_scope(name):
            return self._kl_divergence(other)

    def __str__(self) -> str:
        batch = f", batch_shape={self.batch_shape}" if self.batch_shape.ndims is not None else ""
        event = f", event_shape={self.event_shape}" if self.event_shape.ndims is not None else ""
        return (
            f'tfp.distributions.{type(self).__name__}("{self.name}"{batch}{event}, '
            f"dtype={self.dtype.name})"
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: Any = None) -> Iterator[str]:
        with name_scope(self.name):
            with name_scope(name, values=[*(values or []), *self._graph_parents]) as scope:
                yield scope


def either(direct: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`direct()`, or `other()` if it is not implemented; its error if neither is."""
    try:
        return direct()
    except NotImplementedError as error:
        try:
            return other()
        except NotImplementedError:
            raise error from None


class ScalarDistribution(Distribution):
    """A distribution of scalars whose parameters broadcast against each other."""

    _parameter_names: tuple[str, ...] = ()

    def _sample_shape(self, n: Any) -> Tensor:
        return concat([[n], self.batch_shape_tensor()], 0)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[Any, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return dict.fromkeys(cls._parameter_names, shape)

    def _batch_shape_tensor(self) -> Tensor:
        shapes = [shape_of(getattr(self, name)) for name in self._parameter_names]
        result = shapes[-1]
        for shape in shapes[-2::-1]:
            result = broadcast_dynamic_shape(shape, result)
        return result

    def _batch_shape(self) -> TensorShape:
        shapes = [getattr(self, name).shape for name in self._parameter_names]
        result = shapes[0]
        for shape in shapes[1:]:
            result = broadcast_static_shape(result, shape)
        return result

    def _event_shape_tensor(self) -> Any:
        return constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _where_defined(self, defined: Any, value: Any) -> Any:
        """`value`, NaN where `defined` is false."""
        nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
        return where_v2(defined, value, fill(self.batch_shape_tensor(), nan, name="nan"))
