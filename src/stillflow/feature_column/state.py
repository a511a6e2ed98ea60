"""Owners of feature columns' variables and tables."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import stillflow as tf


class StateManager:
    """Owner of columns' variables and resources, by name. Subclasses decide the place."""

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Make a variable of a column."""
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column: Any, var: Any) -> None:
        """Add a variable to those of a column."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return a variable that was made."""
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Add a resource, such as a table."""
        raise NotImplementedError("StateManager.add_resource")

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """Return a resource that was added."""
        raise NotImplementedError("StateManager.get_resource")


class LayerState(StateManager):
    """The state of a layer's columns: variables are the layer's weights.

    Args:
      layer: the layer, or None if columns have no variables.
      trainable: whether variables may be trained.
      getter: makes variables; that of `tf.get_variable` puts them in variable scopes.
    """

    def __init__(self, layer: Any, trainable: bool, getter: Any = tf.get_variable) -> None:
        self._layer, self._trainable = layer, trainable
        self._making = {} if getter is None else {"getter": getter}
        self._variables: dict[Any, dict[str, Any]] = defaultdict(dict)
        self._resources: dict[Any, dict[str, Any]] = defaultdict(dict)
        if layer is not None:
            layer._resources = []  # parts of the layer, which SavedModels hold

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Add a weight to the layer.

        Raises:
          ValueError: if the column has a variable of that name.
        """
        of_column = self._variables[feature_column]
        if name in of_column:
            raise ValueError("Variable already exists.")
        of_column[name] = self._layer.add_weight(
            name, shape, dtype, initializer, trainable=trainable and self._trainable,
            use_resource=use_resource, **self._making,
        )  # fmt: skip
        return of_column[name]

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return a variable of a column.

        Raises:
          ValueError: if there is none of that name.
        """
        if name not in self._variables[feature_column]:
            raise ValueError("Variable does not exist.")
        return self._variables[feature_column][name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keep a resource of a column."""
        self._resources[feature_column][name] = resource
        if self._layer is not None:
            self._layer._resources.append(resource)

    def get_resource(self, feature_column: Any, name: str) -> int:
        """Return a resource of a column.

        Raises:
          ValueError: if there is none of that name.
        """
        if name not in self._resources[feature_column]:
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column][name]


class ScopeState(StateManager):
    """The state of a column of the older generation: variables of the current variable scope.

    Args:
      weight_collections: the collections of variables.
      trainable: whether variables may be trained.
    """

    def __init__(self, weight_collections: Any = None, trainable: Any = None) -> None:
        self.weight_collections, self.trainable = weight_collections, trainable
        self._made: dict[str, Any] = {}

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Get or make the variable; the scope decides if it is a resource."""
        collections = self.weight_collections
        if collections and tf.GraphKeys.GLOBAL_VARIABLES not in collections:
            collections = [*collections, tf.GraphKeys.GLOBAL_VARIABLES]
        self._made[name] = tf.get_variable(
            name, shape, dtype, initializer, trainable=trainable and self.trainable,
            collections=collections,
        )  # fmt: skip
        return self._made[name]

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return the variable, which is made where it is asked for."""
        feature_column.create_state(self)
        return self._made[name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Nothing: the graph's collections keep tables."""
