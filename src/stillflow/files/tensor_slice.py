"""Parts of tensors: in each dimension a start and a length, or all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.files import ordered_code

Shape = tuple[int, ...]
ALL = -1
_MAX = (1 << 63) - 1


class TensorSlice(NamedTuple):
    """A part of a tensor: (start, length) for each dimension; length -1 stands for all of it."""

    extents: tuple[tuple[int, int], ...]

    @staticmethod
    def full(rank: int) -> TensorSlice:
        """All of a tensor of this rank."""
        return TensorSlice(((0, ALL),) * rank)

    @staticmethod
    def parse(text: str) -> TensorSlice:
        """Read `0,2:-:3,1`; InvalidArgumentError if it is no such text."""
        return TensorSlice(tuple(_parse_extent(item, text) for item in text.split(":") if item))

    @staticmethod
    def from_proto(message: Any) -> TensorSlice:
        """Read a `TensorSliceProto`; InvalidArgumentError if it is out of all bounds."""
        extents = []
        for extent in message.extent:
            length = extent.length if extent.HasField("length") else ALL
            if (extent.start, length) != (0, ALL):
                if extent.start < 0 or length <= 0:
                    raise errors.invalid_argument(
                        "Expected non-negative start and positive length but got start = "
                        f"{extent.start}, length = {length}"
                    )
                if extent.start + length > _MAX:
                    raise errors.invalid_argument("Extent end exceeds the maximum possible size")
            extents.append((extent.start, length))
        return TensorSlice(tuple(extents))

    def to_proto(self, message: Any) -> None:
        """Write this into an empty `TensorSliceProto`."""
        for start, length in self.extents:
            extent = message.extent.add()
            if length != ALL:
                extent.start, extent.length = start, length

    @property
    def is_full(self) -> bool:
        return all(length == ALL for _, length in self.extents)

    def __str__(self) -> str:
        return ":".join(
            "-" if length == ALL else f"{start},{length}" for start, length in self.extents
        )

    def shape_in(self, shape: Shape) -> Shape:
        """Return the shape of this part of a tensor; InternalError if it reaches outside."""
        if len(shape) != len(self.extents):
            raise errors.internal(f"Mismatching ranks: shape = {shape_text(shape)}, slice = {self}")
        result = []
        for axis, ((start, length), size) in enumerate(zip(self.extents, shape)):
            if length != ALL and start + length > size:
                raise errors.internal(
                    f"Extent in dimension {axis} out of bounds: shape = {shape_text(shape)}, "
                    f"slice = {self}"
                )
            result.append(size if length == ALL else length)
        return tuple(result)

    def bounds_in(self, shape: Shape) -> tuple[tuple[int, int], ...]:
        """First and one past the last index in each dimension."""
        return tuple(
            (0, size) if length == ALL else (start, start + length)
            for (start, length), size in zip(self.extents, shape)
        )

    def key(self, name: bytes) -> bytes:
        """Return the key of this part of the tensor `name` in a checkpoint."""
        parts = [ordered_code.encode_unsigned(0), ordered_code.encode_string(name)]
        parts.append(ordered_code.encode_unsigned(len(self.extents)))
        for start, length in self.extents:
            parts += (ordered_code.encode_signed(start), ordered_code.encode_signed(length))
        return b"".join(parts)


def key_text(key: bytes) -> str:
    """Return the key of a tensor, or of a part of one, as messages show it."""
    if key.startswith(b"\0"):
        try:
            name, rest = ordered_code.decode_string(key[1:])
            rank, rest = ordered_code.decode_unsigned(rest)
            extents = []
            for _ in range(rank):
                start, rest = ordered_code.decode_signed(rest)
                length, rest = ordered_code.decode_signed(rest)
                extents.append((start, length))
            part = TensorSlice(tuple(extents))
            return f"{name.decode(errors='backslashreplace')} (slice {part})"
        except (IndexError, ValueError):
            pass  # no key that a checkpoint has
    return key.decode(errors="backslashreplace")


def parse_shape_and_slice(spec: str) -> tuple[Shape, TensorSlice, Shape]:
    """Read `4 3 0,2:-`: the shape of the whole, the part, and the part's shape.

    InvalidArgumentError or InternalError if the text is none such, or the part does not fit.
    """
    *sizes, last = spec.split(" ")
    if not sizes:
        raise errors.invalid_argument(
            f"Need least two elements in shape_and_slice specification: {spec}"
        )
    part = TensorSlice.parse(last)
    try:
        shape = tuple(int(size) for size in sizes)
    except ValueError:
        raise errors.invalid_argument(
            f"Non numerical dimension in shape_and_slice: {spec}"
        ) from None
    return shape, part, part.shape_in(shape)


def overlap(
    a: Sequence[tuple[int, int]], b: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...] | None:
    """Return the intersection of two boxes, or None."""
    result = tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b))
    return result if all(start < end for start, end in result) else None


def _parse_extent(item: str, text: str) -> tuple[int, int]:
    if item == "-":
        return 0, ALL
    try:
        start, length = (int(number) for number in item.split(",") if number)
    except ValueError:
        message = f"Expected a pair of numbers or '-' but got '{item}': string = {text}"
        raise errors.invalid_argument(message) from None
    if start < 0 or length <= 0:
        raise errors.invalid_argument(
            f"Expected non-negative start and positive length but got start = {start}, "
            f"length = {length}: string = {text}"
        )
    return start, length


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as messages show it: [2,3]."""
    return f"[{','.join(map(str, shape))}]"
