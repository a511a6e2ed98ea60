"""Models made of several, whose observations are summed, or are one feature each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.matrices import block_diagonal
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)


class StateSpaceEnsemble(StateSpaceModel):
    """Model whose state consists of its members' states; its observation is the sum of theirs.

    Args:
      ensemble_members: `StateSpaceModel`s.
      configuration: a `StateSpaceModelConfiguration`.
    """

    def __init__(
        self, ensemble_members: Sequence[StateSpaceModel],
        configuration: StateSpaceModelConfiguration,
    ) -> None:  # fmt: skip
        self._ensemble_members = ensemble_members
        super().__init__(configuration=configuration)

    def _set_input_statistics(self, input_statistics: Any = None) -> None:
        super()._set_input_statistics(input_statistics)
        for member in self._ensemble_members:
            member._set_input_statistics(input_statistics)

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Tensor:
        own = super()._loss_additions(times, values, mode)
        members = self._ensemble_members
        return own + tf.add_n([each._loss_additions(times, values, mode) for each in members])

    def _compute_blocked(self, member_fn: Callable[[Any], Any], name: str) -> Tensor:
        """Matrices of the members, one behind the other on the diagonal."""
        with tf.variable_scope(self._variable_scope):
            blocks = [member_fn(member) for member in self._ensemble_members]
            return block_diagonal(blocks, dtype=self.dtype, name=name)

    def transition_to_powers(self, powers: Any) -> Tensor:
        """[n, d, d], which move a state on by so many times, [n]."""
        return self._compute_blocked(
            lambda member: member.transition_to_powers(powers), "ensemble_transition_to_powers"
        )

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        with tf.variable_scope(self._variable_scope):
            tradeoff = observation_transition_tradeoff_log
            if tradeoff is None:
                tradeoff = self._variable_observation_transition_tradeoff_log()
            for member in self._ensemble_members:
                member._define_parameters(observation_transition_tradeoff_log=tradeoff)
            super()._define_parameters(observation_transition_tradeoff_log=tradeoff)

    def random_model_parameters(self, seed: int | None = None) -> dict[Any, Any]:
        """Draw parameters of the members and of their sum: {tensor: value}."""
        draws = [
            member.random_model_parameters(seed=seed + number if seed else None)
            for number, member in enumerate(self._ensemble_members)
        ]
        draws.append(super().random_model_parameters(seed=seed))
        return {parameter: value for draw in draws for parameter, value in draw.items()}

    def get_prior_mean(self) -> Tensor:
        """[d], of the state that series begin with."""
        means = [member.get_prior_mean() for member in self._ensemble_members]
        return tf.concat(means, axis=0, name="ensemble_prior_state_mean")

    def get_state_transition(self) -> Tensor:
        """[d, d], which moves a state on by one time."""
        return self._compute_blocked(
            lambda member: member.get_state_transition(), "ensemble_state_transition"
        )

    def get_noise_transform(self) -> Tensor:
        """[d, noise dimension], which puts the noise of a step into the state."""
        return self._compute_blocked(
            lambda member: member.get_noise_transform(), "ensemble_noise_transform"
        )

    def get_observation_model(self, times: Any) -> Any:
        """Refused: see `get_broadcasted_observation_model`."""
        raise NotImplementedError("No un-broadcasted observation model defined for ensembles.")

    def get_broadcasted_observation_model(self, times: Any) -> Tensor:
        """Return [batch, features, d], the observation model at times [batch]."""
        models = [
            tf.convert_to_tensor(member.get_broadcasted_observation_model(times), dtype=self.dtype)
            for member in self._ensemble_members
        ]
        return tf.concat(models, axis=2)


class StateSpaceIndependentEnsemble(StateSpaceEnsemble):
    """An ensemble of models whose noise is independent."""

    def transition_power_noise_accumulator(self, num_steps: Any) -> Tensor:
        """Covariances [n, d, d] of the noise of so many steps, [n]."""
        return self._compute_blocked(
            lambda member: member.transition_power_noise_accumulator(num_steps),
            "ensemble_power_noise_accumulator",
        )

    def get_prior_covariance(self) -> Tensor:
        """[d, d], of the state that series begin with."""
        return self._compute_blocked(
            lambda member: member.get_prior_covariance(), "ensemble_prior_state_covariance"
        )

    def get_state_transition_noise_covariance(
        self, minimum_initial_variance: float = 1e-5
    ) -> Tensor:
        """Return the covariance of the noise of a step."""
        return self._compute_blocked(
            lambda member: member.state_transition_noise_covariance,
            "ensemble_state_transition_noise",
        )


class StateSpaceCorrelatedFeaturesEnsemble(StateSpaceEnsemble):
    """An ensemble of models of one feature each, whose noise may depend on each other.

    Args:
      ensemble_members: as many as there are features.
      configuration: a `StateSpaceModelConfiguration`.

    Raises:
      ValueError: for another number, or models of several features.
    """

    def __init__(
        self, ensemble_members: Sequence[StateSpaceModel],
        configuration: StateSpaceModelConfiguration,
    ) -> None:  # fmt: skip
        if len(ensemble_members) != configuration.num_features:
            raise ValueError(
                "The number of members in a StateSpaceCorrelatedFeaturesEnsemble must equal the "
                "number of features in the time series."
            )
        if any(member.num_features != 1 for member in ensemble_members):
            raise ValueError("StateSpaceCorrelatedFeaturesEnsemble components must be univariate.")
        super().__init__(ensemble_members, configuration)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Tensor:
        """Covariances [n, d, d] of the noise of so many steps, [n]."""
        if len(self._ensemble_members) == 1:
            # A single member may know a shorter way.
            return self._ensemble_members[0].transition_power_noise_accumulator(num_steps=num_steps)
        return super().transition_power_noise_accumulator(num_steps=num_steps)

    def get_broadcasted_observation_model(self, times: Any) -> Tensor:
        """Return [batch, features, d], the observation model at times [batch]."""
        return self._compute_blocked(
            lambda member: tf.convert_to_tensor(
                member.get_broadcasted_observation_model(times), dtype=self.dtype
            ),
            "feature_ensemble_observation_model",
        )
