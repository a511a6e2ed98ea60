"""Arithmetic on static shapes as plain tuples, for shape rules.

A shape is a tuple of sizes, with None for a size that is not known, or None altogether when not
even the rank is known. All errors are ValueErrors worded as TensorFlow's shape functions word them;
the graph adds which operation they concern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeAlias, TypeGuard, TypeVar

Dim: TypeAlias = int | None
Dims: TypeAlias = tuple[Dim, ...] | None
Result = TypeVar("Result")

_MAX_RANK = 2**31 - 1
_MAX_SIZE = 2**63 - 1


def is_known(dims: Dims) -> TypeGuard[tuple[int, ...]]:
    """Return True if rank and every size are known."""
    return dims is not None and None not in dims


def all_known(shapes: Sequence[Dims]) -> TypeGuard[Sequence[tuple[int, ...]]]:
    """Return True if rank and every size of all shapes are known."""
    return all(map(is_known, shapes))


def rank(dims: Dims) -> int | None:
    """Return the rank, or None if it is not known."""
    return None if dims is None else len(dims)


def unknown(rank: int | None) -> Dims:
    """Return a shape of the given rank with no known size."""
    return None if rank is None else (None,) * rank


def num_elements(dims: Dims) -> Dim:
    """Return the number of elements; 0 as soon as one size is 0, None if it is not known."""
    if dims is None:
        return None
    if is_known(dims):
        return prod(dims)
    return 0 if 0 in dims else None


def same(a: Dims, b: Dims) -> bool:
    """Return True if both shapes are fully known and equal."""
    return a == b and a is not None and None not in a


def to_string(dims: Dims) -> str:
    """Return the shape as in messages of shape inference: "[2,?]", or "?" if unknown."""
    return "?" if dims is None else shape_text(dims)


def shape_text(dims: Iterable[Any] | None) -> str:
    """Return the shape as kernels' messages show it: "[2,?]", or "<unknown>" for None."""
    if dims is None:
        return "<unknown>"
    return "[" + ",".join(["?" if dim is None else str(int(dim)) for dim in dims]) + "]"


def merge_dim(a: Dim, b: Dim) -> Dim:
    """Return the size that both sizes allow; ValueError if they are known and differ."""
    if b is None or a == b:
        return a
    if a is None:
        return b
    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")


def with_value(dim: Dim, value: int) -> int:
    """Return `value`; ValueError if the size is known to be another."""
    if dim is None or dim == value:
        return value
    raise ValueError(f"Dimension must be {value} but is {dim}")


def merge(a: Dims, b: Dims) -> Dims:
    """Return the shape with all sizes known from either; ValueError if they contradict."""
    if b is None or a == b:
        return a
    if a is None:
        return b
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    for index, (x, y) in enumerate(zip(a, b)):
        if x != y and x is not None and y is not None:
            raise ValueError(
                f"Dimension {index} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {to_string(a)} and {to_string(b)}."
            )
    return tuple([y if x is None else x for x, y in zip(a, b)])


def merge_prefix(dims: Dims, prefix: Dims) -> tuple[Dims, Dims]:
    """Merge the leading sizes with `prefix`; return both, completed, or raise ValueError."""
    if dims is None or prefix is None:
        return dims, prefix
    with_rank_at_least(dims, len(prefix))
    merged = tuple([merge_dim(x, y) for x, y in zip(dims, prefix)])
    return merged + dims[len(prefix) :], merged


