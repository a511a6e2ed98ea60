"""Assertions about ranks and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import group, no_op, with_dependencies
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.debugging.tensor_names import described, named
from stillflow.ops.math import comparison


class _Refused(ValueError):
    """A rank that is known while building and wrong."""


def _check(
    x: Any,
    ranks: Sequence[Any],
    fits: Callable[[int], bool],
    condition: Callable[[Any], Any],
    data: Any,
    summarize: int | None,
) -> Operation | None:
    from stillflow.ops.debugging.types import assert_type

    for rank in ranks:
        assert_type(rank, dtypes.int32)
    known = [static_value(rank) for rank in ranks]
    if all(value is not None for value in known):
        if any(value.ndim for value in known if value is not None):
            raise ValueError("Rank must be a scalar.")
        actual = None if x._dims is None else len(x._dims)
        if actual is not None:
            if not fits(actual):
                raise _Refused(actual)
            return no_op(name="static_checks_determined_all_ok")
    held = condition(rank_of(x))
    for rank, value in zip(ranks, known, strict=True):
        if value is None:
            text = ["Rank must be a scalar. Received rank: ", rank]
            held = with_dependencies([assert_rank(rank, 0, data=text)], held)
    return Assert(held, data, summarize=summarize)


@export("debugging.assert_rank", "assert_rank")
def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Return an operation that fails unless x has the given rank.

    Raises:
      ValueError: at once, if the rank is known to be another one.
    """
    return _one(x, rank, "", comparison.equal, lambda a, b: a == b, data, summarize, message, name)


@export("debugging.assert_rank_at_least", "assert_rank_at_least")
def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Return an operation that fails unless x has at least the given rank.

    Raises:
      ValueError: at once, if the rank is known to be smaller.
    """
    compare = comparison.greater_equal
    return _one(x, rank, "at least", compare, lambda a, b: a >= b, data, summarize, message, name)


def _one(
    x: Any,
    rank: Any,
    words: str,
    compare: Callable[..., Any],
    static: Callable[[int, int], bool],
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation | None:
    op_name = "assert_rank_at_least" if words else "assert_rank"
    words = f" {words}" if words else ""
    with name_scope(name, op_name, (x, rank, *(data or ()))):
        x = convert_to_tensor(x, name="x")
        rank = convert_to_tensor(rank, name="rank")
        if data is None:
            text = f"Tensor {named(x, '')} must have rank{words}"
            data = [message or "", text, rank, "Received shape: ", shape(x)]
        value = static_value(rank)
        try:
            return _check(
                x, [rank], lambda actual: static(actual, int(value)),
                lambda actual: compare(actual, rank), data, summarize,
            )  # fmt: skip
        except _Refused as refused:
            raise ValueError(
                f"{message or ''}.  Tensor {named(x, '')} must have rank{words} {value}.  "
                f"Received rank {refused.args[0]}, shape {x.shape}"
            ) from None


@export("debugging.assert_rank_in", "assert_rank_in")
def assert_rank_in(
    x: Any,
    ranks: Sequence[Any],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Return an operation that fails unless the rank of x is one of `ranks`.

    Raises:
      ValueError: at once, if the rank is known to be another one.
    """
    with name_scope(name, "assert_rank_in", (x, *ranks, *(data or ()))):
        x = convert_to_tensor(x, name="x")
        ranks = [convert_to_tensor(rank, name="rank") for rank in ranks]
        if data is None:
            text = f"Tensor {named(x, '')} must have rank in"
            data = [message or "", text, *ranks, "Received shape: ", shape(x)]
        values = tuple(static_value(rank) for rank in ranks)
        try:
            return _check(
                x, ranks, lambda actual: actual in values,
                lambda actual: _any_rank(actual, ranks), data, summarize,
            )  # fmt: skip
        except _Refused as refused:
            raise ValueError(
                f"{message or ''}.  Tensor {named(x, '')} must have rank in {values}.  "
                f"Received rank {refused.args[0]}, shape {x.shape}"
            ) from None


def _any_rank(actual: Any, ranks: Sequence[Any]) -> Tensor:
    if not ranks:
        return convert_to_tensor(False)
    result = comparison.equal(ranks[0], actual)
    for rank in ranks[1:]:
        result = comparison.logical_or(result, comparison.equal(rank, actual))
    return result


