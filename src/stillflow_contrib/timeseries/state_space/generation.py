"""Series drawn from state space models of one feature, by NumPy's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures
from stillflow_contrib.timeseries.model_utils import parameter_switch


def _check_univariate(model: Any) -> None:
    if model.num_features != 1:
        raise NotImplementedError(
            "Generation for multivariate state space models is not currently implemented."
        )


def random_parameters(model: Any, seed: int | None) -> dict[Any, Any]:
    """Parameters {tensor: value} of a model; see `StateSpaceModel.random_model_parameters`."""
    _check_univariate(model)
    if seed:
        np.random.seed(seed)
    transform: Any = tf.convert_to_tensor(model.get_noise_transform())
    state_size, noise_size = transform.get_shape().as_list()
    variances = 1.0 / np.random.gamma(shape=10.0, scale=10.0, size=[noise_size])
    initial_state = np.random.normal(size=[state_size])
    parameters: dict[Any, Any] = {}
    if model.prior_state_mean is not None:
        parameters[model.prior_state_mean] = initial_state
    if model.state_transition_noise_covariance is not None:
        parameters[model.state_transition_noise_covariance] = np.diag(variances)
    if model.prior_state_var is not None:
        parameters[model.prior_state_var] = np.zeros([state_size, state_size])
    if model._configuration.use_observation_noise:
        variance = 1.0 / np.random.gamma(shape=4, scale=4)
        parameters[model._observation_noise_covariance] = [[variance]]
    return parameters


def series(
    model: Any, number: int, length: int, parameters: dict[Any, Any], seed: int | None,
    add_observation_noise: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return times and values [number, length]; see `StateSpaceModel.generate`."""
    if seed is not None:
        np.random.seed(seed)
    _check_univariate(model)

    def evaluated(value: Any, dtype: Any = None) -> Any:
        tensor: Any = tf.convert_to_tensor(value, dtype=dtype)
        return tensor.eval(feed_dict=parameters)

    transition = evaluated(model.get_state_transition(), model.dtype)
    transform = evaluated(model.get_noise_transform())
    value_of = parameter_switch(parameters)
    noise_scale = np.sqrt(np.diag(value_of(model.state_transition_noise_covariance)))
    if add_observation_noise:
        observed_scale = np.sqrt(value_of(model._observation_noise_covariance)[0][0])
    state = np.tile(value_of(model.prior_state_mean)[None], [number, 1])
    values = np.zeros([number, length])
    seen = evaluated(model.get_broadcasted_observation_model(times=tf.range(length)))
    for time, observation_model in enumerate(seen):
        noise = np.random.normal(
            loc=np.zeros([number, transform.shape[1]]), scale=np.tile(noise_scale, [number, 1])
        )
        state = np.dot(state, transition.T) + np.dot(noise, transform.T)
        mean = np.dot(state, observation_model[0].T)
        values[:, time] = mean
        if add_observation_noise:
            values[:, time] = np.random.normal(loc=mean, scale=observed_scale)
    times = np.tile(np.arange(length)[None], [number, 1])
    return {TrainEvalFeatures.TIMES: times, TrainEvalFeatures.VALUES: values[..., None]}