def relax(a: Dims, b: Dims) -> Dims:
    """Return the most specific shape that describes tensors of either shape."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([x if x == y else None for x, y in zip(a, b)])


def is_compatible(a: Dims, b: Dims) -> bool:
    """Return True if one tensor could have both shapes."""
    if a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    return all(x is None or y is None or x == y for x, y in zip(a, b))


def broadcast(a: Dims, b: Dims) -> Dims:
    """Return the shape of an elementwise operation on two broadcast shapes, or raise ValueError."""
    if a is None or b is None:
        return None
    if a == b and None not in a:
        return a
    missing = len(a) - len(b)
    if missing > 0:
        b = (1,) * missing + b
    elif missing < 0:
        a = (1,) * -missing + a
    return tuple([_broadcast_dim(x, y) for x, y in zip(a, b)])


def _broadcast_dim(x: Dim, y: Dim) -> Dim:
    if x == 1:
        return y
    if y == 1 or x == y:
        return x
    if x is None:
        # A size above 1 must be the result; a 0 could be met by a 1 or by a 0.
        return y if y else None
    if y is None:
        return x if x else None
    raise ValueError(f"Dimensions must be equal, but are {x} and {y}")


def with_rank(dims: Dims, rank: int) -> tuple[Dim, ...]:
    """Return the shape, given that its rank is `rank`; ValueError if it has another one."""
    if dims is None:
        _check_rank(rank)
        return (None,) * rank
    if len(dims) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(dims)}")
    return dims


def with_rank_at_least(dims: Dims, rank: int) -> Dims:
    """Return the shape unless its rank is below `rank`, which raises ValueError."""
    if dims is not None and len(dims) < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {len(dims)}")
    return dims


def with_rank_at_most(dims: Dims, rank: int) -> Dims:
    """Return the shape unless its rank is above `rank`, which raises ValueError."""
    if dims is not None and len(dims) > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {len(dims)}")
    return dims


def concat(a: Dims, b: Dims) -> Dims:
    """Return the sizes of `a` followed by those of `b`; unknown if either rank is."""
    return None if a is None or b is None else a + b


def dim(dims: Dims, index: int) -> Dim:
    """One size; None where the rank is not known. The index may be negative."""
    return None if dims is None else dims[index]


def replace_dim(dims: Dims, index: int, value: Dim) -> Dims:
    """Return the shape with one size replaced; ValueError if there is no such dimension."""
    if dims is None:
        return None
    position = index + len(dims) if index < 0 else index
    if not 0 <= position < len(dims):
        raise ValueError(f"Out of range dim_index {index} for shape with {len(dims)} dimensions")
    return (*dims[:position], value, *dims[position + 1 :])


def subshape(dims: Dims, start: int, end: int | None = None) -> Dims:
    """Return the sizes from `start` up to `end`; both may count from the back."""
    if dims is None:
        return None
    size = len(dims)
    first, last = min(start, size), size if end is None else min(end, size)
    if first < 0:
        first += size
        if first < 0:
            raise ValueError(f"Subshape start out of bounds: {start}, for shape with rank {size}")
    if last < 0:
        last += size
        if last < 0:
            raise ValueError(f"Subshape end out of bounds: {end}, for shape with rank {size}")
    if first > last:
        raise ValueError(
            f"Subshape must have computed start <= end, but is {first} and {last} "
            f"(computed from start {start} and end {end} over shape with rank {size})"
        )
    return dims[first:last]


def make_dim(value: int, index: int) -> Dim:
    """Return the size given by scalar input number `index`; ValueError if it is negative."""
    if value < 0:
        raise ValueError(
            f"Dimension size, given by scalar input {index}, must be non-negative but is {value}"
        )
    return value


class InvalidSize(ValueError):
    """A size below -1 in a shape tensor; TF tells it without saying for which op."""


def from_values(values: list[int]) -> tuple[Dim, ...]:
    """Return the shape in a shape tensor's values, -1 if unknown; InvalidSize below that."""
    for value in values:
        if value < -1:
            raise InvalidSize(f"Invalid value in tensor used for shape: {value}")
    return tuple([None if value == -1 else int(value) for value in values])


def divide(dim: Dim, divisor: int, evenly: bool = True) -> Dim:
    """Return the size divided by `divisor`."""
    if dim is None:
        return None
    if divisor <= 0:
        raise ValueError(f"Divisor must be positive but is {divisor}")
    if evenly and dim % divisor:
        raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {dim}")
    return dim // divisor


def add(a: Dim, b: Dim) -> Dim:
    """Return the sum of two sizes; ValueError if it does not fit in 64 bits."""
    if a is None or b is None:
        return None
    if a + b > _MAX_SIZE:
        raise ValueError(f"Dimension size overflow from adding {a} and {b}")
    return a + b


def subtract(a: Dim, b: Dim) -> Dim:
    """Return the difference of two sizes; ValueError if it would be negative."""
    if a is None or b is None:
        return None
    if a < b:
        raise ValueError(f"Negative dimension size caused by subtracting {b} from {a}")
    return a - b


def multiply(a: Dim, b: Dim) -> Dim:
    """Return the product of two sizes, 0 if either is 0; ValueError if it exceeds 64 bits."""
    if a == 0 or b == 0:
        return 0
    if a is None or b is None:
        return None
    if a * b > _MAX_SIZE:
        raise ValueError(f"Negative dimension size caused by overflow when multiplying {a} and {b}")
    return a * b


def minimum(a: Dim, b: Dim) -> Dim:
    """Return the smaller of two sizes; 0 if either is 0."""
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else min(a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """Return the larger of two sizes."""
    return None if a is None or b is None else max(a, b)


def in_context(text: str, function: Callable[..., Result], *args: Any) -> Result:
    """Call `function(*args)`; add `text`, on a second line, to the ValueError that it raises."""
    try:
        return function(*args)
    except ValueError as error:
        raise ValueError(f"{error}\n\t{text}") from None


def scalar_axis(value: int, rank: int | None) -> int | None:
    """Return the axis that a scalar input names, counted from the front; None if unknown."""
    if rank is None:
        return None if value < 0 else value
    if not -rank <= value < rank:
        raise ValueError(
            f"Dimension size, given by scalar input {value} must be in range [-{rank}, {rank})"
        )
    return value % rank


def _check_rank(rank: int) -> None:
    if rank > _MAX_RANK:
        raise ValueError("Rank cannot exceed kint32max")
