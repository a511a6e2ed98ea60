"""`tf.layers.Layer`: a layer whose variables are named and shared by variable scopes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import get_collection_ref, name_scope
from stillflow.graph.eager_mode import executing_eagerly, executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.graph.graph import initial_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.layers import base_layer
from stillflow.layers.names import to_snake_case, unique_object_name
from stillflow.layers.style import in_keras_style
from stillflow.layers.weights import check_synchronization
from stillflow.util.notices import noticed
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.collections import global_variables, trainable_variables
from stillflow.variables.partitioned import PartitionedVariable
from stillflow.variables.variable_scope import VariableScope, get_variable, variable_scope


@export("layers.Layer")
class Layer(base_layer.Layer):
    """A function of tensors that keeps its variables in a variable scope.

    Args:
      trainable: whether its variables are trained.
      name: of its variable scope; one made from the class by default.
      dtype: of its variables; that of the first input by default.
      _scope: the name of a scope to use as it is, or the scope.
      _reuse: whether the variables exist already.

    Raises:
      ValueError: for a scope or reuse, where layers have Keras' style.
    """

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._use_resource_variables = False
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        kwargs.setdefault("autocast", False)
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._keras_style = in_keras_style()
        if self._keras_style:
            _refuse("scope", scope)
            _refuse("reuse", self._reuse)
        self._scope: Any = None
        self._current_scope: Any = None
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    @property
    @noticed("layers.Layer")
    def graph(self) -> None:
        """None."""
        return

    # Objects in attributes do not belong to these layers, as they do to those of Keras.
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        self._name = self._base_name = name
        if isinstance(name, VariableScope):
            self._base_name = name.name
            self._name, _ = self._make_unique_name()
        if not name:
            self._name, self._base_name = self._make_unique_name()

    def _make_unique_name(
        self,
        name_uid_map: Any = None,
        avoid_names: Any = None,
        namespace: str = "",
        zero_based: bool = False,
    ) -> tuple[str, str]:
        """Return a name for the layer, and the one made from its class without a number."""
        base_name = to_snake_case(type(self).__name__)
        name = unique_object_name(base_name, name_uid_map, avoid_names, namespace, zero_based)
        return name, base_name

    @property
    def _is_legacy_layer(self) -> bool:
        """True if models of Keras do not accept the layer."""
        return True

    @property
    def scope_name(self) -> str:
        """The name of the variable scope.

        Raises:
          ValueError: before it is known, which is at the first call.
        """
        if not self._scope:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name  is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        name: str = self._scope.name
        return name

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, to the collection REGULARIZATION_LOSSES as well.

        Args:
          losses: tensors, or functions without arguments that give one.
          inputs: what they depend on; None for nothing.
        """
        before, callable_before = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        made = [loss() for loss in self._callable_losses[callable_before:]]
        added = self._losses[before:] + [loss for loss in made if loss is not None]
        _collect(added, GraphKeys.REGULARIZATION_LOSSES)

    def _name_scope(self) -> str:
        if self._keras_style:
            return super()._name_scope()
        scope: str = self._current_scope.original_name_scope
        return scope

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as self._scope:
            pass

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Get or make a variable in the layer's scope.

        Args:
          name, shape, initializer, constraint, use_resource, synchronization, aggregation,
            partitioner: see `tf.get_variable`.
          dtype: the layer's by default, else float32.
          regularizer: `f(variable)` gives a loss, added where the variable is made.
          trainable: whether it is one of `trainable_weights`.

        Raises:
          TypeError: for an argument that there is not.
          ValueError: if the variable exists or is missing against the layer's reuse.
        """
        for key in kwargs:
            if key != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", key)
        options = {"constraint": constraint, "partitioner": partitioner, **kwargs}
        if self._keras_style:
            return super().add_weight(
                name=name, shape=shape, dtype=dtype, initializer=initializer,
                regularizer=regularizer, trainable=trainable and self.trainable,
                use_resource=use_resource, **options,
            )  # fmt: skip
        trainable = check_synchronization(synchronization, trainable) and self.trainable
        existing = set(_in_initial_graph(global_variables)) if regularizer else set()
        self._set_scope(None)
        count = len(self._trainable_weights)
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(self._name_scope()):
                variable = super().add_weight(
                    name, shape,
                    dtype=dtypes.as_dtype(dtype or self.dtype or dtypes.float32),
                    initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable,
                    use_resource=(
                        use_resource or self._use_resource_variables or scope.use_resource
                    ),
                    synchronization=synchronization, aggregation=aggregation,
                    getter=get_variable, **options,
                )  # fmt: skip
                if regularizer and _is_new(variable, existing):
                    self._regularize_weight(name, variable, regularizer)
        if trainable:
            self._move_frozen(variable, count)
        return variable

    def _move_frozen(self, variable: Any, count: int) -> None:
        """Keep a variable with the non-trainable ones if a getter has made it one of them."""
        if executing_eagerly_outside_functions():  # where no collection has it
            frozen = not variable.trainable
        else:
            trainable = _in_initial_graph(trainable_variables)
            frozen = not any(variable is other for other in trainable)
        if frozen:
            self._non_trainable_weights += self._trainable_weights[count:]
            del self._trainable_weights[count:]

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer in its variable scope.

        Args:
          inputs: a tensor, or a structure of tensors.
          scope: of the variables, at the first call.
          *args, **kwargs: other arguments of `call`.
        """
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            _refuse("scope", scope)
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        if self.built:
            if not hasattr(self, "_always_reuse_variable_scope"):
                self._always_reuse_variable_scope = variable_scope(
                    self._scope, reuse=True, auxiliary_name_scope=False
                )
            opened = self._always_reuse_variable_scope
        else:
            opened = variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False)
        with opened as self._current_scope:
            if "scope" in self._call_fn_args:
                kwargs["scope"] = self._current_scope
            outputs = super().__call__(inputs, *args, **kwargs)
        _collect(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for key, value in self.__dict__.items():
            if key in ("_scope", "_always_reuse_variable_scope"):
                value = copy.copy(value)
            elif not isinstance((nest.flatten(value) or [None])[0], Tensor):
                value = copy.deepcopy(value, memo)
            setattr(result, key, value)
        return result


def _in_initial_graph(collected: Callable[[], list[Any]]) -> list[Any]:
    """Return the variables of the graph that variables are made in."""
    with initial_graph().as_default():
        return collected()


def _refuse(what: str, value: Any) -> None:
    if value is not None:
        raise ValueError(
            f"{what} argument not allowed when keras style layers are enabled, but saw: {value}"
        )


def _is_new(variable: Any, existing: set[Any]) -> bool:
    parts = variable if isinstance(variable, PartitionedVariable) else [variable]
    return not any(part in existing for part in parts)


def _collect(items: list[Any], key: str) -> None:
    """Add missing items to a collection, which exists afterwards.

    Nothing is collected where operations run when they are called.
    """
    if executing_eagerly():
        return
    collection = get_collection_ref(key)
    seen = {id(item) for item in collection}
    for item in nest.flatten(items):
        if id(item) not in seen:
            seen.add(id(item))
            collection.append(item)
