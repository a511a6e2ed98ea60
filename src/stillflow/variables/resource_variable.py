"""Resource variables: `tf.Variable(..., use_resource=True)`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.graph import dtypes, tapes
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.functions import uid
from stillflow.graph.graph import get_default_graph, has_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math import cast as casts
from stillflow.ops.variables import resource as ops
from stillflow.util.notices import noticed
from stillflow.variables.accesses import variable_accessed
from stillflow.variables.base import (
    SaveSliceInfo,
    Variable,
    check_arguments,
    check_distribution,
)
from stillflow.variables.copying import Copies
from stillflow.variables.initial_values import check_first_value, guarded
from stillflow.variables.scatter import ResourceScatterMethods

# Called with every variable that is made where operations run when they are called.
creation_hooks: list[Callable[[Any], None]] = []


def is_resource_variable(var: Any) -> bool:
    """Return True if `var` is a variable behind a resource handle."""
    return isinstance(var, BaseResourceVariable) or hasattr(var, "_should_act_as_resource_variable")


def variable_shape(handle: Tensor, out_type: Any = dtypes.int32) -> Tensor:
    """Return the shape of the variable behind a handle: a constant if it is known."""
    known = handle._handle_dims
    if known is None or None in known:
        result: Tensor = ops.variable_shape_op(handle, out_type=out_type)
        return result
    return constant(list(known), dtype=out_type)


def _graph_of(handle: Tensor) -> Any:
    """Return a context in a variable's graph, unless another graph is the default one."""
    if handle.holds_value or has_default_graph():
        return contextlib.nullcontext()
    return handle.graph.as_default()


