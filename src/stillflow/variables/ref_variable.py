"""Reference variables, the default kind of `tf.Variable`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import get_default_graph, initial_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.variables.reference import assign_op, variable_v2_op
from stillflow.platform import tf_logging as logging
from stillflow.util.notices import noticed
from stillflow.variables.base import (
    SaveSliceInfo,
    Variable,
    check_arguments,
    check_distribution,
    to_tensor,
)
from stillflow.variables.initial_values import guarded
from stillflow.variables.scatter import RefScatterMethods


class RefVariable(RefScatterMethods, Variable):
    """A variable behind a VariableV2 op. Arguments are those of `tf.Variable`."""

    _is_resource_variable = False
    _in_graph_mode = True
    _distribute_strategy = None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        del expected_shape
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if initial_graph().runs_at_once:
            raise RuntimeError("RefVariable not supported when eager execution is enabled. ")
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            synchronization, aggregation, trainable, name
        )
        collections = check_arguments(collections, constraint, self._trainable)
        self._constraint = constraint
        self._caching_device = caching_device
        self._save_slice_info = None
        with init_scope():
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._create(scope, initial_value, dtype, validate_shape, shape)
            get_default_graph().add_to_collections(collections, self)

    def _create(
        self, scope: str, initial_value: Any, dtype: Any, validate: bool, shape: Any
    ) -> None:
        graph = get_default_graph()
        if callable(initial_value):
            with graph._attr_scope({"_class": [f"loc:@{scope[:-1]}".encode()]}):
                with name_scope("Initializer"), graph.device(None):
                    value = convert_to_tensor(initial_value(), name="initial_value", dtype=dtype)
                self._variable = _make_state(scope, value, validate, shape)
        else:
            value = convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
            if value.op._get_control_flow_context() is not None:
                raise ValueError(
                    f"Initializer for variable {scope} is from inside a control-flow construct, "
                    "such as a loop or conditional. When creating a variable inside a loop or "
                    "conditional, use a lambda as the initializer."
                )
            self._variable = _make_state(scope, value, validate, shape)
        self._initial_value = value
        if validate and not value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")
        self._initializer_op = assign_op(
            self._variable, guarded(scope, value), validate_shape=validate
        ).op
        if self._caching_device is not None:
            with graph.device(self._caching_device):
                self._snapshot = identity(self._variable, name="read")
        else:
            with graph.colocate_with(self._variable.op):
                self._snapshot = identity(self._variable, name="read")

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(with_scope(name, import_scope))

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        initial = variable_def.initial_value_name
        self._initial_value = element(initial) if initial else None
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        self._snapshot = element(variable_def.snapshot_name)
        self._save_slice_info = None
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._caching_device = None
        self._constraint = None

    @property
    def name(self) -> str:
        return self._variable.name

    @property
    def op(self) -> Operation:
        return self._variable.op

    @property
    def dtype(self) -> DType:
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        return self._variable.shape

    def set_shape(self, shape: Any) -> None:
        self._ref().set_shape(shape)
        self.value().set_shape(shape)

    def eval(self, session: Any = None) -> Array:
        """Return the variable's value in `session` (or the default one)."""
        return self._variable.eval(session=session)

    def value(self) -> Tensor:
        """Return the variable's value: the same tensor each time."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Return the value at the place in the graph where this is called."""
        return identity(self._variable, name="read")

    def _ref(self) -> Tensor:
        return self._variable

    _AsTensor = value

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Set the variable when run; give its reference, or the operation."""
        from stillflow.variables import state_ops

        return _ref_or_op(
            state_ops.assign(self._variable, value, use_locking=use_locking, name=name), read_value
        )

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add to the variable when run."""
        from stillflow.variables import state_ops

        return _ref_or_op(
            state_ops.assign_add(self._variable, delta, use_locking=use_locking, name=name),
            read_value,
        )

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the variable when run."""
        from stillflow.variables import state_ops

        return _ref_or_op(
            state_ops.assign_sub(self._variable, delta, use_locking=use_locking, name=name),
            read_value,
        )

    @noticed("RefVariable")
    def count_up_to(self, limit: int) -> Tensor:
        """Return the value and increment it until it reaches `limit`."""
        from stillflow.ops.variables.reference import count_up_to_op

        result: Tensor = count_up_to_op(self._variable, limit=limit)
        return result

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a `VariableDef`; None if it is outside `export_scope`."""
        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        message = self._to_proto(export_scope)
        message.variable_name = without_scope(self._variable.name, export_scope)
        message.snapshot_name = without_scope(self._snapshot.name, export_scope)
        return message

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> RefVariable:
        """Return the variable that a `VariableDef` describes.

        Its nodes are in the graph already.
        """
        return RefVariable(variable_def=variable_def, import_scope=import_scope)


def _make_state(scope: str, value: Tensor, validate: bool, shape: Any) -> Tensor:
    if shape is None:
        shape = value.shape if validate else TensorShape(None)
    result: Tensor = variable_v2_op(
        shape=TensorShape(shape), dtype=value.dtype.base_dtype, name=scope
    )
    return result


def _ref_or_op(assigned: Tensor, read_value: bool) -> Tensor | Operation:
    return assigned if read_value else assigned.op


# In-place operators: the replacement for the variable, and for a tensor.
_IN_PLACE = {
    "+": ("iadd", operator.add, "variable.assign_add", "'x = x + y'"),
    "-": ("isub", operator.sub, "variable.assign_sub", "'x = x - y'"),
    "*": ("imul", operator.mul, "`var.assign(var * other)`", "`x = x * y`"),
    "/": ("itruediv", operator.truediv, "`var.assign(var / other)`", "`x = x / y`"),
    "**": ("ipow", operator.pow, "`var.assign(var ** other)`", "`x = x ** y`"),
}
_warned: set[str] = set()


def _in_place_operator(
    symbol: str, plain: Any, assignment: str, expression: str
) -> Callable[..., Any]:
    """Return the plain operator, with a warning once that nothing is assigned."""

    def in_place(self: Any, other: Any) -> Any:
        if symbol not in _warned:
            _warned.add(symbol)
            logging.warning(
                f"Variable {symbol}= will be deprecated. Use {assignment} if you want assignment "
                f"to the variable value or {expression} if you want a new python Tensor object."
            )
        return plain(self, other)

    return in_place


register_tensor_conversion_function(RefVariable, to_tensor)
for _symbol, (_name, *_parts) in _IN_PLACE.items():
    setattr(RefVariable, f"__{_name}__", _in_place_operator(_symbol, *_parts))  # type: ignore[arg-type]
