"""Inputs of served models of series: raw tensors, or serialized examples."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.static_value import static_value
from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures
from stillflow_contrib.timeseries.head import state_to_dictionary
from stillflow_contrib.timeseries.model import parsed_placeholders

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


def start_state_placeholders(
    model: Any, batch_size: Any, static_batch_size: int | None
) -> dict[str, Any]:
    """{numbered name: placeholder [batch, ...]} of the model's state, which is zeros by default.

    Args:
      model: a `TimeSeriesModel`.
      batch_size: scalar tensor.
      static_batch_size: the same if it is known.
    """
    with tf.Graph().as_default():
        model.initialize_graph()
        # Variables' values are not known here, so zeros stand for them.
        start_state = nest.map_structure(
            lambda tensor: static_value(tf.zeros_like(tensor)), model.get_start_state()
        )
    placeholders = {}
    for name, state in state_to_dictionary(start_state).items():
        shape = tf.TensorShape((static_batch_size,)).concatenate(state.shape)
        front = batch_size[None]
        ones = tf.ones(len(state.shape), dtype=tf.int32)
        multiples = tf.concat([front, ones], axis=0)
        default = tf.tile(state[None, ...], multiples=multiples)
        placeholders[name] = tf.placeholder_with_default(default, shape, name)
    return placeholders


def raw_receiver(model: Any, batch: int | None, length: int | None) -> Any:
    """Return a `ServingInputReceiver` of tensors.

    Args:
      model: a `TimeSeriesModel`.
      batch, length: how many series, and times, there are; None where any number may be.
    """
    times = tf.placeholder(name=_TIMES, dtype=tf.int64, shape=[batch, length])
    width = model.num_features
    zeros = tf.zeros(shape=[batch or 0, length or 0, width], dtype=model.dtype)
    placeholders = {
        _TIMES: times,
        _VALUES: tf.placeholder_with_default(zeros, (batch, length, width), _VALUES),
    }
    columns = model.exogenous_feature_columns
    for key, (shape, dtype) in (_parsed_shapes(columns) if columns else {}).items():
        behind = shape.with_rank_at_least(1).as_list()[1:]
        placeholders[key] = tf.placeholder(dtype=dtype, name=key, shape=[batch, length, *behind])
    placeholders.update(start_state_placeholders(model, tf.shape(times)[0], batch))
    return tf.estimator.export.ServingInputReceiver(placeholders, placeholders)


def _parsed_shapes(columns: Any) -> dict[str, Any]:
    """Return {name: (shape, type)} of columns' parsed features."""
    with tf.Graph().as_default():
        parsed = parsed_placeholders(columns)
        return {key: (value.get_shape(), value.dtype) for key, value in parsed.items()}


def one_shot_receiver(
    model: Any, filtering_length: int, prediction_length: int, batch: int | None,
    values_dtype: Any, truncate_values: bool,
) -> Any:  # fmt: skip
    """Return a `ServingInputReceiver` of serialized examples, each of a whole series.

    Args:
      model: a `TimeSeriesModel`.
      filtering_length, prediction_length: how many times have values, and are to be predicted.
      batch: how many series there are; None for any number.
      values_dtype: the type of values in examples.
      truncate_values: whether there are values for times to predict, too, which are not used.

    Raises:
      ValueError: for features of varying length that are no strings.
    """
    length = filtering_length + prediction_length
    times_column = tf.feature_column.numeric_column(_TIMES, dtype=tf.int64)
    values_column = tf.feature_column.numeric_column(
        _VALUES, dtype=values_dtype, shape=(model.num_features,)
    )
    spec = tf.feature_column.make_parse_example_spec(
        [*model.exogenous_feature_columns, times_column, values_column]
    )
    sizes = {_VALUES: length if truncate_values else filtering_length}
    parsed = {key: _sequence(key, each, sizes.get(key, length)) for key, each in spec.items()}
    examples = tf.placeholder(shape=[batch], dtype=tf.string, name="input")
    features = tf.parse_example(serialized=examples, features=parsed)
    features[_TIMES] = tf.squeeze(features[_TIMES], axis=-1)
    values = tf.cast(features[_VALUES], dtype=model.dtype)
    features[_VALUES] = values[:, :filtering_length]
    features.update(start_state_placeholders(model, tf.shape(features[_TIMES])[0], batch))
    return tf.estimator.export.ServingInputReceiver(features, {"examples": examples})


def _sequence(key: str, spec: Any, length: int) -> Any:
    """Return the parsing of a feature of every time."""
    if isinstance(spec, tf.FixedLenFeature):
        return spec._replace(shape=(length, *spec.shape))
    if spec.dtype == tf.string:
        return tf.FixedLenFeature(shape=(length,), dtype=tf.string)
    raise ValueError(f"VarLenFeatures not supported, got {spec} for key {key}")
