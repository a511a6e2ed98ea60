"""Accumulators of gradients while they run: sums that are taken when enough has come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.ops.queues.attempts import Attempt, Attempts
from stillflow.platform import tf_logging


class Accumulator:
    """A sum of gradients; those of steps that are over are left out.

    Args:
      name: in messages.
      dtype: of the gradients.
      shape: of the gradients, as far as known.
      mean: whether what is taken is their mean rather than their sum.
    """

    def __init__(self, name: str, dtype: Any, shape: Dims, mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.mean = mean
        self.step = 0
        self.count = 0
        self.total: Any = None
        self.attempts = Attempts()

    def apply(self, local_step: int, *gradient: Any) -> None:
        """Add a gradient, unless its step is over.

        Raises:
          InvalidArgumentError: its shape does not fit.
        """
        with self.attempts.lock:
            if local_step < self.step:
                return
            self.check(gradient)
            self.add(gradient)
            self.count += 1
            self.attempts._flush()

    def take(self, required: int, waits: Any) -> Any:
        """Return the gradients once `required` have arrived; the next step begins.

        Raises:
          InvalidArgumentError: `required` is not positive.
          CancelledError: the wait was cancelled.
        """
        if required <= 0:
            raise refuse(f"Argument num_required must be positive, but was {required}")
        attempt = _Take(self, required)
        self.attempts.submit(attempt, self.attempts.taking, waits)
        return attempt.taken[0]

    def set_step(self, step: int) -> None:
        """Says which step it is: gradients of earlier ones are left out from now on."""
        with self.attempts.lock:
            if step < self.step:
                tf_logging.warning(
                    "Attempt to set current_global_step_ to smaller value: current_global_step_ "
                    "= %d >= %d = new_global_step.", self.step, step,
                )  # fmt: skip
            self.step = step

    def check(self, gradient: tuple[Any, ...]) -> None:
        (value,) = gradient
        shape = tuple(value.shape)
        if self.total is not None and shape != tuple(self.total.shape):
            raise _mismatch(tuple(self.total.shape), shape)
        if not dims_lib.is_compatible(shape, self.shape):
            raise _mismatch(self.shape, shape)

    def add(self, gradient: tuple[Any, ...]) -> None:
        (value,) = gradient
        self.total = value.clone() if self.total is None else self.total + value

    def result(self) -> Any:
        return _divided(self.total, self.count) if self.mean else self.total


class SparseAccumulator(Accumulator):
    """A sum of slices of gradients; slices of several gradients count as often.

    As TensorFlow has it, gradients are taken to have their slices in order, each of them once: a
    slice that comes twice in one gradient stays two slices.
    """

    def check(self, gradient: tuple[Any, ...]) -> None:
        indices, values, shape, known = gradient
        if indices.ndim != 1:
            raise refuse(
                "Input indices should be vector but received shape: "
                f"{shape_text(tuple(indices.shape))}"
            )
        if values.ndim == 0:
            raise refuse("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise refuse(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        self._check_shape(shape.tolist(), known)
        self._check_indices(indices)
        self._check_values(tuple(values.shape))

    def _check_shape(self, shape: Sequence[int], known: bool) -> None:
        if self.shape is None or not known:
            return
        if len(shape) < len(self.shape):
            raise refuse(
                f"Shape mismatch: expected shape rank at least {len(self.shape)}, got {len(shape)}"
            )
        for i, size in enumerate(self.shape):
            if size is not None and size != shape[i]:
                raise refuse(f"Shape mismatch: expected shape dim {i} to be {size}, got {shape[i]}")

    def _check_indices(self, indices: Any) -> None:
        limit = self.shape[0] if self.shape else None
        if limit is None:
            return
        outside = torch.nonzero(indices >= limit).reshape(-1)
        if len(outside):
            place = int(outside[0])
            raise refuse(
                f"Shape mismatch: index of slice {place} exceeded limits of shape; index is "
                f"{int(indices[place])} exceeded {limit}"
            )

    def _check_values(self, shape: tuple[int, ...]) -> None:
        expected = self.shape
        if self.total is not None:
            expected = (None, *self.total[1].shape[1:])
            if len(shape) != len(expected):
                raise refuse(
                    f"Shape mismatch: expected values rank {len(expected)}, got {len(shape)}"
                )
        elif expected is not None and len(shape) < len(expected):
            raise refuse(
                f"Shape mismatch: expected values rank at least {len(expected)}, got {len(shape)}"
            )
        for i, size in enumerate(expected or ()):
            if i and size is not None and size != shape[i]:
                raise refuse(
                    f"Shape mismatch: expected values dim {i} to be {size}, got {shape[i]}"
                )

    def add(self, gradient: tuple[Any, ...]) -> None:
        indices, values, *_ = gradient
        if self.total is None:
            self.total = indices.clone(), values.clone(), torch.ones_like(indices)
            return
        rows, sums, counts = self.total
        old, new, length = _merged(rows.tolist(), indices.tolist())
        merged_rows = rows.new_empty(length).index_copy_(0, old, rows).index_copy_(0, new, indices)
        merged = values.new_zeros((length, *values.shape[1:]))
        merged.index_copy_(0, old, sums).index_add_(0, new, values)
        counted = counts.new_zeros(length).index_copy_(0, old, counts)
        counted.index_add_(0, new, torch.ones_like(indices))
        self.total = merged_rows, merged, counted

    def result(self) -> Any:
        rows, sums, counts = self.total
        if self.mean:
            counts = counts.reshape(-1, *[1] * (sums.ndim - 1))
            sums = _divided(sums, counts)
        sizes = list(sums.shape)
        if self.shape:
            for i, size in enumerate(self.shape):
                sizes[i] = sizes[i] if size is None else size
            if self.shape[0] is None:
                sizes[0] = -1
        else:
            sizes[0] = -1
        return rows, sums, torch.tensor(sizes, dtype=torch.int64)


def _merged(old: Sequence[int], new: Sequence[int]) -> tuple[Any, Any, int]:
    """Return the places of two ordered lists' entries in the merged list, and its length."""
    places: tuple[list[int], list[int]] = ([], [])
    i = j = length = 0
    while i < len(old) or j < len(new):
        before = j == len(new) or (i < len(old) and old[i] <= new[j])
        behind = i == len(old) or (j < len(new) and new[j] <= old[i])
        if before:
            places[0].append(length)
            i += 1
        if behind:
            places[1].append(length)
            j += 1
        length += 1
    first, second = (torch.tensor(each, dtype=torch.int64) for each in places)
    return first, second, length


