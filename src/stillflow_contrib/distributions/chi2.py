"""Chi-squared distributions."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.gamma import Gamma
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.scales import positive_parameter


@export("contrib.distributions.Chi2")
class Chi2(Gamma):
    """Chi-squared distributions: of the sum of `df` squared normal numbers.

    Args:
      df: positive degrees of freedom.
      validate_args: whether the graph checks that they are.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    @moved_from_contrib
    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[df]) as scope:
            self._df = df = positive_parameter(df, "df", validate_args)
            half_df, half = 0.5 * df, tf.constant(0.5, dtype=df.dtype)
            super().__init__(half_df, half, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[Any, Any]:
        return {"df": convert_to_tensor(sample_shape, dtype=tf.int32)}

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df


@export("contrib.distributions.Chi2WithAbsDf")
class Chi2WithAbsDf(Chi2):
    """Chi-squared distributions of `floor(abs(df))` degrees of freedom."""

    @moved_from_contrib
    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[df]) as scope:
            super().__init__(
                df=tf.floor(tf.abs(df, name="abs_df"), name="floor_abs_df"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope,
            )
        self._parameters = parameters
