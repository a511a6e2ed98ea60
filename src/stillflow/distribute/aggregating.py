"""A variable that several replicas share, and change together."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from stillflow.distribute.values import Delegate
from stillflow.distribute.variables import aggregation_of, assign_in_all, assigner, keep_whole
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import register_dense_tensor_like_type
from stillflow.train.saveables import VARIABLE_VALUE_KEY
from stillflow.variables.base import VariableAggregation, VariableV2


def _of_shared(name: str) -> Any:
    return property(lambda self: getattr(self._v, name))


def _aggregated(name: str, text: str) -> Callable[..., Any]:
    """Return the method that assigns what replicas give, aggregated."""

    def method(self: AggregatingVariable, *args: Any, **kwargs: Any) -> Any:
        return assign_in_all(
            self, lambda where: self._v, assigner(name), args, kwargs, "AggregatingVariable"
        )

    method.__name__, method.__doc__ = name, text
    return method


class AggregatingVariable(Delegate, VariableV2):
    """Variable on one device; values that replicas assign to it are aggregated first.

    Args:
      strategy: whose variable it is.
      v: the variable itself.
      aggregation: a `tf.VariableAggregation`.
    """

    def __init__(self, strategy: Any, v: Any, aggregation: Any) -> None:
        v._aggregating_container = weakref.ref(self)
        self._v, self._aggregation, self._distribute_strategy = v, aggregation, strategy

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
    _set_save_slice_info = _of_shared("_set_save_slice_info")
    _as_graph_element = _of_shared("_as_graph_element")
    eval = _of_shared("eval")
    get_shape = _of_shared("get_shape")
    initialized_value = _of_shared("initialized_value")
    read_value = _of_shared("read_value")
    to_proto = _of_shared("to_proto")
    value = _of_shared("value")

    assign = _aggregated("assign", "Set the variable when run.")
    assign_add = _aggregated("assign_add", "Add to the variable when run.")
    assign_sub = _aggregated("assign_sub", "Subtract from the variable when run.")

    def get(self) -> Any:
        """Return the variable itself."""
        return self._v

    def _get_as_operand(self) -> Any:
        return self._v

    @property
    def distribute_strategy(self) -> Any:
        return self._distribute_strategy

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

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

    def __copy__(self) -> AggregatingVariable:
        return self


def _convert(var: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
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
