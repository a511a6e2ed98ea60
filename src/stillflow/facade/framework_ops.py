"""Names of ``tensorflow.python.framework.ops`` that mean little or something else here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from stillflow.eager.eager_tensor import EagerTensor as EagerTensor
from stillflow.graph import api, dtypes
from stillflow.graph import graph as graphs
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nest import flatten
from stillflow.ops.constants import shape_as_tensor
from stillflow.variables.base import Variable


def fft_kernel_label_map() -> Any:
    """Return the context of a test of Fourier transforms: there is one kernel for each."""
    return graphs.get_default_graph()._kernel_label_map({})


class RegisterShape:
    """Decorates shape functions, which TensorFlow has ignored since 1.8."""

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return f


def call_cpp_shape_fn(op: Any, require_shape_fn: bool = True) -> dict[str, Any]:
    """Return the shapes of an operation's outputs; they are known as soon as it is made."""
    return {"shapes": [output.shape for output in op.outputs]}


def unknown_shape(op: Any) -> list[TensorShape]:
    """Return shapes of which nothing is known, one for each output."""
    return [TensorShape(None) for _ in op.outputs]


def scalar_shape(unused_op: Any) -> list[TensorShape]:
    """Return the shape of one scalar."""
    return [TensorShape([])]


def broadcast_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Return the shape of the result of two shapes broadcast to each other."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return TensorShape(None)
    sizes = _broadcast(shape_x, shape_y)
    if sizes is None:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}")
    return TensorShape(sizes)


def is_broadcast_compatible(shape_x: TensorShape, shape_y: TensorShape) -> bool:
    """Return True if two shapes, both of known rank, can be broadcast to each other."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    return _broadcast(shape_x, shape_y) is not None


def _broadcast(shape_x: TensorShape, shape_y: TensorShape) -> list[int | None] | None:
    """Return the sizes of the result, None where they do not fit."""
    sizes: list[int | None] = []
    ends = (reversed(shape_x.as_list()), reversed(shape_y.as_list()))
    for x, y in itertools.zip_longest(*ends, fillvalue=1):
        if x is None or y is None:
            # An unknown size has to be 1, or the same as a known one above 1.
            known = [size for size in (x, y) if size is not None and size > 1]
            sizes.append(known[0] if known else None)
        elif x == y or 1 in (x, y):
            sizes.append(y if x == 1 else x)
        else:
            return None
    return sizes[::-1]


def shape_to_tensor(
    s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Return a shape as a constant."""
    return shape_as_tensor(s, dtype, name)


def variable_to_proto(v: Any, export_scope: str | None = None) -> Any:
    """Return a variable as a `VariableDef`."""
    return v.to_proto(export_scope=export_scope)


def variable_from_proto(v: Any, import_scope: str | None = None) -> Any:
    """Return the variable that a `VariableDef` describes."""
    return Variable.from_proto(v, import_scope=import_scope)


_uids = itertools.count()


def uid() -> int:
    """Return an integer that nothing else in this process was given."""
    return next(_uids)


def internal_convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
    ctx: Any = None,
    accepted_result_types: Any = (Tensor,),
) -> Tensor:
    """Return `value` as a tensor; with `as_ref`, a variable as its reference."""
    return convert_to_tensor(
        value,
        dtype,
        name,
        as_ref,
        preferred_dtype,
        accepted_result_types=accepted_result_types,
        ctx=ctx,
    )


def create_c_op(graph: Any, node_def: Any, inputs: Any, control_inputs: Any) -> Any:
    """Describe an operation; methods of the graph add it."""

    def add() -> Any:
        with graph.control_dependencies(control_inputs), graph.device(node_def.device):
            name = f"{node_def.name}/"
            return graph.create_op(node_def.op, flatten(inputs), name=name, attrs=node_def.attr)

    graph._c_ops.append(add)
    return add


def _set_call_cpp_shape_fn(call_cpp_shape_fn: Any) -> None:
    """Do nothing: shapes are found by the operations' own rules."""


class NullContextmanager:
    """A context that does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


class name_scope_v2:
    """A name scope that can be entered again, each time as a scope of its own."""

    def __init__(self, name: str) -> None:
        if not name:
            raise ValueError("name_scope name must be a non-empty string.")
        self._name = name
        self._entered: list[Any] = []

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> str:
        scope = api.name_scope(self._name)
        name = scope.__enter__()
        self._entered.append(scope)
        return name

    def __exit__(self, *details: Any) -> None:
        self._entered.pop().__exit__(*details)


def convert_to_tensor_or_composite(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return `value` as a tensor, or as a composite tensor if it is or becomes one."""
    if isinstance(value, CompositeTensor):
        own: Any = getattr(value, "dtype", None)
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(own):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor "
                f"with dtype {own.name}: {str(value)!r}"
            )
        return value
    return convert_to_tensor(value, dtype, name, accepted_result_types=(Tensor, CompositeTensor))


def has_default_graph() -> bool:
    """Return whether a graph was made the default one in this thread."""
    return graphs.has_default_graph()


def get_name_scope() -> str:
    """Return the current name scope, without a final slash."""
    return graphs.get_default_graph().get_name_scope()


def dismantle_graph(graph: Any) -> None:
    """Do nothing: graphs are freed like other objects."""


def name_from_scope_name(name: str) -> str:
    """Return a scope's name without its final slash."""
    return name[:-1] if name.endswith("/") else name


@export("contrib.framework.strip_name_scope")
def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name, such as `^scope/a`, without a scope that it begins with."""
    if not export_scope or not isinstance(name, (str, bytes)):
        return name
    name = name.decode() if isinstance(name, bytes) else name
    mark, rest = _marked(name)
    prefix = export_scope.rstrip("/") + "/"
    return mark + rest[len(prefix) :].lstrip("/") if rest.startswith(prefix) else name


@export("contrib.framework.prepend_name_scope")
def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return a name, such as `^a`, inside of a scope; other texts unchanged."""
    if not import_scope or not isinstance(name, (str, bytes)):
        return name
    name = name.decode() if isinstance(name, bytes) else name
    mark, rest = _marked(name)
    return f"{mark}{import_scope.rstrip('/')}/{rest}"


def _marked(name: str) -> tuple[str, str]:
    """Split the mark of a control input or a colocation group from a name."""
    for mark in ("^", "loc:@"):
        if name.startswith(mark):
            return mark, name[len(mark) :]
    return "", name
