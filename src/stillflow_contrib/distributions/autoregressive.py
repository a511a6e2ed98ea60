"""Distributions whose numbers depend on those before them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.distributions.parameters import gen_new_seed
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.moved import moved_from_contrib

if TYPE_CHECKING:
    from stillflow_contrib.distributions.independent import Independent


@export("contrib.distributions.Autoregressive")
class Autoregressive(Distribution):
    """Distributions whose parameters a function makes of their own samples.

    Args:
      distribution_fn: makes a distribution of a sample, or of nothing for the first one.
      sample0: what the first distribution is made of; of nothing if None.
      num_steps: how often a sample makes the next one; the size of an event by default.
      validate_args: see `Distribution`.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if the size of an event is not known, or steps are fewer than one.
    """

    @moved_from_contrib
    def __init__(
        self,
        distribution_fn: Callable[..., Any],
        sample0: Any = None,
        num_steps: int | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Autoregressive",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as scope:
            self._distribution_fn, self._sample0 = distribution_fn, sample0
            first = distribution_fn() if sample0 is None else distribution_fn(sample0)
            if num_steps is None:
                num_steps = first.event_shape.num_elements()
            if num_steps is None:
                raise ValueError(
                    "distribution_fn must generate a distribution with fully known `event_shape`."
                )
            if num_steps < 1:
                raise ValueError(f"num_steps ({num_steps}) must be at least 1.")
            self._distribution0, self._num_steps = first, num_steps
        super().__init__(
            dtype=first.dtype,
            reparameterization_type=first.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=first._graph_parents,
            name=scope,
        )

    @property
    def distribution_fn(self) -> Callable[..., Any]:
        """The function from samples to a distribution."""
        return self._distribution_fn

    @property
    def sample0(self) -> Any:
        """The argument of the first distribution."""
        return self._sample0

    @property
    def num_steps(self) -> int:
        """The number of steps from a sample to the next one."""
        return self._num_steps

    @property
    def distribution0(self) -> Independent:
        """The first distribution."""
        return self._distribution0

    def _batch_shape(self) -> TensorShape:
        return self.distribution0.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution0.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.distribution0.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution0.event_shape_tensor()

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        if seed is None:
            # All steps have to draw the same numbers.
            seed = gen_new_seed(np.random.randint(2**32 - 1), "autoregressive")
        first = self.distribution0.sample(n, seed=seed)
        return functools.reduce(
            lambda drawn, _: self.distribution_fn(drawn).sample(seed=seed),
            range(self._num_steps),
            first,
        )

    def _log_prob(self, value: Any) -> Tensor:
        return self.distribution_fn(value).log_prob(value)

    def _prob(self, value: Any) -> Tensor:
        return self.distribution_fn(value).prob(value)