class BaseResourceVariable(Copies, ResourceScatterMethods, Variable):
    """Base of resource variables and their assigned forms."""

    _is_resource_variable = True
    _in_graph_mode = True

    _handle: Tensor
    _handle_name: str
    _dtype: DType
    _shape: TensorShape
    _graph_element: Any
    _cached_value: Tensor | None = None
    _is_initialized_op: Any = None

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
    def graph(self) -> Any:
        return self._handle.graph

    @property
    def device(self) -> str:
        return self._handle.device

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def create(self) -> Operation:
        """The initializer."""
        return self.initializer

    @property
    def _shared_name(self) -> str:
        return self._handle_name[: self._handle_name.index(":")]

    @property
    def initializer(self) -> Operation:
        """The operation that gives the variable its initial value; None if it has it already."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns.

        Raises:
          RuntimeError: if the variable was made where operations run when they are called.
        """
        self._refuse_eager("initial_value not supported in EAGER mode.")
        return self._initial_value

    def _refuse_eager(self, message: str) -> None:
        if self._handle.holds_value:
            raise RuntimeError(message)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return True if there is a value when the graph runs."""
        result: Tensor = ops.var_is_initialized_op(self._handle, name=name)
        return result

    def _read_variable_op(self) -> Tensor:
        variable_accessed(self)
        result: Tensor = ops.read_variable_op(self._handle, dtype=self._dtype)
        if not result.holds_value and all(
            each is not self._handle for each in result.op._inputs
        ):  # within a loop it is the loop's input, in a body that reads by value a constant
            tapes.record("ReadVariableOp", [result], [self._handle], lambda grad: [grad])
        return result

    def value(self) -> Tensor:
        """Return the value where this is called, or the cached one."""
        if self._cached_value is not None:
            return self._cached_value
        graph = get_default_graph()
        if graph.runs_at_once:
            return self._read_variable_op()
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._handle.device):
            return self._read_variable_op()

    def read_value(self) -> Tensor:
        """Return the value at the place in the graph where this is called."""
        if get_default_graph().runs_at_once:
            return identity(self._read_variable_op())
        with name_scope("Read"), get_default_graph().device(self._handle.device):
            value = self._read_variable_op()
        return identity(value)

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def eval(self, session: Any = None) -> Any:
        """Return the variable's value in `session` (or the default one)."""
        self._refuse_eager("Trying to eval in EAGER mode")
        return self._graph_element.eval(session=session)

    def numpy(self) -> Any:
        """Return the value as an array, where operations run when they are called.

        Raises:
          NotImplementedError: elsewhere.
        """
        if get_default_graph().runs_at_once:
            return self.read_value().numpy()  # type: ignore[attr-defined]
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        if dtype is None and not get_default_graph().runs_at_once:
            alone = np.empty((), object)  # in graphs NumPy takes a variable for some object
            alone[()] = self
            return alone
        return self.numpy().__array__(dtype)

    def set_shape(self, shape: Any) -> None:
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        del name
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for variable of "
                f"type {self.dtype.name!r}"
            )
        return self.read_value().op.inputs[0] if as_ref else self.value()

    def _lazy_read(self, op: Operation) -> UnreadVariable:
        """Return the result of assignments: a variable whose value is read after them."""
        return UnreadVariable(self._handle, self._dtype, self._shape, op)

    @contextlib.contextmanager
    def _assign_dependencies(self) -> Iterator[None]:
        """Return a context in which a cached value is read before the variable changes."""
        if self._cached_value is None:
            yield
            return
        with get_default_graph().control_dependencies([self._cached_value]):
            yield

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assign a value when run; return the variable read afterwards, or the operation."""
        del use_locking
        with _graph_of(self._handle):
            value = convert_to_tensor(value, dtype=self.dtype)
            self._shape.assert_is_compatible_with(value.shape)
            op = ops.assign_variable_op(self._handle, value, name=name)
            return self._lazy_read(op) if read_value else op

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add to the variable when run."""
        del use_locking
        with _graph_of(self._handle), self._assign_dependencies():
            delta = convert_to_tensor(delta, dtype=self.dtype)
            op = ops.assign_add_variable_op(self._handle, delta, name=name)
        return self._lazy_read(op) if read_value else op

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the variable when run."""
        del use_locking
        with _graph_of(self._handle), self._assign_dependencies():
            delta = convert_to_tensor(delta, dtype=self.dtype)
            op = ops.assign_sub_variable_op(self._handle, delta, name=name)
        return self._lazy_read(op) if read_value else op

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: str | None, **masks: int
    ) -> UnreadVariable:
        with _graph_of(self._handle), self._assign_dependencies():
            return super()._strided_slice_assign(begin, end, strides, value, name, **masks)

    @noticed("contrib.eager.Variable")
    def count_up_to(self, limit: int) -> Tensor:
        """Return the value and increment it until it reaches `limit`."""
        result: Tensor = ops.resource_count_up_to_op(self._handle, limit=limit, T=self.dtype)
        return result

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a `VariableDef`; None if it is outside `export_scope`."""
        self._refuse_eager("to_proto not supported in EAGER mode.")
        if export_scope is not None and not self._handle.name.startswith(export_scope):
            return None
        message = self._to_proto(export_scope)
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        message.variable_name = without_scope(self._handle.name, export_scope)
        message.snapshot_name = without_scope(snapshot.name, export_scope)
        message.is_resource = True
        return message

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> ResourceVariable:
        """Return the variable that a `VariableDef` describes.

        Its nodes are in the graph already.
        """
        return ResourceVariable(variable_def=variable_def, import_scope=import_scope)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        return int(self.value())  # type: ignore[call-overload]

    def __float__(self) -> float:
        return float(self.value())  # type: ignore[arg-type]

    def __repr__(self) -> str:
        if not get_default_graph().runs_at_once or not self._handle.holds_value:
            return super().__repr__()
        text = self.read_value()._text(repr)  # type: ignore[attr-defined]
        head = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        return f"{head}, numpy={text}>"

    def __copy__(self) -> BaseResourceVariable:
        return self


