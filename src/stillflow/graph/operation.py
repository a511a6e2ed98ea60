"""Operations and the tensors they give: the nodes and edges of a graph."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.errors import OperatorNotAllowedInGraphError, is_ours
from stillflow.graph import attrs as attr_values
from stillflow.graph.autograph_status import Status, control_status_ctx
from stillflow.graph.code_location import CodeLocation, device_text
from stillflow.graph.device import canonical
from stillflow.graph.dims import merge
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.reference import Reference
from stillflow.graph.tensor_shape import TensorShape, shape_from_dims

if TYPE_CHECKING:
    from stillflow.graph.card import Card
    from stillflow.graph.graph import Graph

# Comparisons element by element.
equal: Hook[Callable[[Any, Any], Any]] = Hook("graph.operation.equal")
not_equal: Hook[Callable[[Any, Any], Any]] = Hook("graph.operation.not_equal")

# Parts of `Operation` and `Tensor` that build on graphs and the building of operations.
fill: Hook[Callable[..., None]] = Hook("graph.operation.fill")
input_types: Hook[Callable[[Card, dict[str, Any]], list[DType]]] = Hook(
    "graph.operation.input_types"
)
update_input: Hook[Callable[[Operation, int, Tensor], None]] = Hook("graph.operation.update_input")
compared_by_value: Hook[Callable[[Tensor], bool]] = Hook("graph.operation.compared_by_value")

Frames = list[tuple[CodeType, int]]


def caller_frames() -> Frames:
    """Return the stack of the code that is building the graph, innermost first, kept cheaply."""
    frames = []
    frame = sys._getframe(3)
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return frames


def _not_in_graph(task: str) -> TypeError:
    status = control_status_ctx().status
    if status is Status.ENABLED:
        why = (
            ": AutoGraph did not convert this function. Try decorating it directly with "
            "@tf.function."
        )
    elif status is Status.DISABLED:
        why = (
            ": AutoGraph is disabled in this function. Try decorating it directly with "
            "@tf.function."
        )
    else:
        why = (
            " in Graph execution. Use Eager execution or decorate this function with @tf.function."
        )
    return OperatorNotAllowedInGraphError(f"{task} is not allowed{why}")


class _Number:
    """The number of a tensor: later ones of a graph have higher ones."""

    def __get__(self, tensor: Any, owner: Any) -> Any:
        return self if tensor is None else (tensor.op._id << 16) + tensor.value_index


@export("Tensor")
class Tensor:
    """Symbolic output of an `Operation`, which `sess.run` fetches and feeds.

    Attributes:
      op: the operation that gives it.
      value_index: its position among that operation's outputs.
      dtype: the type of its elements.

    Example:
      >>> x = tf.constant([[1.0, 2.0]], name="x")
      >>> isinstance(x, tf.Tensor), x.name, x.dtype.name, x.shape.as_list(), x.op.type
      (True, 'x:0', 'float32', [1, 2], 'Const')
    """

    __array_priority__ = 100
    OVERLOADABLE_OPERATORS: set[str] = set()
    _USE_EQUALITY = False  # whether tensors outside of graphs are compared by value
    # Whether it holds its value, as do the tensors of operations that ran when they were called.
    holds_value = False
    _id: Any = _Number()  # those that hold their values have numbers of their own
    # The target of a resource handle: the variable's static shape and type.
    _handle_dims: tuple[int | None, ...] | None = None
    _handle_dtype: DType | None = None

    if TYPE_CHECKING:  # the ops layer brings them

        def __add__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = __add__
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __add__
        __div__ = __rdiv__ = __pow__ = __rpow__ = __add__
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__
        __abs__ = __invert__ = __neg__

    def __init__(self, op: Operation, value_index: int, dtype: DType) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._dims: tuple[int | None, ...] | None = None
        self._consumers: list[Operation] = []

    @property
    def _op(self) -> Operation:
        return self.op

    @property
    def _dtype(self) -> DType:
        return self.dtype

    @property
    def _value_index(self) -> int:
        return self.value_index

    @property
    def name(self) -> str:
        """`operation_name:output_index`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def home(self) -> Graph | None:
        """The graph of the tensor; None for an eager tensor, which is in none."""
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape as far as it is known."""
        return shape_from_dims(self._dims)

    @property
    def _shape(self) -> TensorShape:
        return self.shape

    @property
    def _rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    def get_shape(self) -> TensorShape:
        """Return the static shape as far as it is known."""
        return self.shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self._dims is None else list(self._dims)

    _shape_tuple = property(lambda self: lambda: self._dims)

    def set_shape(self, shape: Any) -> None:
        """Merge a shape that the caller knows into the static shape.

        Raises:
          ValueError: if `shape` contradicts the known shape.
        """
        self._dims = merge(self._dims, TensorShape(shape)._dims)

    def consumers(self) -> list[Operation]:
        """Return the operations that take this tensor as an input, once for each time they do."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run the graph up to this tensor in `session` (or the default one)."""
        return self.graph._session_for(session, "evaluate tensor").run(self, feed_dict)

    def _as_node_def_input(self) -> str:
        return self.op.name if self.value_index == 0 else self.name

    def _as_tf_output(self) -> Tensor:
        """Return the handle for functions of `pywrap_tensorflow`: the tensor itself."""
        return self

    def __iter__(self) -> Iterator[Tensor]:
        raise _not_in_graph("iterating over `tf.Tensor`")

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` "
            "rather than `len(x)` for shape information."
        )

    def __bool__(self) -> bool:
        raise _not_in_graph("using a `tf.Tensor` as a Python `bool`")

    __nonzero__ = __bool__

    def __array__(self, *unused: Any, **unused_too: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array."
        )

    def __copy__(self) -> Tensor:
        copy = Tensor(self.op, self.value_index, self.dtype)
        copy._dims = self._dims
        return copy

    def experimental_ref(self) -> Reference:
        """Return a hashable reference to this tensor."""
        return Reference(self)

    __hash__ = object.__hash__  # by identity, without a call in Python

    def __eq__(self, other: object) -> Any:
        if other is None or not self._is_compared_by_value():
            return self is other
        return equal.value(self, other)

    def __ne__(self, other: object) -> Any:
        if other is None or not self._is_compared_by_value():
            return self is not other
        return not_equal.value(self, other)

    def _is_compared_by_value(self) -> bool:
        """Return True if the program made `==` compare values here."""
        if not Tensor._USE_EQUALITY:
            return False
        return compared_by_value.value(self)

    @staticmethod
    def _override_operator(operator: str, func: Any) -> None:
        setattr(Tensor, operator, func)

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


@export("Operation")
class Operation:
    """A node of a graph. Usually made by calling an op card or `Graph.create_op`.

    Args:
      node_def: a `NodeDef` with its name, type, attributes and device.
      g: the graph it becomes part of.
      inputs: tensors.
      output_types: types of the outputs; they follow from the op's signature.
      control_inputs: operations or tensors that it runs after.
      input_types: types that the inputs must be compatible with.
      original_op: the operation it stands for.
      op_def: has no effect: Stillflow knows the op's signature.

    Raises:
      TypeError: if an argument is of the wrong kind or the inputs are of the wrong types.
      ValueError: if the name is not valid.
    """

    def __init__(
        self,
        node_def: Any,
        g: Any,
        inputs: Any = None,
        output_types: Any = None,
        control_inputs: Any = None,
        input_types: Any = None,
        original_op: Any = None,
        op_def: Any = None,
    ) -> None:
        del output_types, op_def
        fill.value(self, node_def, g, inputs, control_inputs, input_types, original_op)

    @classmethod
    def _of_card(
        cls,
        card: Card,
        graph: Graph,
        name: str,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        control_inputs: list[Operation],
    ) -> Operation:
        """Return an operation of checked parts, not yet added to the graph."""
        op = cls.__new__(cls)
        op._build(card, graph, name, inputs, attrs, output_types, control_inputs)
        return op

    def _build(
        self,
        card: Card,
        graph: Graph,
        name: str,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        control_inputs: list[Operation],
    ) -> None:
        self.card = card
        self.graph = graph
        self.name = name
        self.type = card.name
        self.attrs = attrs
        self._inputs = inputs
        self._control_inputs = control_inputs
        self._control_outputs: list[Operation] = []
        self._device = ""
        self._values: list[Any] | None = None
        self._varies = False  # whether it is known that the values depend on more than constants
        self._original_op: Operation | None = None
        self._control_flow_context: Any = None
        self._device_scopes: tuple[CodeLocation, ...] = ()
        self._colocation_scopes: tuple[CodeLocation, ...] = ()
        self._gradient_function: Any = None
        self._id = 0
        self._outputs = [Tensor(self, i, dtype) for i, dtype in enumerate(output_types)]
        for tensor in inputs:
            tensor._consumers.append(self)
        for op in control_inputs:
            op._control_outputs.append(self)
        self._frames = [] if graph.runs_at_once else caller_frames()

    @property
    def _id_value(self) -> int:
        return self._id

    @property
    def inputs(self) -> _InputList:
        """The data inputs, in the signature's order."""
        return _InputList(self._inputs)

    @property
    def outputs(self) -> list[Tensor]:
        return self._outputs

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that run before this one although it takes no data from them."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        return self._device

    def _set_device(self, device: Any) -> None:
        self._device = canonical(device)

    _set_device_from_string = _set_device

    @property
    def _input_types(self) -> list[DType]:
        """The types of its inputs: references where it changes them."""
        return input_types.value(self.card, self.attrs)

    @property
    def _output_types(self) -> list[DType]:
        return [tensor.dtype for tensor in self._outputs]

    @property
    def _is_stateful(self) -> bool:
        return self.card.signature.is_stateful

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    @property
    def _device_assignments(self) -> list[CodeLocation]:
        """The device scopes it was made in, innermost first."""
        return [
            CodeLocation(device_text(scope.obj), scope.filename, scope.lineno)
            for scope in reversed(self._device_scopes)
        ]

    @property
    def _colocation_dict(self) -> dict[str, CodeLocation]:
        """The program lines of the colocations, by name; innermost first."""
        scopes = reversed(self._colocation_scopes)
        return {scope.obj.name: scope.copy_metadata() for scope in scopes}

    def colocation_groups(self) -> list[bytes]:
        """Return the `loc:@name` groups this operation is placed with."""
        own = f"loc:@{self.name}".encode()
        groups = [c for c in self.attrs.get("_class", ()) if c.startswith(b"loc:@")]
        return groups or [own]

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self._outputs)

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute: DType for types, protos for shapes and tensors.

        Raises:
          ValueError: if the operation has no attribute `name`.
        """
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return attr_values.public_value(self.attrs[name])

    def attr_kind(self, name: str) -> str | None:
        """Return the declared kind of an attribute, such as "list(type)"; None if undeclared."""
        attr = self.card.signature.attrs.get(name)
        return None if attr is None else attr.kind

    def _set_attr(self, name: str, value: Any) -> None:
        """Set an attribute from an `AttrValue` message."""
        self.attrs[name] = attr_values.from_proto(value, self.attr_kind(name))

    def _update_input(self, index: int, tensor: Tensor) -> None:
        update_input.value(self, index, tensor)

    def _add_control_inputs(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            self._add_control_input(op)

    def _add_control_input(self, op: Operation) -> None:
        if op not in self._control_inputs:
            self._control_inputs.append(op)
            op._control_outputs.append(self)
            self.graph._changed()

    def _remove_all_control_inputs(self) -> None:
        for op in self._control_inputs:
            op._control_outputs.remove(self)
        self._control_inputs = []
        self.graph._changed()

    @property
    def node_def(self) -> Any:
        """The operation as a `NodeDef` message."""
        from stillflow.graph.graphdef import node_def

        return node_def(self)

    @property
    def _node_def(self) -> Any:
        return self.node_def

    @property
    def op_def(self) -> Any:
        """The op's signature as an `OpDef` message."""
        from stillflow.graph.graphdef import op_def

        return op_def(self.card.signature)

    @property
    def traceback(self) -> list[tuple[str, int, str, str | None]]:
        """The stack where it was created, outermost first: (file, line, function, source text)."""
        from linecache import getline

        return [
            (code.co_filename, line, code.co_name, getline(code.co_filename, line).strip())
            for code, line in self._from_program_on()
        ]

    def _from_program_on(self) -> list[Any]:
        """Return the frames from the program's own on: not those of the launcher, around it."""
        frames = list(reversed(self._frames))
        outside = itertools.takewhile(lambda frame: is_ours(frame[0].co_filename), frames)
        return frames[sum(1 for _ in outside) :] or frames

    @property
    def _traceback(self) -> list[tuple[str, int, str, str | None]]:
        return self.traceback

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str | None, int]]:
        """`traceback` with the first line of each function."""
        starts = [code.co_firstlineno for code, _ in self._from_program_on()]
        return [(*frame, start) for frame, start in zip(self.traceback, starts, strict=True)]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the graph up to this operation in `session` (or the default one)."""
        self.graph._session_for(session, "execute operation").run(self, feed_dict)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class _InputList(tuple):  # type: ignore[type-arg]
    """An operation's inputs; lists can be added to it and compared with it, as in TF."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return list(self) + list(other)

    def __radd__(self, other: Any) -> list[Any]:
        return list(other) + list(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, list)) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__
