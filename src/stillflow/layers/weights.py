"""The part of a layer that makes and keeps its variables."""

from __future__ import annotations

import functools
import importlib
import itertools
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.export import redefinable
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.initialization import track_variable
from stillflow.layers.attributes import layers_in
from stillflow.layers.autocast_variable import autocast
from stillflow.layers.identifiers import constraint_of, initializer_of, regularizer_of
from stillflow.layers.policy import Policy
from stillflow.variables.base import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    VariableV2,
)
from stillflow.variables.initializers import GlorotUniform, Initializer, Zeros
from stillflow.variables.partitioned import PartitionedVariable

_ADD_WEIGHT_OPTIONS = ("getter", "collections", "experimental_autocast")


def make_variable(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    trainable: bool | None = None,
    caching_device: Any = None,
    validate_shape: bool = True,
    constraint: Any = None,
    use_resource: bool | None = None,
    collections: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
    partitioner: Any = None,
) -> Variable:
    """Return a variable that no variable scope names or shares.

    Arguments are those of `get_variable`.
    """
    del partitioner  # only variable scopes split variables
    value, value_dtype = initializer, None
    if initializer is None or callable(initializer):
        with init_scope():
            if isinstance(initializer, type) and issubclass(initializer, Initializer):
                initializer = initializer()
        value, value_dtype = functools.partial(initializer, shape, dtype=dtype), dtype.base_dtype
    dims = TensorShape(shape)
    options = {
        "initial_value": value, "name": name, "trainable": trainable,
        "caching_device": caching_device, "dtype": value_dtype, "validate_shape": validate_shape,
        "constraint": constraint, "use_resource": True if use_resource is None else use_resource,
        "collections": collections, "synchronization": synchronization,
        "aggregation": aggregation, "shape": dims if dims else None,
    }  # fmt: skip
    return Variable(**options)


def check_synchronization(synchronization: Any, trainable: bool | None) -> bool:
    """Return True if a variable is trainable; one that is synchronized on reading cannot be."""
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for "
            "non-trainable variables. You have specified trainable=True and "
            "synchronization=VariableSynchronization.ON_READ."
        )
    return False


class Weights:
    """Variables of a layer and of the layers inside it."""

    name: Any
    dtype: Any
    built: bool
    trainable: Any
    _dtype_policy: Policy
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]
    _layers: list[Any]
    add_loss: Any  # of Contributions
    _track_trackable: Any  # of Attributes

    @redefinable
    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        **kwargs: Any,
    ) -> Any:
        """Make a variable of this layer.

        Args:
          name: of the variable.
          shape: of the variable; a scalar by default.
          dtype: the layer's by default, else float32.
          initializer: Glorot's uniform one by default, zeros for integers.
          regularizer: `f(variable)` gives a loss, which is added to the layer's.
          trainable: whether it is one of `trainable_weights`.
          constraint: a function that optimizers project it with.
          partitioner, use_resource, synchronization, aggregation: see `tf.get_variable`.

        Raises:
          TypeError: for an argument that there is not.
          ValueError: if no initializer is known for the dtype.
        """
        for key in kwargs:
            if key not in _ADD_WEIGHT_OPTIONS:
                raise TypeError("Unknown keyword argument:", key)
        dtype = dtypes.as_dtype(dtype or self.dtype or floatx())
        if self._dtype_policy.variable_dtype is None:
            self._dtype_policy = Policy(dtype.base_dtype.name)
        trainable = check_synchronization(synchronization, trainable)
        variable = kwargs.get("getter", make_variable)(
            name=name,
            shape=() if shape is None else shape,
            dtype=dtype,
            initializer=self._initializer_of_weight(name, initializer, dtype),
            constraint=constraint_of(constraint),
            trainable=trainable,
            partitioner=partitioner,
            use_resource=use_resource,
            collections=kwargs.get("collections"),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if kwargs.get("experimental_autocast", True) and self._dtype_policy.should_cast_variables:
            variable = autocast(variable)
        if isinstance(variable, VariableV2):
            self._track_trackable(variable, str(name), overwrite=True)
        if regularizer is not None:
            scoped_name = variable.name.partition(":")[0]
            self._regularize_weight(scoped_name, variable, regularizer_of(regularizer))
        track_variable(variable)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    def _initializer_of_weight(self, name: str | None, initializer: Any, dtype: Any) -> Any:
        initializer = initializer_of(initializer)
        if initializer is not None:
            return initializer
        if dtype.is_floating:
            return GlorotUniform()
        if dtype.is_integer or dtype.is_unsigned or dtype.is_bool:
            return Zeros()
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer "
            f"{self.name}"
        )

    def _regularize_weight(self, name: str, variable: Any, regularizer: Any) -> None:
        def loss_of(part: Any) -> Tensor:
            with name_scope(name + "/Regularizer"):
                return regularizer(part)

        parts = variable if isinstance(variable, PartitionedVariable) else [variable]
        for part in parts:
            self.add_loss(functools.partial(loss_of, part))

    def _of_children(self, attribute: str) -> list[Any]:
        """Return the items of a list that every layer has, of the layers inside this one.

        Templates, which count as layers, have variables alone.
        """
        inside = layers_in(self._layers, with_containers=True)
        having = [each for each in inside if hasattr(type(each), attribute)]
        return list(itertools.chain.from_iterable(getattr(x, attribute) for x in having))

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers change; none if the layer is not trainable."""
        if not self.trainable:
            return []
        return self._trainable_weights + self._of_children("trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        if self.trainable:
            return self._non_trainable_weights + self._of_children("non_trainable_weights")
        own = self._trainable_weights + self._non_trainable_weights
        return own + self._of_children("weights")

    @property
    def weights(self) -> list[Any]:
        """All variables, trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """The same as `weights`."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The same as `non_trainable_weights`."""
        return self.non_trainable_weights

    def count_params(self) -> int:
        """Return the number of elements in all variables.

        Raises:
          ValueError: if the layer has not made them yet.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You "
                f"can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(variable.shape.as_list()) for variable in self.weights))

    def get_weights(self) -> list[np.ndarray]:
        """Return the values of `weights` in Keras' session."""
        values: list[np.ndarray] = _keras_backend().batch_get_value(self.weights)
        return values

    def set_weights(self, weights: list[Any]) -> None:
        """Set the values of `weights` in Keras' session.

        Raises:
          ValueError: if the number or the shapes of the values do not fit.
        """
        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of '
                f"length {len(weights)}, but the layer was expecting {len(params)} weights. "
                f"Provided weights: {str(weights)[:50]}..."
            )
        for param, value in zip(params, weights, strict=True):
            if not param.shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Layer weight shape {param.shape} not compatible with provided weight shape "
                    f"{value.shape}"
                )
        if params:
            _keras_backend().batch_set_value(list(zip(params, weights, strict=True)))


def _keras_backend() -> Any:
    return importlib.import_module("stillflow.keras.backend")