@export("contrib.eager.Variable")
class ResourceVariable(BaseResourceVariable):
    """A variable behind a VarHandleOp. Arguments are those of `tf.Variable`."""

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
        del validate_shape
        self._distribute_strategy = distribute_strategy
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            synchronization, aggregation, trainable, name
        )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        check_first_value(initial_value)
        collections = check_arguments(collections, constraint, self._trainable)
        self._constraint = constraint
        with init_scope():
            if get_default_graph().runs_at_once:
                self._create_now(name, initial_value, dtype, caching_device, shape)
                if GraphKeys.GLOBAL_STEP in collections:
                    get_default_graph().add_to_collection(GraphKeys.GLOBAL_STEP, self)
                return
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._create(scope, initial_value, dtype, caching_device, shape)
            get_default_graph().add_to_collections(collections, self)

    def _create_now(
        self, name: str | None, initial_value: Any, dtype: Any, caching_device: Any, shape: Any
    ) -> None:
        """Make the variable and give it its value, where operations run when they are called."""
        with name_scope(name, "Variable") as scope:
            self._handle_name = scope[:-1] + ":0"
            self._unique_id = f"{scope[:-1]}_{uid()}"
            with name_scope("Initializer"):
                made = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(made, name="initial_value", dtype=dtype)
            self._set_shape_and_type(value, shape)
            self._handle = ops.var_handle_op(shape=self._shape, dtype=self._dtype)
            self._handle._held.name = scope[:-1]  # type: ignore[attr-defined]
        ops.assign_variable_op(self._handle, value)
        self._in_graph_mode = False
        self._initial_value = self._initializer_op = self._graph_element = None
        if caching_device is not None:
            self._cached_value = self._read_variable_op()
        for tell in creation_hooks:
            tell(self)

    def _set_shape_and_type(self, value: Tensor, shape: Any) -> None:
        self._shape = value.shape if shape is None else as_shape(shape)
        if not value.shape.is_compatible_with(self._shape):
            raise ValueError(
                f"The initial value's shape ({value.shape}) is not compatible with the "
                f"explicitly supplied `shape` argument ({shape})."
            )
        self._dtype = value.dtype.base_dtype

    def _create(
        self, scope: str, initial_value: Any, dtype: Any, caching_device: Any, shape: Any
    ) -> None:
        graph = get_default_graph()
        name = self._unique_id = scope[:-1]
        self._handle_name = name + ":0"
        with graph._attr_scope({"_class": [f"loc:@{name}".encode()]}):
            with name_scope("Initializer"), graph.device(None):
                made = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(made, name="initial_value", dtype=dtype)
            self._set_shape_and_type(value, shape)
            self._handle = ops.var_handle_op(
                shape=self._shape, dtype=self._dtype, shared_name=name, name=scope
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
            name_scope("Assign") as assign_name,
            graph.colocate_with(None, ignore_existing=True),
            graph.device(self._handle.device),
        ):
            self._initializer_op = ops.assign_variable_op(
                self._handle, guarded(scope, value), name=assign_name
            )
        with name_scope("Read"):
            with graph.device(self._handle.device):
                self._graph_element = self._read_variable_op()
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
        self._handle_name = self._unique_id = self._handle.name
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
        if snapshot is None:
            snapshot = graph.get_tensor_by_name(self._handle.op.name + "/Read/ReadVariableOp:0")
        elif snapshot.op.type != "ReadVariableOp":
            self._cached_value = snapshot
        self._graph_element = _read_behind(snapshot)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._constraint = None


def _read_behind(snapshot: Tensor) -> Tensor:
    """Return the ReadVariableOp's output that a snapshot hands on; ValueError if there is none."""
    tensor, seen = snapshot, set()
    while tensor.op.type != "ReadVariableOp":
        if tensor.op in seen or not tensor.op.inputs:
            raise ValueError(f"{snapshot.name!r} is not a snapshot of a variable: it reads none")
        seen.add(tensor.op)
        tensor = tensor.op.inputs[0]
    return tensor