@export("debugging.assert_scalar", "assert_scalar")
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return the tensor, if it is known to be a scalar.

    Raises:
      ValueError: if it is not.
    """
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor._dims != ():
            where = "" if tensor.holds_value else f" for {tensor.name}"
            raise ValueError(
                f"{message or ''}Expected scalar shape{where}, saw shape: {tensor.shape}."
            )
        return tensor


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless tensors have shapes written with shared symbols.

    Args:
      shapes: a dict or pairs of tensors and shapes: sizes, symbols that mean one size wherever they
        occur, None or "." for any size, and "*" or `...` first for any leading dimensions.
      data, summarize, message, name: as in `assert_less`.

    Raises:
      ValueError: at once, if sizes are known to differ.
    """
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    message = message or ""
    with name_scope(name, "assert_shapes", [shapes, data]):
        wanted = [(convert_to_tensor(x), sizes) for x, sizes in pairs if sizes is not None]
        entries = [_entry(x, sizes, message) for x, sizes in wanted]
        rank_checks = [
            check for entry in entries
            if (check := _rank_check(entry, data, summarize, message, name)) is not None
        ]  # fmt: skip
        size_checks = _size_checks(entries, data, summarize, message)
        with control_dependencies(rank_checks):
            return group(size_checks)


def _entry(x: Any, sizes: Any, message: str) -> tuple[Any, bool, Any, tuple[Any, ...]]:
    """(tensor, whether leading dimensions are free, its actual sizes, the symbols)."""
    if not (hasattr(sizes, "__iter__") or hasattr(sizes, "__getitem__")):
        raise ValueError(
            f"{message}.  Tensor {described(x)}.  Specified shape must be an iterable.  An "
            "iterable has the attribute `__iter__` or `__getitem__`.  Received specified shape: "
            f"{sizes}"
        )
    symbols = tuple(sizes)
    for i, symbol in enumerate(symbols):
        if (symbol is Ellipsis or symbol == "*") and i:
            raise ValueError(
                f"{message}.  Tensor {described(x)} specified shape index {i}.  Symbol `...` or "
                "`*` for a variable number of unspecified dimensions is only allowed as the first "
                "entry"
            )
    free = bool(symbols) and (symbols[0] is Ellipsis or symbols[0] == "*")
    symbols = symbols[1:] if free else symbols
    return x, free, _sizes(x), symbols or (1,)


def _sizes(x: Any) -> Any:
    dynamic = shape(x)
    if x._dims == ():
        return (1,)
    if x._dims is not None:
        return [dynamic[i] if size is None else size for i, size in enumerate(x._dims)]
    is_scalar = comparison.equal(rank_of(x), 0)
    return cond(is_scalar, lambda: constant([1]), lambda: dynamic)


def _rank_check(entry: Any, data: Any, summarize: Any, message: str, name: Any) -> Any:
    x, free, _, symbols = entry
    count = len(symbols)
    options = {"data": data, "summarize": summarize, "message": message, "name": name}
    if free:
        return None if count < 2 else assert_rank_at_least(x=x, rank=count, **options)
    if count < 2:
        return assert_rank_in(x=x, ranks=[0, 1], **options)
    return assert_rank(x=x, rank=count, **options)


def _known(size: Any) -> bool:
    try:
        int(size)
    except (ValueError, TypeError):
        return False
    return True


def _size_checks(entries: Any, data: Any, summarize: Any, message: str) -> list[Any]:
    checks: list[Any] = []
    seen: dict[Any, Any] = {}
    for x, free, actual_sizes, symbols in entries:
        for i, symbol in enumerate(symbols):
            if symbol is None or symbol == ".":
                continue
            dim = i - len(symbols) if free else i
            actual = actual_sizes[dim]
            if _known(symbol):
                size, source = int(symbol), "Specified explicitly"
            elif symbol in seen:
                size, owner, owner_dim = seen[symbol]
                source = f"Specified by tensor {described(owner)} dimension {owner_dim}"
            else:
                seen[symbol] = (actual, x, dim)
                continue
            if _known(actual) and _known(size):
                if int(actual) != int(size):
                    raise ValueError(
                        f"{message}.  {source}.  Tensor {described(x)} dimension {dim} must have "
                        f"size {size}.  Received size {actual}, shape {x.shape}"
                    )
                continue
            condition = comparison.equal(convert_to_tensor(actual), convert_to_tensor(size))
            text = data if data is not None else [
                message, source, f"Tensor {described(x)} dimension", dim, "must have size", size,
                "Received shape: ", shape(x),
            ]  # fmt: skip
            checks.append(Assert(condition, text, summarize=summarize))
    return checks
