"""Models of level, trend, periods and residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow_contrib.timeseries.state_space.ensembles import (
    StateSpaceCorrelatedFeaturesEnsemble,
    StateSpaceIndependentEnsemble,
)
from stillflow_contrib.timeseries.state_space.level_trend import AdderStateSpaceModel
from stillflow_contrib.timeseries.state_space.periodic import (
    CycleStateSpaceModel,
    ResolutionCycleModel,
)
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from stillflow_contrib.timeseries.state_space.varma import VARMA

_MakeCycle = Callable[[StateSpaceModelConfiguration], StateSpaceModel]


def _of_features(
    scope: str, make: _MakeCycle, configuration: StateSpaceModelConfiguration
) -> StateSpaceModel:
    """One model for each feature, in a scope each, as a model of all."""
    univariate = configuration._replace(num_features=1)
    with tf.variable_scope(scope):
        members = []
        for feature in range(configuration.num_features):
            with tf.variable_scope(f"feature{feature}"):
                members.append(make(univariate))
        return StateSpaceCorrelatedFeaturesEnsemble(members, configuration)


def _members(
    moving_average_order: int, autoregressive_order: int, cycles: list[_MakeCycle],
    configuration: StateSpaceModelConfiguration,
) -> list[StateSpaceModel]:  # fmt: skip
    """Return level and trend, residuals, and one for each period; none has noise of its own."""
    configuration = configuration._replace(use_observation_noise=False)

    def adder(univariate: StateSpaceModelConfiguration) -> StateSpaceModel:
        return AdderStateSpaceModel(configuration=univariate)

    members = [_of_features("adder", adder, configuration)]
    with tf.variable_scope("varma"):
        members.append(VARMA(autoregressive_order, moving_average_order, configuration))
    for number, make in enumerate(cycles):
        members.append(_of_features(f"cycle{number}", make, configuration))
    return members


class StructuralEnsemble(StateSpaceIndependentEnsemble):
    """Level, trend, periods with a value for each of their times, and residuals.

    Args:
      periodicities: after how many times the series repeats itself: a number or a list.
      moving_average_order, autoregressive_order: of the residuals.
      use_level_noise: not used.
      configuration: a `StateSpaceModelConfiguration`.
    """

    def __init__(
        self, periodicities: Any, moving_average_order: int, autoregressive_order: int,
        use_level_noise: bool = True,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        def cycle(period: Any) -> _MakeCycle:
            return lambda univariate: CycleStateSpaceModel(period, univariate)

        cycles = [cycle(period) for period in nest.flatten(periodicities)]
        members = _members(moving_average_order, autoregressive_order, cycles, configuration)
        super().__init__(members, configuration)


class MultiResolutionStructuralEnsemble(StateSpaceIndependentEnsemble):
    """Level, trend, periods described by some values each, and residuals.

    Args:
      cycle_num_latent_values: by how many values periods are told, odd: a number or a list.
      moving_average_order, autoregressive_order: of the residuals.
      periodicities: after how many times the series repeats itself: a number, a list or None.
      use_level_noise: not used.
      configuration: a `StateSpaceModelConfiguration`.

    Raises:
      ValueError: if there are neither as many numbers of values as periods, nor one.
    """

    def __init__(
        self, cycle_num_latent_values: Any, moving_average_order: int, autoregressive_order: int,
        periodicities: Any, use_level_noise: bool = True,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        def cycle(period: Any, values: int) -> _MakeCycle:
            return lambda univariate: ResolutionCycleModel(values, period, configuration=univariate)

        periods = nest.flatten([] if periodicities is None else periodicities)
        values = nest.flatten(cycle_num_latent_values)
        if len(periods) != len(values):
            if len(values) != 1:
                raise ValueError(
                    "`cycle_num_latent_values` must either be a list with the same size as "
                    f"`periodicity` or a scalar. Received length {len(values)} "
                    f"`cycle_num_latent_values`, while `periodicities` has length {len(periods)}."
                )
            values *= len(periods)
        cycles = [cycle(*each) for each in zip(periods, values, strict=True)]
        members = _members(moving_average_order, autoregressive_order, cycles, configuration)
        super().__init__(members, configuration)
