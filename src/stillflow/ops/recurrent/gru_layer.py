"""Layers of gated recurrent units, or of tanh cells, over all time steps, forward and backward.

The inputs' parts are products for all steps; the rest of each step is native/gru_layer.c, which
takes float32 in host memory. Weights and biases come in pairs: those of both gates, [depth + cells,
2 * cells] with the reset gate first, and those of the candidate, [depth + cells, cells]. A tanh
cell has None instead of gates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.recurrent.lstm_layer import LANES, MOST, product, table_of

_Pair = tuple[Any, Any]


class _Units(ctypes.Structure):
    """`Units` of native/gru_layer.c."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("steps", "rows", "cells")),
        ("weights", ctypes.c_void_p * 2), ("packed", ctypes.c_void_p * 2),
        ("ended", ctypes.c_void_p), ("given", ctypes.c_void_p * 2),
        ("parts", ctypes.c_void_p * 5), ("stride", ctypes.c_int64),
        ("of_outputs", ctypes.c_void_p), ("results", ctypes.c_void_p * 5),
        ("state", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
    ]  # fmt: skip


class Steps(NamedTuple):
    """Results of all steps, [time, batch, cells] each.

    Attributes:
      candidate: of the new output; that itself in cells without gates.
      reset_state: product of reset gate and state before; None without gates.
      gates: reset and update gate side by side; None without.
      output: of each step.
      state: after each step: the same, but for sequences that have ended.
    """

    candidate: Any
    reset_state: Any
    gates: Any
    output: Any
    state: Any


