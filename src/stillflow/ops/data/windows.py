"""Datasets of datasets: windows of elements that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.batching import batch_of
from stillflow.ops.data.mapping import Mapping
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, State, Walk

window_dataset_op = unary(
    "WindowDataset", "size: int64, shift: int64, stride: int64, drop_remainder: bool", TYPED
)
sliding_window_dataset_op = unary(
    "SlidingWindowDataset", "window_size: int64, window_shift: int64, window_stride: int64", TYPED
)


class Windows(Walk):
    """Lists of elements: `size` of them, `stride` apart, each list `shift` after the last."""

    def __init__(self, source: Elements, size: int, shift: int, stride: int, drop: bool) -> None:
        self.source = source
        self.ended = False
        self.size = size
        self.shift = shift
        self.stride = stride
        self.drop = drop
        self.buffer: list[tuple[BaseException | None, Element | None]] = []

    def _read(self) -> bool:
        """Read one more element or error; return False at the end."""
        try:
            self.buffer.append((None, next(self.source)))
        except StopIteration:
            self.ended = True
            return False
        except Exception as error:
            self.buffer.append((error, None))
        return True

    def __next__(self) -> list[Element]:
        span = (self.size - 1) * self.stride + 1
        while not self.ended and len(self.buffer) < span:
            self._read()
        if not self.buffer or (self.drop and len(self.buffer) < span):
            raise StopIteration
        chosen = self.buffer[:: self.stride][: self.size]
        while not self.ended and len(self.buffer) < self.shift:
            self._read()
        del self.buffer[: self.shift]
        for error, _ in chosen:
            if error is not None:
                raise error
        return [element for _, element in chosen if element is not None]

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "buffer_size", len(self.buffer))
        for index, result in enumerate(self.buffer):
            self.put_result(state, f"buffer[{index}]", *result)

    def restore(self, state: State) -> None:
        super().restore(state)
        size = self.integer(state, "buffer_size")
        self.buffer = [self.get_result(state, f"buffer[{index}]") for index in range(size)]


class _NestedWindows(Walk):
    """Windows whose components are datasets."""

    inputs = ("windows",)

    def __init__(self, windows: Windows, types: list[Any], shapes: list[Any]) -> None:
        self.windows = windows
        self.types = types
        self.shapes = shapes

    def __next__(self) -> Element:
        columns = zip(*next(self.windows), strict=True)
        return tuple([
            _dataset_of([(value,) for value in column], dtype, dims)
            for column, dtype, dims in zip(columns, self.types, self.shapes, strict=True)
        ])  # fmt: skip


class Listed(Walk):
    """Elements in memory."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"place": "i"}

    def __init__(self, elements: Sequence[Element]) -> None:
        self.elements = elements
        self.place = 0

    def __next__(self) -> Element:
        if self.place >= len(self.elements):
            raise StopIteration
        element = self.elements[self.place]
        self.place += 1
        return element


def _dataset_of(elements: list[Element], dtype: Any, dims: Any) -> Dataset:
    return Dataset("Window", [dtype], [dims], lambda *_: Listed(elements), len(elements))


def _positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if number <= 0:
            raise invalid(f"Window {name} must be greater than zero.")


@window_dataset_op.kernel
def window_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *numbers: Any) -> Dataset:
        source, (size, shift, stride, drop) = as_dataset(value), map(scalar, numbers)
        _positive(size=size, shift=shift, stride=stride)

        def make(context: Context, prefix: str) -> Elements:
            elements = source.iterate(context, prefix)
            windows = Windows(elements, size, shift, stride, drop)
            windows.prefix = prefix
            return _NestedWindows(windows, source.types, source.shapes)

        count = source.size
        if count >= 0 and drop:
            rest = count - ((size - 1) * stride + 1)
            count = 0 if rest < 0 else rest // shift + 1
        elif count >= 0:
            count = -(-count // shift)
        return Dataset("Window", types, shapes, make, count)

    return run


@sliding_window_dataset_op.kernel
def sliding_window_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *numbers: Any) -> Dataset:
        source, (size, shift, stride) = as_dataset(value), map(scalar, numbers)
        for name, number in (
            ("window_size", size), ("window_shift", shift), ("window_stride", stride)
        ):  # fmt: skip
            if number <= 0:
                raise invalid(f"{name} must be greater than zero.")

        def make(context: Context, prefix: str) -> Elements:
            windows = Windows(source.iterate(context, prefix), size, shift, stride, True)
            windows.prefix = prefix
            return Mapping(batch_of, windows)

        return Dataset("SlidingWindow", types, shapes, make, UNKNOWN)

    return run
