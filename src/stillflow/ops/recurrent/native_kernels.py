"""Native kernels of recurrent networks: CTC losses and steps of LSTM cells."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.native_calls import int64s

# ---- losses of CTC

# Losses of connectionist temporal classification by a loop in C, a sequence on each thread.


class _Sequences(ctypes.Structure):
    """`Sequences` of native/ctc.c."""

    _fields_ = [
        ("time", ctypes.c_int64), ("batch", ctypes.c_int64), ("classes", ctypes.c_int64),
        ("lengths", ctypes.c_void_p), ("labels", ctypes.c_void_p), ("ends", ctypes.c_void_p),
        ("merge", ctypes.c_int64),
    ]  # fmt: skip


def ctc_loss_and_gradient(
    logits: np.ndarray, labels: Sequence[Sequence[int]], lengths: np.ndarray, merge_repeated: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `ctc_lattice.loss_and_gradient`; None without a native loop or memory.

    All labels are of a class; a sequence without steps costs nothing.
    """
    library = native.library()
    if library is None or logits.dtype != np.float32:
        return None
    logits, steps = np.ascontiguousarray(logits), np.ascontiguousarray(lengths, np.int64)
    flat = np.fromiter(chain.from_iterable(labels), np.int64)
    ends = np.fromiter(accumulate(map(len, labels), initial=0), np.int64)
    losses, gradient = np.zeros(logits.shape[1], np.float32), np.zeros_like(logits)
    sequences = _Sequences(
        *logits.shape, steps.ctypes.data, flat.ctypes.data, ends.ctypes.data, merge_repeated
    )
    pointers: list[Any] = [each.ctypes.data for each in (logits, losses, gradient)]
    failed = library.ctc_losses(ctypes.byref(sequences), *pointers, torch.get_num_threads())
    return None if failed else (losses, gradient)


# ---- LSTM cells

# Steps of LSTM cells in C: all that they do to single numbers, in one call.


class LstmLoop:
    """The steps of one cell, for tensors that `native_calls.take`.

    Args:
      order: where the input gate, memory, forget gate and output gate stand among the gates.
      peepholes: weights of three gates, [cells] each; none if it is empty.
      rows, cells: the size of the memory.
      outputs: i, cs, f, o, ci, co and, where steps go forward, h: one step's after the other.
    """

    def __init__(
        self, order: Sequence[int], peepholes: Sequence[Any], rows: int, cells: int,
        outputs: Sequence[Any],
    ) -> None:  # fmt: skip
        self._library: Any = native.library()
        self._held = (peepholes, outputs)
        self._size = rows * cells
        self._sizes = (rows, cells, int64s(order), _addresses(peepholes) if peepholes else None)
        self._outputs = _addresses(outputs)
        self._threads = torch.get_num_threads()

    def forward(self, step: int, gates: Any, before: Any, forget_bias: float, clip: float) -> None:
        """Fill the outputs of a step.

        Args:
          step: its number.
          gates: before their activations, [rows, 4 * cells].
          before: the memory.
          forget_bias: bias of the forget gate.
          clip: the largest number in the memory, infinity for any.
        """
        self._library.lstm_forward(
            *self._sizes, forget_bias, clip, gates.data_ptr(), before.data_ptr(), self._outputs,
            step * self._size, self._threads,
        )  # fmt: skip

    def backward(
        self, step: int, before: Any, of_memory: Sequence[Any], of_output: Sequence[Any],
        of_before: Any, of_gates: Any,
    ) -> None:  # fmt: skip
        """Compute the gradients of the memory before a step, and of its gates.

        Args:
          step: its number.
          before: the memory before it.
          of_memory, of_output: two gradients each, which are added up.
          of_before: receives that of the memory; may be the first one of `of_memory`.
          of_gates: receives those of the gates, [rows, 4 * cells].
        """
        given = (each.data_ptr() for each in (*of_memory, *of_output, of_before, of_gates))
        self._library.lstm_backward(
            *self._sizes, before.data_ptr(), self._outputs, step * self._size, *given,
            self._threads,
        )  # fmt: skip


def takes_lstm(*tensors: Any) -> bool:
    """Return True if the loops take these, and there is something to do."""
    return native_calls.take(*tensors) and all(tensor.numel() for tensor in tensors)


def _addresses(tensors: Sequence[Any]) -> Any:
    return int64s([tensor.data_ptr() for tensor in tensors])
