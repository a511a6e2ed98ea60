"""Static shapes: `TensorShape` and its sizes, `Dimension`.

A shape keeps plain integers in `_dims`; `Dimension` objects are made when somebody asks for them.
Graph construction reads `_dims` and calculates with the functions in `stillflow.graph.dims`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from stillflow.errors import OperatorNotAllowedInGraphError
from stillflow.graph import dims as _dims_lib
from stillflow.graph.dims import Dims
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export

_TENSORSHAPE_V2_OVERRIDE: bool | None = None
# None that type checkers let pass, since callers know the rank.
MaybeNone: TypeAlias = Any


@export("enable_v2_tensorshape")
def enable_v2_tensorshape() -> None:
    """Make `shape[i]` and iteration over a shape give integers instead of `Dimension`s."""
    global _TENSORSHAPE_V2_OVERRIDE
    _TENSORSHAPE_V2_OVERRIDE = True


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Make `shape[i]` and iteration over a shape give `Dimension`s, which is the default."""
    global _TENSORSHAPE_V2_OVERRIDE
    _TENSORSHAPE_V2_OVERRIDE = False


@export("dimension_value", "compat.dimension_value")
def dimension_value(dimension: Any) -> Any:
    """Return the integer or None behind a `Dimension`; anything else unchanged."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


@export("dimension_at_index", "compat.dimension_at_index")
def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return one size of `shape` as a `Dimension`, an unknown one if the rank is not known."""
    assert isinstance(shape, TensorShape)
    return Dimension(None) if shape._dims is None else Dimension(shape._dims[index])


def _reject_true_division(left: str, right: str) -> TypeError:
    return TypeError(
        f"unsupported operand type(s) for /: '{left}' and '{right}', please use // instead"
    )