class _Take(Attempt):
    __slots__ = ("accumulator", "required")

    def __init__(self, accumulator: Accumulator, required: int) -> None:
        super().__init__("TakeGrad", 1)
        self.accumulator = accumulator
        self.required = required

    def run(self) -> bool | None:
        accumulator = self.accumulator
        if accumulator.count < self.required:
            return False
        self.taken = [accumulator.result()]
        accumulator.step += 1
        accumulator.count, accumulator.total = 0, None
        return self.finish()


def _divided(total: Any, count: Any) -> torch.Tensor:
    if total.is_floating_point() or total.is_complex():
        return total / (count.to(total.dtype) if torch.is_tensor(count) else count)
    return torch.div(total, count, rounding_mode="trunc").to(total.dtype)


def _mismatch(expected: Dims, got: Sequence[int]) -> errors.OpError:
    return refuse(f"Shape mismatch: expected {shape_text(expected)}, got {shape_text(got)}")


refuse = errors.invalid_argument


def scalar(value: Any, what: str) -> int:
    """Return the number in an argument; InvalidArgumentError unless it is a scalar."""
    if value.ndim:
        shape = shape_text(tuple(np.shape(value)))
        raise refuse(f"Argument {what} must be scalar, but had bad shape {shape}")
    return int(value)
