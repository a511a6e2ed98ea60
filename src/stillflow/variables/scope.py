"""`tf.VariableScope`: defaults and names of new variables."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import get_collection, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export, export_value
from stillflow.graph.graph_keys import GraphKeys
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.store import VariableStore


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = export_value("AUTO_REUSE", _ReuseMode.AUTO_REUSE)


def either(value: Any, default: Any) -> Any:
    """Return a value, or another one if it is None."""
    return default if value is None else value


@export("VariableScope")
class VariableScope:
    """The defaults with which `get_variable` makes variables, and their name prefix."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer = initializer, regularizer
        self._caching_device, self._partitioner = caching_device, partitioner
        self._custom_getter, self._dtype = custom_getter, dtype
        self._use_resource, self._constraint = use_resource, constraint
        if executing_eagerly():
            if caching_device is not None:
                raise NotImplementedError(
                    "Caching devices is not yet supported when eager execution is enabled."
                )
            self._reuse, self._use_resource = AUTO_REUSE, True

    @property
    def name(self) -> str:
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope in which the scope was first entered."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        return self._reuse

    @property
    def initializer(self) -> Any:
        return self._initializer

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        return self._regularizer

    @property
    def caching_device(self) -> Callable[..., Any] | None:
        return self._caching_device

    @property
    def partitioner(self) -> Callable[..., Any] | None:
        return self._partitioner

    @property
    def custom_getter(self) -> Callable[..., Any] | None:
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        return self._constraint

    def reuse_variables(self) -> None:
        """Make `get_variable` return existing variables only from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Has variables be resource variables or not.

        Raises:
          ValueError: if they are not to be in eager execution.
        """
        if executing_eagerly() and not use_resource:
            raise ValueError(
                "When eager execution is enabled, use_resource cannot be set to false."
            )
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Set where values are cached.

        Raises:
          NotImplementedError: in eager execution.
        """
        if executing_eagerly():
            raise NotImplementedError(
                "Caching devices are not yet supported when eager execution is enabled."
            )
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: Any) -> list[Any]:
        """Return the items of a collection whose names are in this scope."""
        return get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Return or make a variable of this scope; missing arguments are the scope's.

        In eager execution a variable is made each time, unless the store keeps them.
        """
        if executing_eagerly():
            reuse, use_resource = False, True
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                initial = convert_to_tensor(initializer).dtype.base_dtype
                if initial != dtype:
                    raise ValueError(
                        f"Initializer type '{initial}' and explicit dtype '{dtype}' don't match."
                    )
            return var_store.get_variable(
                f"{self._name}/{name}" if self._name else name,
                shape=shape,
                dtype=either(dtype, self._dtype),
                initializer=either(initializer, self._initializer),
                regularizer=either(regularizer, self._regularizer),
                reuse=either(reuse, self._reuse),
                trainable=trainable,
                collections=collections,
                caching_device=either(caching_device, self._caching_device),
                partitioner=either(partitioner, self._partitioner),
                validate_shape=validate_shape,
                use_resource=either(use_resource, self._use_resource),
                custom_getter=either(custom_getter, self._custom_getter),
                constraint=either(constraint, self._constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )
