"""Base class of all kinds of variables."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.graph import collection_protos
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.reference import Reference
from stillflow.graph.tensor_shape import TensorShape
from stillflow.util.notices import noticed

if TYPE_CHECKING:
    from stillflow.variables.scatter import ScatterMethods


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When a distributed variable is brought in line."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation", "compat.v2.VariableAggregation")
class VariableAggregation(enum.Enum):
    """Combination of updates of a distributed variable."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796 - the older name of the same value

    def __hash__(self) -> int:
        return hash(self.value)


def check_distribution(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: str | None
) -> tuple[Any, Any, bool]:
    """Fill in the defaults of how a variable is distributed."""
    try:
        aggregation = VariableAggregation(
            VariableAggregation.NONE if aggregation is None else aggregation
        )
    except ValueError:
        raise ValueError(
            f"Invalid variable aggregation mode: {aggregation} for variable: {name}"
        ) from None
    try:
        synchronization = VariableSynchronization(
            VariableSynchronization.AUTO if synchronization is None else synchronization
        )
    except ValueError:
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}"
        ) from None
    if trainable is None:
        trainable = synchronization != VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable


def check_arguments(collections: Any, constraint: Any, trainable: bool) -> list[str]:
    """Return the collections that a variable is added to."""
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
    return collections


class SaveSliceInfo:
    """Position of a variable as a part of a partitioned variable."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            name = save_slice_info_def.full_name
            self.full_name: str | None = f"{import_scope}/{name}" if import_scope else name
            self.full_shape: Any = list(save_slice_info_def.full_shape)
            self.var_offset: Any = list(save_slice_info_def.var_offset)
            self.var_shape: Any = list(save_slice_info_def.var_shape)
        else:
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape

    @property
    def spec(self) -> str:
        """The form in checkpoints: `4 5 0,2:0,5`."""
        shape = " ".join(str(size) for size in self.full_shape)
        slices = [f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True)]
        return f"{shape} {':'.join(slices)}"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a `SaveSliceInfoDef`; None if it is outside `export_scope`."""
        from stillflow.ops.control_flow.contexts import without_scope
        from stillflow.protos import SaveSliceInfoDef

        assert self.full_name is not None
        if export_scope is not None and not self.full_name.startswith(export_scope):
            return None
        return SaveSliceInfoDef(
            full_name=without_scope(self.full_name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


# Called by `tf.Variable(...)` and `tf.compat.v2.Variable(...)`.
create_variable: Hook[Callable[..., Any]] = Hook("variables.base.create_variable")
create_variable_v2: Hook[Callable[..., Any]] = Hook("variables.base.create_variable_v2")


class _VariableMeta(type):
    """`tf.Variable(...)` makes a reference or resource variable; both are `tf.Variable`s."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Variable:
            return create_variable.value(*args, **kwargs)
        if cls is VariableV2:
            return create_variable_v2.value(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature | None:
        """The signature for `help` and editors, since `__call__` takes anything."""
        makers = {Variable: create_variable.value, VariableV2: create_variable_v2.value}
        return inspect.signature(makers[cls]) if cls in makers else None


@export("compat.v2.Variable")
class VariableV2(metaclass=_VariableMeta):
    """A value that lives in the session and that operations change.

    Called as a constructor it takes the arguments of `creation.py:create_variable_v2`.
    """

    __array_priority__ = 100
    is_tensor_like = True
    SaveSliceInfo = SaveSliceInfo

    _initial_value: Any
    _initializer_op: Any
    _trainable: bool
    _synchronization: Any
    _aggregation: Any
    _constraint: Any
    _save_slice_info: Any = None  # a SaveSliceInfo, for a part of a partitioned variable

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @property
    def name(self) -> str:
        """The name of the variable's tensor, `scope/name:0`."""
        raise NotImplementedError

    @property
    def op(self) -> Operation:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        raise NotImplementedError

    def value(self) -> Tensor:
        raise NotImplementedError

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows that `indices` name, of variables that can be read in part.

        Raises:
          AttributeError: if this one cannot: `tf.gather` reads it whole then.
        """
        raise AttributeError

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements or slices that rows of `indices` name.

        Raises:
          AttributeError: as `sparse_read` does; `tf.gather_nd` reads it whole then.
        """
        raise AttributeError

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def initializer(self) -> Operation:
        """The operation that gives the variable its initial value."""
        result: Operation = self._initializer_op
        return result

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns."""
        result: Tensor = self._initial_value
        return result

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function that optimizers project the variable with, or None."""
        return self._constraint

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")]

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self.shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self.shape._dims is None else list(self.shape._dims)

    def set_shape(self, shape: Any) -> None:
        """Narrows the static shape."""
        self.value().set_shape(shape)

    def eval(self, session: Any = None) -> Any:
        """Return the variable's value in `session` (or the default one)."""
        return self.value().eval(session=session)

    @noticed("compat.v2.Variable")
    def initialized_value(self) -> Tensor:
        """Return the value if there is one when the graph runs, else the initial value."""
        from stillflow.graph.api import init_scope
        from stillflow.graph.graph import get_default_graph
        from stillflow.ops.control_flow.cond import cond
        from stillflow.variables.state_ops import is_variable_initialized

        if get_default_graph().runs_at_once:
            return self.read_value()
        with init_scope():
            result: Tensor = cond(
                is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )
        return result

    def read_value(self) -> Tensor:
        raise NotImplementedError

    @noticed("compat.v2.Variable")
    def load(self: Any, value: Any, session: Any = None) -> None:
        """Set the variable in `session` (or the default one) without adding to the graph.

        Raises:
          ValueError: if there is no session, or the shape of the value does not fit.
        """
        from stillflow.graph.default_session import get_default_session
        from stillflow.graph.graph import get_default_graph

        if get_default_graph().runs_at_once:
            self.assign(value)
            return
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    def _to_proto(self, export_scope: str | None) -> Any:
        """Return a `VariableDef` with the fields of all kinds of variables."""
        from stillflow.ops.control_flow.contexts import without_scope
        from stillflow.protos import VariableDef

        message = VariableDef(
            initializer_name=without_scope(self.initializer.name, export_scope),
            trainable=self.trainable,
            synchronization=self.synchronization.value,
            aggregation=self.aggregation.value,
        )
        if self._initial_value is not None:
            message.initial_value_name = without_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            message.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return message

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"VARIABLE_VALUE": self}

    def experimental_ref(self) -> Any:
        """Return a hashable reference to this variable."""
        return Reference(self)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> ScatterMethods:
        """Return the variable that a `VariableDef` describes.

        Its nodes are in the graph already.
        """
        from stillflow.variables.ref_variable import RefVariable
        from stillflow.variables.resource_variable import ResourceVariable

        kind = ResourceVariable if variable_def.is_resource else RefVariable
        return kind(variable_def=variable_def, import_scope=import_scope)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


@export("Variable")
class Variable(VariableV2):
    """A value that lives in the session and that operations change.

    Called as a constructor it takes the arguments of `creation.py:create_variable`.

    Example:
      >>> v, sess = tf.Variable([1, 2], name="v"), tf.Session()
      >>> print(sess.run(v.initializer), sess.run(v.assign_add([10, 10])))
      None [11 12]
    """


collection_protos.variable.provide(Variable)


def to_tensor(
    variable: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Return the conversion of variables to tensors."""
    del name
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    result: Tensor = variable._ref() if as_ref else variable.value()
    return result


def overload_operators(kind: Any) -> None:
    """Give a variable class the operators of tensors, applied to its value."""
    import stillflow.ops  # noqa: F401 - attaches the operators

    for operator in Tensor.OVERLOADABLE_OPERATORS:
        if operator in ("__eq__", "__ne__"):
            continue
        function = getattr(Tensor, operator, None)
        if function is not None:
            setattr(kind, operator, _on_value(function))
    setattr(kind, "__getitem__", _slice)  # noqa: B010 - mypy: classes take no item assignment


def _on_value(function: Any) -> Callable[..., Any]:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self.value(), *args, **kwargs)

    return functools.update_wrapper(apply, function)


def _slice(self: Any, slice_spec: Any) -> Tensor:
    from stillflow.ops.arrays.indexing import slice_helper

    return slice_helper(self.value(), slice_spec, self)


overload_operators(VariableV2)
