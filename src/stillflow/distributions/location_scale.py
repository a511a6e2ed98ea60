"""Base of distributions of scalars with a location and a scale."""

from __future__ import annotations

from typing import Any

from stillflow.distributions.distribution import ScalarDistribution
from stillflow.distributions.parameters import same_floats
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.debugging.comparisons import assert_positive


class LocationScale(ScalarDistribution):
    """A distribution of scalars with a location and a scale.

    Args:
      given: the constructor's arguments: loc, scale, validate_args, allow_nan_stats, name.
    """

    _parameter_names = ("loc", "scale")

    def __init__(self, given: dict[str, Any]) -> None:
        loc, scale = given["loc"], given["scale"]
        with name_scope(given["name"], values=[loc, scale]) as scope:
            checks = [assert_positive(scale)] if given["validate_args"] else []
            self._loc, self._scale = same_floats(checks, loc=loc, scale=scale)
        self._initialize(given, scope, [self._loc, self._scale])

    @property
    def loc(self) -> Any:
        """The locations."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scales."""
        return self._scale

    def _z(self, x: Any) -> Tensor:
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _log_prob(self, x: Any) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Any) -> Any:
        raise self._missing("log_prob")

    def _log_normalization(self) -> Any:
        raise self._missing("log_prob")
