"""A variable that several replicas share, and change together."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from stillflow.distribute.values import Delegate
from stillflow.distribute.variables import aggregation_of, assign_in_all, assigner, keep_whole
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.tensor_like import register_dense_tensor_like_type
from stillflow.train.saveables import VARIABLE_VALUE_KEY
from stillflow.variables.base import VariableV2


def _of_shared(name: str) -> Any:
    return property(lambda self: getattr(self._v, name))


class AggregatingVariable(Delegate, VariableV2):
    """Variable on one device; values that replicas assign to it are aggregated first.

    Args:
      strategy: whose variable it is.
      v: the variable itself.
      aggregation: a `tf.VariableAggregation`.
    """

    def __init__(self, strategy: Any, v: Any, aggregation: Any) -> None:
        self._distribute_strategy = strategy
        self._v = v
        v._aggregating_container = weakref.ref(self)
        self._aggregation = aggregation

    initializer = _of_shared("initializer")
    initial_value = _of_shared("initial_value")
    op = _of_shared("op")
    graph = _of_shared("graph")
    device = _of_shared("device")
    shape = _of_shared("shape")
    name = _of_shared("name")
    dtype = _of_shared("dtype")
    trainable = _of_shared("trainable")
    synchronization = _of_shared("synchronization")
    constraint = _of_shared("constraint")
    _save_slice_info = _of_shared("_save_slice_info")

    def get(self) -> Any:
        """Return the variable itself."""
        return self._v

    def _get_as_operand(self) -> Any:
        return self._v

    @property
    def distribute_strategy(self) -> Any:
        return self._distribute_strategy

    @property
    def aggregation(self) -> Any:
        return self._aggregation

    def _assign(self, name: str, args: Any, kwargs: Any) -> Any:
        return assign_in_all(
            self, lambda where: self._v, assigner(name), args, kwargs, "AggregatingVariable"
        )

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Set the variable when run."""
        return self._assign("assign", args, kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Add to the variable when run."""
        return self._assign("assign_add", args, kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from the variable when run."""
        return self._assign("assign_sub", args, kwargs)

    def initialized_value(self) -> Any:
        return self._v.initialized_value()

    def read_value(self) -> Any:
        return self._v.read_value()

    def value(self) -> Any:
        return self._v.value()

    def eval(self, session: Any = None) -> Any:
        return self._v.eval(session)

    def get_shape(self) -> Any:
        return self._v.get_shape()

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._v._set_save_slice_info(save_slice_info)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the variable as a `VariableDef`."""
        return self._v.to_proto(export_scope=export_scope)

    def _as_graph_element(self) -> Any:
        return self._v._as_graph_element()

    def _should_act_as_resource_variable(self) -> bool:
        return True

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: self._v}

    def __str__(self) -> str:
        return str(self._v)

    def __repr__(self) -> str:
        return repr(self._v)

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> Any:
        return self


def _convert(var: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return convert_to_tensor(var.get(), dtype=dtype, name=name, as_ref=as_ref)


register_dense_tensor_like_type(AggregatingVariable)
register_tensor_conversion_function(AggregatingVariable, _convert)


def create_aggregating_variable(
    strategy: Any, next_creator: Callable[..., Any], **kwargs: Any
) -> AggregatingVariable:
    """Make a variable that replicas share, by `next_creator` with these arguments.

    ValueError for an unknown aggregation.
    """
    aggregation = aggregation_of(kwargs)
    collections = kwargs.pop("collections", None)
    v = next_creator(collections=[], **kwargs)
    wrapped = AggregatingVariable(strategy, v, aggregation)
    keep_whole(wrapped, [v], collections, kwargs.get("trainable", True))
    return wrapped
