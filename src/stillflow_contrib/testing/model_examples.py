"""Small Keras models and their data, for tests of saving and of strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.functional.polymorphic import function
from stillflow.graph import dtypes
from stillflow.keras.optimizers.gradient_descent import SGD
from stillflow.ops.constants import constant
from stillflow.testing.combinations import NamedObject
from stillflow.variables.base import VariableV2
from stillflow.variables.module import Module


class ModelAndInput:
    """Base of models with their data."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        """Return a compiled model, and the name of its output."""
        raise NotImplementedError("must be implemented in descendants")

    def get_data(self) -> tuple[Any, Any, Any]:
        """Return the inputs and targets of training, and other inputs."""
        raise NotImplementedError("must be implemented in descendants")

    def get_batch_size(self) -> int:
        raise NotImplementedError("must be implemented in descendants")


class _OfRandomRows(ModelAndInput):
    """Base of models from `[batch, 3]` to `[batch, 5]`."""

    _output = "output_layer"

    def _make(self) -> Any:
        raise NotImplementedError

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        model, options = self._make(), dict(kwargs)
        options["experimental_run_tf_function"] = kwargs["experimental_run_tf_function"]
        if isinstance(self, SimpleSubclassModel):
            options["cloning"] = False
        model.compile(loss="mse", metrics=["mae"], optimizer=SGD(learning_rate=0.001), **options)
        return model, self._output

    def get_data(self) -> tuple[Any, Any, Any]:
        made = [np.random.rand(1000, size) for size in (3, 5, 3)]
        inputs, targets, others = (constant(rows, dtype=dtypes.float32) for rows in made)
        return inputs, targets, others

    def get_batch_size(self) -> int:
        return 10


class SimpleFunctionalModel(_OfRandomRows):
    """A layer between an input and an output."""

    def _make(self) -> Any:
        x = tf.keras.layers.Input(shape=(3,), dtype=dtypes.float32)
        y = tf.keras.layers.Dense(5, dtype=dtypes.float32, name=self._output)(x)
        return tf.keras.Model(inputs=x, outputs=y)


class SimpleSequentialModel(_OfRandomRows):
    """A `Sequential` of one layer."""

    def _make(self) -> Any:
        model = tf.keras.Sequential()
        model.add(tf.keras.layers.Dense(5, dtype=dtypes.float32, name=self._output, input_dim=3))
        return model


class _SimpleModel(tf.keras.Model):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._dense_layer = tf.keras.layers.Dense(5, dtype=dtypes.float32, name=name)

    def call(self, inputs: Any) -> Any:
        return self._dense_layer(inputs)


class SimpleSubclassModel(_OfRandomRows):
    """A subclass of `Model` with one layer."""

    def _make(self) -> Any:
        return _SimpleModel(self._output)


class _SimpleModule(Module):
    def __init__(self) -> None:
        super().__init__()
        self.v = VariableV2(3.0)

    @function
    def __call__(self, x: Any) -> Any:
        return self.v * x


class SimpleTFModuleModel(_OfRandomRows):
    """A `tf.Module` that multiplies by a variable."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        return _SimpleModule(), "foo"


simple_functional_model = NamedObject("SimpleFunctionalModel", SimpleFunctionalModel())
simple_sequential_model = NamedObject("SimpleSequentialModel", SimpleSequentialModel())
simple_subclass_model = NamedObject("SimpleSubclassModel", SimpleSubclassModel())
simple_tfmodule_model = NamedObject("SimpleTFModuleModel", SimpleTFModuleModel())