@export("Dimension")
class Dimension:
    """One size of a shape: an integer, or unknown.

    Arithmetic and comparison with an unknown size give an unknown size and None.
    """

    __slots__ = ("_value",)
    _value: int | None

    def __init__(self, value: Any) -> None:
        """Make a size from an integer, another `Dimension`, or None (unknown).

        Raises:
          TypeError: If `value` cannot be an integer.
          ValueError: If it is negative or has a fraction.
        """
        if value is None or value.__class__ is int:
            self._value = value
        elif isinstance(value, Dimension):
            self._value = value._value
            return
        elif isinstance(value, DType):
            raise TypeError(f"Cannot convert {value} to Dimension")
        else:
            if isinstance(value, np.ndarray) and value.size == 1:
                value = value.item()  # numpy itself rejects int(array) unless the rank is 0
            self._value = int(value)
            if not isinstance(value, (str, bytes)) and self._value != value:
                raise ValueError(f"Ambiguous dimension: {value}")
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The integer, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Return True if both could be the same size."""
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        return self._value is None or value is None or self._value == value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both could be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Return the size that both agree on.

        Raises:
          ValueError: If they are known and differ.
        """
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        self.assert_is_compatible_with(other)
        return Dimension(value if self._value is None else self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    def __eq__(self, other: object) -> Any:
        value = _operand(other)
        if value is NotImplemented or value is None or self._value is None:
            return value if value is NotImplemented else None
        return self._value == value

    def __ne__(self, other: object) -> Any:
        value = _operand(other)
        if value is NotImplemented or value is None or self._value is None:
            return value if value is NotImplemented else None
        return self._value != value

    # Sizes are compared by value and may be unknown, so they have no hash.
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> bool | None:
        value = as_dimension(other)._value
        return None if self._value is None or value is None else self._value < value

    def __le__(self, other: Any) -> bool | None:
        value = as_dimension(other)._value
        return None if self._value is None or value is None else self._value <= value

    def __gt__(self, other: Any) -> bool | None:
        value = as_dimension(other)._value
        return None if self._value is None or value is None else self._value > value

    def __ge__(self, other: Any) -> bool | None:
        value = as_dimension(other)._value
        return None if self._value is None or value is None else self._value >= value

    def __add__(self, other: Any) -> Dimension:
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self._value is None or value is None else self._value + value)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dimension:
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self._value is None or value is None else self._value - value)

    def __rsub__(self, other: Any) -> Dimension:
        return as_dimension(other) - self

    def __mul__(self, other: Any) -> Dimension:
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self._value is None or value is None else self._value * value)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Dimension:
        value = _operand(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self._value is None or value is None else self._value // value)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return as_dimension(other) // self

    # Python 2's spelling of `/`, which programs call by name.
    __div__ = __floordiv__

    def __rdiv__(self, other: Any) -> Dimension:
        raise _reject_true_division(type(other).__name__, "Dimension")

    def __truediv__(self, other: Any) -> Dimension:
        raise _reject_true_division("Dimension", type(other).__name__)

    def __rtruediv__(self, other: Any) -> Dimension:
        raise _reject_true_division(type(other).__name__, "Dimension")

    def __mod__(self, other: Any) -> Dimension:
        value = as_dimension(other)._value
        return Dimension(None if self._value is None or value is None else self._value % value)

    def __rmod__(self, other: Any) -> Dimension:
        return as_dimension(other) % self


def _operand(other: Any) -> int | None:
    """Return the value of the other operand, NotImplemented if it is not a size."""
    if other is None or (other.__class__ is int and other >= 0):
        return other
    try:
        return as_dimension(other)._value
    except (TypeError, ValueError):
        return NotImplemented


def as_dimension(value: Any) -> Dimension:
    """Return `value` as a `Dimension`."""
    return value if isinstance(value, Dimension) else Dimension(value)


def _parse(dims: Any) -> Dims:
    """Return the sizes given to the constructor of TensorShape as a tuple of plain integers."""
    if isinstance(dims, (str, bytes)):
        raise TypeError(
            "A string has ambiguous TensorShape, please wrap in a list or convert to an int: "
            f"{dims!s}"
        )
    if hasattr(dims, "unknown_rank"):  # a TensorShapeProto
        if dims.unknown_rank:
            return None
        return tuple([_size(dim.size if dim.size != -1 else None) for dim in dims.dim])
    try:
        iterator = iter(dims)
    except OperatorNotAllowedInGraphError:
        raise
    except TypeError:
        return (_size(dims),)
    return tuple([_size(dim) for dim in iterator])


def _size(dim: Any) -> int | None:
    if dim is None or (dim.__class__ is int and dim >= 0):
        return dim
    return Dimension(dim)._value


@export("TensorShape")
class TensorShape:
    """Static shape of a tensor: its rank and sizes as far as they are known.

    Either nothing, or the rank and some of the sizes.

    Args:
      dims: sizes, each an integer, a `Dimension` or None; or None for an unknown rank.

    Raises:
      ValueError: for negative sizes.

    Example:
      >>> shape = tf.TensorShape([None, 28, 28])
      >>> shape.as_list(), shape.rank, shape.is_compatible_with([8, 28, 28])
      ([None, 28, 28], 3, True)
    """

    __slots__ = ("__weakref__", "_dimensions", "_dims")
    _dims: Dims
    _dimensions: list[Dimension]

    def __init__(self, dims: Any) -> None:
        """Make a shape.

        Args:
          dims: None (nothing known), one size, a sequence of sizes (integers, `Dimension`s or
            None), a `TensorShapeProto`, or another shape.

        Raises:
          TypeError, ValueError: If `dims` is none of these.
        """
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        else:
            self._dims = _parse(dims)

    @property
    def _v2_behavior(self) -> bool:
        return bool(_TENSORSHAPE_V2_OVERRIDE)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | MaybeNone:
        """The sizes as `Dimension`s, or None if the rank is not known."""
        if self._dims is None:
            return None
        try:
            return self._dimensions
        except AttributeError:
            self._dimensions = [Dimension(dim) for dim in self._dims]
            return self._dimensions

    def as_list(self) -> list[int | None]:
        """Return the sizes as integers, None for an unknown one.

        Raises:
          ValueError: If the rank is not known.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Return the shape as a `TensorShapeProto`."""
        from stillflow.protos import TensorShapeProto

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        sizes = [TensorShapeProto.Dim(size=-1 if dim is None else dim) for dim in self._dims]
        return TensorShapeProto(dim=sizes)

    def num_elements(self) -> int | None:
        """Return the number of elements, None unless every size is known."""
        return _dims_lib.num_elements(self._dims) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return True if every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Return True if one tensor could have this shape and `other`."""
        return _dims_lib.is_compatible(self._dims, as_shape(other)._dims)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless one tensor could have this shape and `other`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the most specific shape that describes tensors of this shape or of `other`."""
        return shape_from_dims(_dims_lib.relax(self._dims, as_shape(other)._dims))

    def merge_with(self, other: Any) -> TensorShape:
        """Return the shape with all sizes known from either shape.

        Raises:
          ValueError: If they contradict each other.
        """
        other = as_shape(other)
        if not _dims_lib.is_compatible(self._dims, other._dims):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return shape_from_dims(_dims_lib.merge(self._dims, other._dims))

    def concatenate(self, other: Any) -> TensorShape:
        """Return the sizes of this shape followed by those of `other`."""
        return shape_from_dims(_dims_lib.concat(self._dims, as_shape(other)._dims))

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError if both ranks are known and differ."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int | None) -> None:
        """Raise ValueError if the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank:d}")

    def with_rank(self, rank: int | None) -> TensorShape:
        """Return this shape, given that its rank is `rank`; ValueError if it is not."""
        if self._dims is None:
            return unknown_shape(rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known and below `rank`."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank:d}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known and above `rank`."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank:d}")
        return self

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    __concat__ = concatenate

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims if _TENSORSHAPE_V2_OVERRIDE else self.dims or ())

    def __getitem__(self, key: Any) -> Any:
        """Return the size at an index (a `Dimension`), or the shape of a slice.

        Raises:
          ValueError: For a slice with a step of a shape whose rank is not known.
        """
        dims = self._dims
        if isinstance(key, slice):
            if dims is None:
                return self._slice_of_unknown(key)
            bounds = (key.start, key.stop, key.step)
            return shape_from_dims(dims[slice(*[dimension_value(bound) for bound in bounds])])
        if _TENSORSHAPE_V2_OVERRIDE:
            return None if dims is None else dims[key]
        return Dimension(None) if dims is None else (self.dims or ())[key]

    @staticmethod
    def _slice_of_unknown(key: slice) -> TensorShape:
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        start = 0 if key.start is None else key.start
        if key.stop is None or start < 0 or key.stop < 0:
            return unknown_shape()
        return unknown_shape(key.stop - start)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not TensorShape:
            try:
                other = as_shape(other)
            except TypeError:
                return NotImplemented
        theirs = other._dims
        return self._dims is theirs or (self._dims == theirs and self.is_fully_defined())

    def __ne__(self, other: object) -> bool:
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        if self._dims is None or other._dims is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not self.__eq__(other)

    # Shapes are compared by value and may be unknown in part, so they have no hash.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({list(self._dims) if _TENSORSHAPE_V2_OVERRIDE else self.dims!r})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        unknown = "None" if _TENSORSHAPE_V2_OVERRIDE else "?"
        sizes = ", ".join([unknown if dim is None else str(dim) for dim in self._dims])
        return f"({sizes},)" if len(self._dims) == 1 else f"({sizes})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)


def shape_from_dims(dims: Dims) -> TensorShape:
    """Return the shape with these sizes, which are trusted to be plain and not negative."""
    shape = TensorShape.__new__(TensorShape)
    shape._dims = dims
    return shape


def as_shape(shape: Any) -> TensorShape:
    """Return `shape` as a `TensorShape`."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None, **kwargs: Any) -> TensorShape:
    """Return a shape of which at most the rank is known (`ndims` is an older name of `rank`)."""
    if rank is None and "ndims" in kwargs:
        rank = kwargs.pop("ndims")
    if kwargs:
        raise TypeError(f"Unknown argument: {kwargs}")
    return shape_from_dims(_dims_lib.unknown(rank))


def scalar() -> TensorShape:
    """Return the shape of a single value."""
    return shape_from_dims(())


def vector(length: Any) -> TensorShape:
    """Return the shape of a vector of the given length, which may be None."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """Return the shape of a matrix, of which either size may be None."""
    return TensorShape([rows, cols])
