"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from stillflow.distributions.checks import (
    embed_check_categorical_event_shape,
    embed_check_integer_casting_closed,
)
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.layout import known_or
from stillflow.distributions.parameters import get_logits_and_probs
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import int32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, ones_like, zeros_like
from stillflow.ops.arrays.masks import sequence_mask
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.argmax import argmax
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from stillflow.ops.nn.softmax import log_softmax, softmax
from stillflow.ops.random.categorical import multinomial


def _broadcast_event_and_params(event: Any, params: Any, base_dtype: Any) -> tuple[Any, Any]:
    """Broadcasts events `[...]` and parameters `[..., K]` against each other."""
    if not (event.dtype.is_floating or event.dtype.is_integer):
        raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({base_dtype})")
    if event.dtype.is_floating:
        # Integers may be given as numbers of `self.dtype`.
        event = cast(event, dtype=int32)
    batch = params.shape[:-1]
    if batch.is_fully_defined() and event.shape.is_fully_defined() and batch == event.shape:
        return event, params
    each_event = ones_like(event[..., newaxis], dtype=params.dtype)
    params = params * each_event
    event = event * ones(shape(params)[:-1], dtype=event.dtype)
    event.set_shape(params.shape[:-1])
    return event, params


@export("distributions.Categorical", "contrib.distributions.Categorical")
class Categorical(ScalarDistribution):
    """Distributions of classes.

    Args:
      logits: `[..., K]`, unnormalized log-probabilities, or
      probs: `[..., K]`, probabilities.
      dtype: of samples.
      validate_args: whether the graph checks parameters and events.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits=logits,
                probs=probs,
                validate_args=validate_args,
                multidimensional=True,
                name=scope,
            )
            if validate_args:
                self._logits = embed_check_categorical_event_shape(self._logits)
            self._set_sizes(self._logits.shape.with_rank_at_least(1))
        self._initialize(
            given, scope, [self._logits, self._probs], dtype=dtype, kind=NOT_REPARAMETERIZED
        )

    def _set_sizes(self, static: Any) -> None:
        rank, batch = static.ndims, static[:-1]
        self._batch_rank = known_or(
            None if rank is None else rank - 1, "batch_rank", lambda: rank_of(self._logits) - 1
        )
        sizes: Any = shape(self._logits, name="logits_shape")
        self._event_size = known_or(
            dimension_value(static[-1]), "event_size", lambda: sizes[self._batch_rank]
        )
        self._batch_shape_val = known_or(
            batch.as_list() if batch.is_fully_defined() else None, "batch_shape", lambda: sizes[:-1]
        )

    @property
    def event_size(self) -> Tensor:
        """The number of classes as a tensor."""
        return self._event_size

    @property
    def logits(self) -> Any:
        """The unnormalized log-probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> Any:
        return identity(self._batch_shape_val)

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        logits = self.logits
        if logits.shape.ndims != 2:
            logits = reshape(logits, [-1, self.event_size])
        dtype = dtypes.int64 if self.dtype.size > 4 else int32
        draws = multinomial(logits, n, seed=seed, output_dtype=dtype)
        draws = transpose(draws)
        draws = reshape(draws, concat([[n], self.batch_shape_tensor()], 0))
        return cast(draws, self.dtype)

    def _event_and(self, k: Any, params: Any) -> tuple[Any, Any]:
        k = convert_to_tensor(k, name="k")
        if self.validate_args:
            k = embed_check_integer_casting_closed(k, target_dtype=int32)
        return _broadcast_event_and_params(k, params, base_dtype=self.dtype.base_dtype)

    def _cdf(self, k: Any) -> Any:
        k, probs = self._event_and(k, self.probs)
        rows = reshape(probs, (-1, self._event_size))
        classes = reshape(k, [-1])
        mask = sequence_mask(classes, self._event_size)
        below = where(mask, rows, zeros_like(rows))
        return reshape(reduce_sum(below, axis=-1), shape(k))

    def _log_prob(self, k: Any) -> Tensor:
        k, logits = self._event_and(k, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self) -> Any:
        return -reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Any:
        mode = cast(argmax(self.logits, axis=self._batch_rank), self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * difference, axis=-1)