def gru_layer(x: Any, weights: _Pair, biases: _Pair, state: Any, ended: Any) -> Steps:
    """Run a layer.

    Args:
      x: the inputs, [time, batch, depth].
      weights, biases: pairs for the gates and for the candidate.
      state: before the first step, [batch, cells].
      ended: [time, batch], True where a sequence keeps its state; None without lengths.

    Raises:
      ValueError: for operands that the native loop does not take.
    """
    (time, batch, depth), (rows, cells) = x.shape, state.shape
    x, state = x.contiguous(), state.contiguous()
    ended = None if ended is None else ended.contiguous()
    _check(weights, depth, state, ended, time, [x, state], [])
    fits = [bias is None or bias.shape == each.shape[1:]
            for bias, each in zip(biases, weights, strict=True) if each is not None]  # fmt: skip
    if not all(fits) or batch != rows:
        raise ValueError(f"biases or inputs {tuple(x.shape)}: not for {rows, cells}")
    output = state.new_empty((time, rows, cells))
    gated = weights[0] is not None
    made = Steps(
        torch.empty_like(output) if gated else output,
        torch.empty_like(output) if gated else None,
        state.new_empty((time, rows, 2 * cells)) if gated else None,
        output, output if ended is None else torch.empty_like(output),
    )  # fmt: skip
    if not output.numel():
        return made
    span = max(1, MOST // (rows * cells * 3 * x.element_size()))
    for start in range(0, time, span):
        part = slice(start, start + span)
        inputs = x[part].reshape(-1, depth)
        layer, held = _units(weights, depth, state, None if ended is None else ended[part])
        for number, (each, bias) in enumerate(zip(weights, biases, strict=True)):
            if each is not None:
                given = product(inputs, each[:depth], bias).view(-1, rows, each.shape[1])
                layer.steps = len(given)
                layer.given[number] = _address(given.unbind(), held)
        for number, store in enumerate(made):
            layer.results[number] = None if store is None else store[start].data_ptr()
        _run("gru_layer", layer)
        state = made.state[part][-1]
    return made


def gru_layer_gradient(
    parts: Sequence[Sequence[Any]], of_outputs: Sequence[Any] | None, weights: _Pair, depth: int,
    state: Any, ended: Any, backwards: bool,
) -> tuple[_Pair, Any]:  # fmt: skip
    """Return the gradients of gates and candidate, and that of the state before the first step.

    Steps come in the order in which gradients are computed, the last one first.

    Args:
      parts: of each step the candidate (of a cell without gates, its output alone); and the state
        before, reset gate, update gate and 1 - update gate, [batch, cells].
      of_outputs: gradients of each step's output; None without.
      weights: the pair of them.
      depth: of the inputs.
      state: gradient of the state after the last step.
      ended: [steps, batch], True where a sequence keeps its state; None without lengths.
      backwards: whether the gradients [time, batch, columns] are to be stored in the order of time.

    Raises:
      ValueError: for operands that the native loop does not take.
    """
    count, rows = len(parts[0]), len(state)
    state = state.clone(memory_format=torch.contiguous_format)
    ended = None if ended is None else ended.contiguous()
    plain = [*parts[:2], *parts[4:], *([of_outputs] if of_outputs is not None else [])]
    steps = [each for step in plain for each in step]
    gates = [each for step in parts[2:4] for each in step]
    _check(weights, depth, state, ended, count, [state, *steps], gates)
    stored = [
        None if each is None else state.new_empty((count, rows, each.shape[1])) for each in weights
    ]
    if state.numel():
        layer, held = _units(weights, depth, state, ended)
        layer.steps, layer.stride = count, gates[0].stride(0) if gates else 0
        for number, store in enumerate(stored):
            if store is not None:
                given = store.unbind()[::-1] if backwards else store.unbind()
                layer.given[number] = _address(given, held)
        for number, each in enumerate(parts):
            layer.parts[number] = _address(each, held)
        if of_outputs is not None:
            layer.of_outputs = _address(of_outputs, held)
        _run("gru_layer_gradient", layer)
    return (stored[0], stored[1]), state


def _check(
    weights: _Pair, depth: int, state: Any, ended: Any, steps: int, others: Sequence[Any],
    gates: Sequence[Any],
) -> None:  # fmt: skip
    """Raise ValueError for operands that do not fit; the native loops rely on it."""
    rows, cells = state.shape
    kernels = [each for each in weights if each is not None]
    fits = native_calls.take(*others, *kernels)
    widths = [None if each is None else tuple(each.shape) for each in weights]
    gated = (depth + cells, 2 * cells) if weights[0] is not None else None
    fits = fits and widths == [gated, (depth + cells, cells)]
    fits = fits and all(each.shape == state.shape for each in others if each.dim() == 2)
    strides = gates[0].stride() if gates else ()
    fits = fits and strides[1:] in ((), (1,))
    for each in gates:  # halves of one tensor, mostly
        fits = fits and each.shape == state.shape and each.stride() == strides
        fits = fits and each.dtype == torch.float32
    if ended is not None:
        fits = fits and ended.shape == (steps, rows) and ended.dtype == torch.bool
    if not fits:
        raise ValueError(f"weights {widths} or a step: not for a state of {tuple(state.shape)}")


def _units(weights: _Pair, depth: int, state: Any, ended: Any) -> tuple[_Units, list[Any]]:
    """Return the sizes and weights of a layer for the native loop, and what to keep meanwhile."""
    rows, cells = state.shape
    layer = _Units(rows=rows, cells=cells, threads=torch.get_num_threads())
    layer.state = state.data_ptr()
    held: list[Any] = [state, ended]
    for number, each in enumerate(weights):
        if each is not None:
            recurrent = each[depth:]
            packed = each.new_empty((-(-cells // LANES), each.shape[1], LANES))
            layer.weights[number], layer.packed[number] = recurrent.data_ptr(), packed.data_ptr()
            held += [recurrent, packed]
    if ended is not None:
        layer.ended = ended.data_ptr()
    return layer, held


def _address(steps: Sequence[Any], held: list[Any]) -> int:
    table = table_of(steps)
    held += [table, steps]
    return ctypes.addressof(table)


def _run(name: str, layer: _Units) -> None:
    getattr(native.library(), name)(ctypes.byref(layer))
