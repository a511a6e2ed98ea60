"""Resource variables: `tf.Variable(..., use_resource=True)`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control import identity
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.ops.variables import resource as ops
from stillflow.variables.base import (
    SaveSliceInfo,
    Variable,
    check_distribution,
    overload_operators,
)
from stillflow.variables.initial_values import guarded


class ResourceVariable(Variable):
    """A variable behind a VarHandleOp. Arguments are those of `tf.Variable`."""

    _is_resource_variable = True

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        variable_def: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        distribute_strategy: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        del validate_shape, distribute_strategy
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            synchronization, aggregation, trainable, name
        )
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. Got "
                f"{collections} of type {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        self._constraint = constraint
        self._save_slice_info = None
        with init_scope():
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._create(scope, initial_value, dtype, caching_device, shape)
            get_default_graph().add_to_collections(collections, self)

    def _create(
        self, scope: str, initial_value: Any, dtype: Any, caching_device: Any, shape: Any
    ) -> None:
        graph = get_default_graph()
        self._handle_name = scope[:-1] + ":0"
        with graph._attr_scope_map({"_class": [f"loc:@{scope[:-1]}".encode()]}):
            with name_scope("Initializer"), graph.device(None):
                made = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(made, name="initial_value", dtype=dtype)
            self._shape = TensorShape(shape) if shape is not None else value.shape
            self._dtype = value.dtype.base_dtype
            self._handle: Tensor = ops.var_handle_op(
                shape=self._shape, dtype=self._dtype, shared_name=scope[:-1], name=scope
            )
        if value.op._get_control_flow_context() is not None:
            raise ValueError(
                f"Initializer for variable {scope} is from inside a control-flow construct, such "
                "as a loop or conditional. When creating a variable inside a loop or conditional, "
                "use a lambda as the initializer."
            )
        self._initial_value = value
        with name_scope("IsInitialized"):
            self._is_initialized_op = ops.var_is_initialized_op(self._handle)
        with (
            name_scope("Assign") as name,
            graph.colocate_with(self._handle.op),
            graph.device(self._handle.device),
        ):
            self._initializer_op = ops.assign_variable_op(
                self._handle, guarded(scope, value), name=name
            )
        with name_scope("Read"), graph.device(self._handle.device):
            self._graph_element: Tensor = ops.read_variable_op(self._handle, dtype=self._dtype)
        self._cached_value = None
        if caching_device is not None:
            with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                self._cached_value = identity(self._graph_element)

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(with_scope(name, import_scope)) if name else None

        self._handle = element(variable_def.variable_name)
        self._shape = TensorShape(self._handle.op.get_attr("shape"))
        self._handle_name = self._handle.name
        self._dtype = self._handle.op.get_attr("dtype")
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = element(variable_def.initial_value_name)
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            variable_def.synchronization,
            variable_def.aggregation,
            variable_def.trainable,
            variable_def.variable_name,
        )
        snapshot = element(variable_def.snapshot_name)
        self._graph_element, self._cached_value = snapshot, None
        if snapshot is not None and snapshot.op.type != "ReadVariableOp":
            self._cached_value = snapshot
            self._graph_element = snapshot.op.inputs[0]
        self._is_initialized_op = None
        self._save_slice_info = None
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._constraint = None

    @property
    def handle(self) -> Tensor:
        """The resource handle."""
        return self._handle

    @property
    def name(self) -> str:
        return self._handle_name

    @property
    def op(self) -> Operation:
        return self._handle.op

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def create(self) -> Operation:
        return self.initializer

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether there is a value when the graph runs."""
        result: Tensor = ops.var_is_initialized_op(self._handle, name=name)
        return result

    def _read(self) -> Tensor:
        result: Tensor = ops.read_variable_op(self._handle, dtype=self._dtype)
        return result

    def value(self) -> Tensor:
        """The value where this is called, or the cached one."""
        if self._cached_value is not None:
            return self._cached_value
        graph = get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._handle.device):
            return self._read()

    def read_value(self) -> Tensor:
        """The value at the place in the graph where this is called."""
        with name_scope("Read"):
            with get_default_graph().device(self._handle.device):
                value = self._read()
        return identity(value)

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(shape)
        self._handle._handle_dims = self._shape._dims

    def _ref(self) -> Tensor:
        raise TypeError(f"{self.name!r} is a resource variable and has no reference")

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Any:
        del name
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for variable of "
                f"type {self.dtype.name!r}"
            )
        return self.read_value().op.inputs[0] if as_ref else self.value()

    def _assigned(self, op: Operation, read_value: bool) -> Any:
        """What assignments give: a variable whose value is read after them."""
        return UnreadVariable(self, op) if read_value else op

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Sets the variable when run."""
        del use_locking
        value = convert_to_tensor(value, dtype=self.dtype)
        self._shape.assert_is_compatible_with(value.shape)
        op = ops.assign_variable_op(self._handle, value, name=name)
        return self._assigned(op, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to the variable when run."""
        del use_locking
        delta = convert_to_tensor(delta, dtype=self.dtype)
        op = ops.assign_add_variable_op(self._handle, delta, name=name)
        return self._assigned(op, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the variable when run."""
        del use_locking
        delta = convert_to_tensor(delta, dtype=self.dtype)
        op = ops.assign_sub_variable_op(self._handle, delta, name=name)
        return self._assigned(op, read_value)

    def count_up_to(self, limit: int) -> Tensor:
        """Gives the value and increments it until it reaches `limit`."""
        result: Tensor = ops.resource_count_up_to_op(self._handle, limit=limit, T=self.dtype)
        return result

    def to_proto(self, export_scope: str | None = None) -> Any:
        """This as a `VariableDef`; None if it is outside `export_scope`."""
        from stillflow.protos import VariableDef

        if export_scope is not None and not self._handle.name.startswith(export_scope):
            return None
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        message = VariableDef(
            variable_name=without_scope(self._handle.name, export_scope),
            initializer_name=without_scope(self.initializer.name, export_scope),
            snapshot_name=without_scope(snapshot.name, export_scope),
            is_resource=True,
            trainable=self.trainable,
            synchronization=self.synchronization.value,
            aggregation=self.aggregation.value,
        )
        if self._initial_value is not None:
            message.initial_value_name = without_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            message.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return message

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> ResourceVariable:
        """The variable that a `VariableDef` describes, whose nodes are in the graph already."""
        return ResourceVariable(variable_def=variable_def, import_scope=import_scope)

    def _in_place_operator(self, *unused: Any) -> Any:
        raise RuntimeError("Variable += value not supported. Use `var.assign_add(value)`.")

    __iadd__ = _in_place_operator
    __isub__ = _in_place_operator
    __imul__ = _in_place_operator
    __itruediv__ = _in_place_operator


class UnreadVariable(ResourceVariable):
    """A variable after an assignment: reading it, or running it, runs the assignment first."""

    def __init__(self, variable: ResourceVariable, parent_op: Operation) -> None:
        self.__dict__.update(variable.__dict__)
        self._parent_op = parent_op
        self._cached_value = None

    @property
    def op(self) -> Operation:
        """The assignment."""
        return self._parent_op

    @property
    def name(self) -> str:
        return self._handle.name

    def _read(self) -> Tensor:
        with get_default_graph().control_dependencies([self._parent_op]):
            return super()._read()

    def value(self) -> Tensor:
        return self._read()

    def read_value(self) -> Tensor:
        return self._read()

    def _as_graph_element(self) -> Tensor:
        return self._read_once()

    def _read_once(self) -> Tensor:
        if "_own_element" not in self.__dict__:
            self._own_element = self._read()
        return self._own_element


def _convert(
    variable: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    return variable._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)


overload_operators(ResourceVariable)
register_tensor_conversion_function(ResourceVariable, _convert)
