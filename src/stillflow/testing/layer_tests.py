"""One test for any Keras layer with one input and one output."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.testing.keras_modes import runs_eagerly_if_said
from stillflow.util import tf_inspect


def layer_test(
    layer_cls: Any,
    kwargs: Any = None,
    input_shape: Any = None,
    input_dtype: Any = None,
    input_data: Any = None,
    expected_output: Any = None,
    expected_output_dtype: Any = None,
    expected_output_shape: Any = None,
    validate_training: bool = True,
    adapt_data: Any = None,
) -> Array:
    """Check a layer's weights, shapes, types, values, configuration and training.

    Args:
      layer_cls: the layer's class.
      kwargs: arguments of its initializer.
      input_shape, input_dtype: of random inputs, if `input_data` is None.
      input_data: the inputs.
      expected_output, expected_output_dtype, expected_output_shape: of the outputs, unless None;
        the type is the input's by default.
      validate_training: train one step, too.
      adapt_data: given to `adapt`, unless None.

    Returns:
      The outputs, an array.

    Raises:
      ValueError: there are neither inputs nor a shape.
      AssertionError: something does not hold.
    """
    if input_data is None:
        input_data = _random_inputs(input_shape, input_dtype or "float32")
    input_shape = input_data.shape if input_shape is None else input_shape
    input_dtype = input_data.dtype if input_dtype is None else input_dtype
    kwargs = dict(kwargs or {})
    layer = layer_cls(**kwargs)
    if adapt_data is not None:
        layer.adapt(adapt_data)
    weights = layer.get_weights()
    layer.set_weights(weights)
    if "weights" in tf_inspect.getargspec(layer_cls.__init__):
        layer = layer_cls(**kwargs, weights=weights)
    case = _Case(layer_cls.__name__, kwargs)
    x = tf.keras.layers.Input(shape=input_shape[1:], dtype=input_dtype)
    y = layer(x)
    wanted = input_dtype if expected_output_dtype is None else expected_output_dtype
    if tf.keras.backend.dtype(y) != wanted:
        found = f"found output dtype={tf.keras.backend.dtype(y)} but expected to find {wanted}"
        raise case.failure(x, found)
    if expected_output_shape is not None:
        _same_shape(TensorShape(expected_output_shape), y.shape, case, x)
    model = tf.keras.models.Model(x, y)
    shape = tuple(layer.compute_output_shape(TensorShape(input_shape)).as_list())
    signature = layer.compute_output_signature(TensorSpec(shape=input_shape, dtype=input_dtype))
    output = model.predict(input_data)
    _same_shape(shape, output.shape, case, x)
    _same_shape(signature.shape, output.shape, case, x)
    if signature.dtype != output.dtype:
        found = f"found output dtype={output.dtype} but expected to find {signature.dtype}"
        raise case.failure(x, found)
    if expected_output is not None:
        _close(output, expected_output)
    _recovered(tf.keras.models.Model, model, input_data, output)
    if validate_training:
        model = tf.keras.models.Model(x, layer(x))
        model.compile("rmsprop", "mse", weighted_metrics=["acc"], **runs_eagerly_if_said())
        model.train_on_batch(input_data, output)
    return _as_first_layer(layer, input_shape, input_data, expected_output, adapt_data, shape, case)


class _Case(NamedTuple):
    """The layer that is tested."""

    layer: str
    kwargs: dict[str, Any]

    def failure(self, given: Any, found: str) -> AssertionError:
        return AssertionError(
            f"When testing layer {self.layer}, for input {given}, {found}.\n"
            f"Full kwargs: {self.kwargs}"
        )


def _random_inputs(shape: Any, dtype: str) -> Array:
    if shape is None:
        raise ValueError("input_shape is None")
    sizes = [np.random.randint(1, 4) if size is None else size for size in shape]
    data = 10 * np.random.random(sizes)
    return (data - 0.5 if dtype.startswith("float") else data).astype(dtype)


def _as_first_layer(
    layer: Any, input_shape: Any, data: Any, expected: Any, adapt_data: Any, shape: Any, case: _Case
) -> Array:  # fmt: skip
    """Return the outputs of the layer made again from its configuration."""
    config = layer.get_config()
    config["batch_input_shape"] = input_shape
    layer = type(layer).from_config(config)
    if adapt_data is not None:
        layer.adapt(adapt_data)
    model = tf.keras.models.Sequential()
    model.add(layer)
    output = model.predict(data)
    _same_shape(shape, output.shape, case, "after deserialization")
    if expected is not None:
        _close(output, expected)
    _recovered(tf.keras.models.Sequential, model, data, output)
    return output


def _recovered(kind: Any, model: Any, data: Any, output: Any) -> None:
    """Check that a model of the same configuration and weights has the same outputs."""
    again = kind.from_config(model.get_config())
    if model.weights:
        again.set_weights(model.get_weights())
        _close(again.predict(data), output)


def _close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)


def _same_shape(expected: Any, actual: Any, case: _Case, given: Any) -> None:
    sizes = [
        [size.value if isinstance(size, Dimension) else size for size in shape]
        for shape in (expected, actual)
    ]
    fits = len(sizes[0]) == len(sizes[1]) and all(
        want is None or want == found for want, found in zip(*sizes, strict=True)
    )
    if not fits:
        found = f"found output_shape={actual} but expected to find {expected}"
        raise case.failure(given, found)
