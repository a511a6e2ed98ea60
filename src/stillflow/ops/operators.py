"""The Python operators of tensors: `x + y`, `-x`, `x < y`, `x @ y`.

Importing any module of ops attaches them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.build import graph_of, has_symbolic
from stillflow.graph.card import get
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor

# Looked up when an operator is first used: these modules use operators themselves.
if TYPE_CHECKING:
    from stillflow.ops.arrays import indexing
    from stillflow.ops.linalg import matmul as matrices
    from stillflow.ops.math import binary, comparison, division, unary
else:
    binary = LazyModule("stillflow.ops.math.binary")
    comparison = LazyModule("stillflow.ops.math.comparison")
    division = LazyModule("stillflow.ops.math.division")
    matrices = LazyModule("stillflow.ops.linalg.matmul")
    indexing = LazyModule("stillflow.ops.arrays.indexing")
    unary = LazyModule("stillflow.ops.math.unary")

Function = Callable[[Any, Any, str], Any]


def _add(x: Any, y: Any, name: str) -> Tensor:
    card = binary.add_op if x.dtype.base_dtype == dtypes.string else binary.add_v2_op
    return card(x, y, name=name)


def _mul(x: Any, y: Any, name: str) -> Any:
    if isinstance(y, SparseTensor):
        return SparseTensor(y.indices, _sparse_mul(y, x, name), y.dense_shape)
    return binary.mul_op(x, y, name=name)


def _functions() -> dict[str, Function]:
    """Return the function that adds an operator's node, by operator without underscores.

    The name is that of the scope, too.
    """
    return {
        "add": _add,
        "sub": lambda x, y, name: binary.sub_op(x, y, name=name),
        "mul": _mul,
        "div": lambda x, y, name: division.div(x, y, name),
        "truediv": lambda x, y, name: division.truediv(x, y, name),
        "floordiv": lambda x, y, name: division.floordiv(x, y, name),
        "mod": lambda x, y, name: division.floor_mod_op(x, y, name=name),
        "pow": lambda x, y, name: binary.pow(x, y, name),
        "and": lambda x, y, name: comparison.logical_and_op(x, y, name=name),
        "or": lambda x, y, name: comparison.logical_or_op(x, y, name=name),
        "xor": lambda x, y, name: comparison.logical_xor(x, y, name),
        "matmul": lambda x, y, name: matrices.matmul(x, y, name=name),
    }


_BINARY = _functions()


def _in_scope(operator: str, x: Any, y: Any, make: Callable[[str], Any]) -> Tensor:
    """Call `make` with the operator's scope.

    The direct way where the graph is the default.
    """
    default = get_default_graph()
    if default.runs_at_once and not has_symbolic((x, y)):
        return make(default._enter_name_scope(operator)[1])
    graph = graph_of((x, y))
    if graph is not get_default_graph() or not (type(x) is Tensor or type(y) is Tensor):
        with name_scope(None, operator, [x, y]) as scope:
            return make(scope)
    old = graph._name_stack
    graph._name_stack, scope = graph._enter_name_scope(operator)
    try:
        return make(scope)
    finally:
        graph._name_stack = old


def _override(operator: str, function: Function) -> None:
    def left(x: Any, y: Any) -> Any:
        def make(scope: str) -> Any:
            other = y
            if not isinstance(y, (Tensor, SparseTensor)):
                try:
                    other = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
                except TypeError:
                    # The other operand may support tensors.
                    if hasattr(type(y), f"__r{operator}__"):
                        return NotImplemented
                    raise
            return function(x, other, scope)

        return _in_scope(operator, x, y, make)

    def right(y: Any, x: Any) -> Tensor:
        def make(scope: str) -> Tensor:
            other = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(other, y, scope)

        return _in_scope(operator, x, y, make)

    Tensor._override_operator(f"__{operator}__", left)
    Tensor._override_operator(f"__r{operator}__", right)


def _override_all() -> None:
    for operator, function in _BINARY.items():
        _override(operator, function)
    plain: dict[str, Callable[..., Any]] = {
        "__neg__": lambda x: unary.neg_op(x),
        "__abs__": lambda x: unary.abs(x),
        "__invert__": lambda x: comparison.logical_not_op(x),
        "__lt__": lambda x, y: comparison.less_op(x, y),
        "__le__": lambda x, y: comparison.less_equal_op(x, y),
        "__gt__": lambda x, y: comparison.greater_op(x, y),
        "__ge__": lambda x, y: comparison.greater_equal_op(x, y),
        "__getitem__": lambda x, key, var=None: indexing.slice_helper(x, key, var),
    }
    for name, method in plain.items():
        Tensor._override_operator(name, method)
    Tensor.OVERLOADABLE_OPERATORS = {
        *plain,
        *(f"__{operator}__" for operator in _BINARY),
        *(f"__r{operator}__" for operator in _BINARY),
        "__eq__", "__ne__",
    }  # fmt: skip


# ---- sparse tensors, whose operators touch the given elements only


def _sparse_op(op_type: str, sp: SparseTensor, values: Tensor, y: Tensor, name: str) -> Tensor:
    """Return the given elements of `sp`, combined with those of the dense tensor `y`."""
    return get(op_type)(sp.indices, values, sp.dense_shape, y, name=name)


def _sparse_div(sp: SparseTensor, y: Tensor, name: str) -> Tensor:
    return _sparse_op("SparseDenseCwiseDiv", sp, sp.values, y, name)


def _sparse_mul(sp: SparseTensor, y: Tensor, name: str) -> Tensor:
    return _sparse_op("SparseDenseCwiseMul", sp, sp.values, y, name)


def _sparse_truediv(sp: SparseTensor, y: Tensor, name: str) -> Tensor:
    from stillflow.ops.math.cast import cast

    with name_scope(name, "truediv", [sp.indices, sp.values, sp.dense_shape, y]) as scope:
        values = sp.values
        dtype = division.exact_type(division.check_same_type(values, y))
        if dtype is not None:
            values = cast(values, dtype)
            y = cast(y, dtype)
        return _sparse_op("SparseDenseCwiseDiv", sp, values, y, scope)


def _override_sparse(operator: str, function: Callable[..., Tensor]) -> None:
    def left(sp: SparseTensor, y: Any) -> SparseTensor:
        with name_scope(None, operator, [sp, y]) as scope:
            y = convert_to_tensor(y, dtype=sp.dtype.base_dtype, name="y")
            return SparseTensor(sp.indices, function(sp, y, scope), sp.dense_shape)

    setattr(SparseTensor, f"__{operator}__", left)


_override_all()
_override_sparse("div", _sparse_div)
_override_sparse("truediv", _sparse_truediv)
_override_sparse("mul", _sparse_mul)
