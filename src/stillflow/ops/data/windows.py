"""Datasets of datasets: windows of elements that follow each other."""

from __future__ import annotations

from typing import Any

from stillflow.graph.node import Node
from stillflow.ops.data.batching import batch_of
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Element,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)

window_dataset_op = unary(
    "WindowDataset", "size: int64, shift: int64, stride: int64, drop_remainder: bool", TYPED
)
sliding_window_dataset_op = unary(
    "SlidingWindowDataset", "window_size: int64, window_shift: int64, window_stride: int64", TYPED
)


class Windows:
    """Lists of elements: `size` of them, `stride` apart, each list `shift` after the last."""

    def __init__(self, source: Elements, size: int, shift: int, stride: int, drop: bool) -> None:
        self.source: Elements | None = source
        self.size = size
        self.shift = shift
        self.stride = stride
        self.drop = drop
        self.buffer: list[tuple[Element | None, BaseException | None]] = []

    def __iter__(self) -> Windows:
        return self

    def _read(self) -> bool:
        """Takes one more element or error; False at the end."""
        assert self.source is not None
        try:
            self.buffer.append((next(self.source), None))
        except StopIteration:
            self.source = None
            return False
        except Exception as error:
            self.buffer.append((None, error))
        return True

    def __next__(self) -> list[Element]:
        span = (self.size - 1) * self.stride + 1
        while self.source is not None and len(self.buffer) < span:
            self._read()
        if not self.buffer or (self.drop and len(self.buffer) < span):
            raise StopIteration
        chosen = self.buffer[:: self.stride][: self.size]
        while self.source is not None and len(self.buffer) < self.shift:
            self._read()
        del self.buffer[: self.shift]
        for _, error in chosen:
            if error is not None:
                raise error
        return [element for element, _ in chosen if element is not None]


class _NestedWindows:
    """Windows whose components are datasets."""

    def __init__(self, windows: Windows, types: list[Any], shapes: list[Any]) -> None:
        self.windows = windows
        self.types = types
        self.shapes = shapes

    def __iter__(self) -> _NestedWindows:
        return self

    def __next__(self) -> Element:
        columns = zip(*next(self.windows), strict=True)
        return tuple([
            _dataset_of([(value,) for value in column], dtype, dims)
            for column, dtype, dims in zip(columns, self.types, self.shapes, strict=True)
        ])  # fmt: skip


def _dataset_of(elements: list[Element], dtype: Any, dims: Any) -> Dataset:
    return Dataset("Window", [dtype], [dims], lambda *_: iter(elements), len(elements))


def _positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if number <= 0:
            raise invalid(f"Window {name} must be greater than zero.")


@window_dataset_op.kernel
def window_dataset_kernel(node: Node) -> Any:
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *numbers: Any) -> Dataset:
        source, (size, shift, stride, drop) = as_dataset(value), map(scalar, numbers)
        _positive(size=size, shift=shift, stride=stride)

        def make(context: Context, prefix: str) -> Elements:
            elements = source.iterate(context, prefix)
            windows = Windows(elements, size, shift, stride, drop)
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
def sliding_window_dataset_kernel(node: Node) -> Any:
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *numbers: Any) -> Dataset:
        source, (size, shift, stride) = as_dataset(value), map(scalar, numbers)
        for name, number in (
            ("window_size", size), ("window_shift", shift), ("window_stride", stride)
        ):  # fmt: skip
            if number <= 0:
                raise invalid(f"{name} must be greater than zero.")

        def make(context: Context, prefix: str) -> Elements:
            return map(
                batch_of, Windows(source.iterate(context, prefix), size, shift, stride, True)
            )

        return Dataset("SlidingWindow", types, shapes, make, UNKNOWN)

    return run