class UninitializedVariable(BaseResourceVariable):
    """A handle and a way to read it, for graphs whose variables are initialized elsewhere."""

    def __init__(
        self,
        trainable: bool | None = None,
        caching_device: Any = None,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        **unused: Any,
    ) -> None:
        del caching_device, unused
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            synchronization, aggregation, trainable, name
        )
        self._constraint, self._initial_value, self._initializer_op = constraint, None, None
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)
        graph = get_default_graph()
        with init_scope(), name_scope(name, "Variable") as scope:
            self._handle_name = scope[:-1] + ":0"
            if get_default_graph().runs_at_once:  # others of this name are other variables
                self._unique_id = f"{scope[:-1]}_{uid()}"
                self._handle = ops.var_handle_op(shape=self._shape, dtype=self._dtype)
                self._handle._held.name = scope[:-1]  # type: ignore[attr-defined]
                self._in_graph_mode, self._graph_element = False, None
                return
            self._handle = ops.var_handle_op(
                shape=self._shape, dtype=self._dtype, shared_name=scope[:-1], name=scope
            )
            with name_scope("Read"), graph.device(self._handle.device):
                self._graph_element = self._read_variable_op()
            graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, self)


def copy_to_graph_uninitialized(var: Any) -> UninitializedVariable:
    """Return a variable in the default graph that is like `var` but has no initializer."""
    return UninitializedVariable(
        trainable=var.trainable,
        constraint=var._constraint,
        shape=var.shape,
        dtype=var.dtype,
        name=var._shared_name,
        synchronization=var.synchronization,
        aggregation=var.aggregation,
    )


class UnreadVariable(BaseResourceVariable):
    """A variable after an assignment: reading it, or running it, runs the assignment first."""

    _graph_element: Any

    def __init__(self, handle: Tensor, dtype: DType, shape: TensorShape, parent_op: Any) -> None:
        self._synchronization, self._aggregation, self._trainable = check_distribution(
            None, None, None, None
        )
        self._constraint = None
        self._initial_value = None
        self._initializer_op = None
        self._handle, self._dtype, self._shape = handle, dtype, shape
        self._parent_op = parent_op
        if parent_op is None:  # it ran
            self._handle_name, self._graph_element = "UnreadVariable", None
            return
        self._handle_name = "UnreadVariable" if handle.holds_value else handle.name
        # A graph's nodes are all run by sessions; in functions the variable is read only when used.
        building = get_default_graph().building_function
        self._graph_element = None if building else self._read_variable_op()

    @property
    def op(self) -> Any:
        """The assignment; None if it ran when it was called."""
        return self._parent_op

    @property
    def name(self) -> str:
        return self._handle_name if self._parent_op is None else self._parent_op.name

    def _read_variable_op(self) -> Tensor:
        if self._parent_op is None:
            return super()._read_variable_op()
        # Tapes know the variable itself, not the result of an assignment to it.
        with get_default_graph().control_dependencies([self._parent_op]):
            result: Tensor = ops.read_variable_op(self._handle, dtype=self._dtype)
            return result

    def value(self) -> Tensor:
        return self._read_variable_op()

    def read_value(self) -> Tensor:
        return self._read_variable_op()


def _convert(
    variable: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return variable._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)


def _refuse(operator: str, advice: str) -> Callable[..., Any]:
    def in_place(self: Any, unused_other: Any) -> Any:
        raise RuntimeError(f"Variable {operator}= value not supported. Use {advice}")

    return in_place


def _reject_in_place_operators(kind: Any) -> None:
    for symbol, name, verb in (("+", "iadd", "add"), ("-", "isub", "sub")):
        advice = (
            f"variable.assign_{verb}(value) to modify the variable value and variable = variable "
            f"{symbol} value to get a new Tensor object."
        )
        setattr(kind, f"__{name}__", _refuse(symbol, advice))
    for symbol, name in (("*", "imul"), ("/", "itruediv"), ("**", "ipow")):
        advice = (
            f"`var.assign(var {symbol} value)` to modify the variable or `var = var {symbol} "
            "value` to get a new Tensor object."
        )
        setattr(kind, f"__{name}__", _refuse(symbol, advice))


_reject_in_place_operators(BaseResourceVariable)
register_tensor_conversion_function(BaseResourceVariable, _convert)
casts.resource_variable_types = (ResourceVariable,)
