"""Layers of LSTM cells over all time steps, forward and backward.

The inputs' part of the gates is one product for all steps. float32 on processors runs in C
(native/lstm_layer.c), everything else step by step in torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.linalg import onednn_products
from stillflow.ops.native_calls import int64s

# Columns of the weights: input gate, new memory, forget gate, output gate.
_PLACES = (0, 1, 2, 3)
LANES = 16  # numbers of a vector in the native loops
Peepholes = tuple[Any, Any, Any]
_NONE: Peepholes = (None, None, None)
MOST = 1 << 24  # bytes of gates that are computed before their steps
FEW = 16  # rows, of which the native loop multiplies the inputs for all steps before them


class _Layer(ctypes.Structure):
    """`Layer` of native/lstm_layer.c."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("steps", "rows", "depth", "cells")),
        ("places", ctypes.c_void_p), ("forget_bias", ctypes.c_double),
        ("peepholes", ctypes.c_void_p * 3),
        *((name, ctypes.c_void_p) for name in ("weights", "bias", "packed")),
        ("is_packed", ctypes.c_int64), ("inputs", ctypes.c_void_p),
        ("of_step", ctypes.c_int64), ("of_row", ctypes.c_int64),
        ("room", ctypes.c_void_p), ("span", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("ended", "gates")),
        ("parts", ctypes.c_void_p * 6), ("of_outputs", ctypes.c_void_p),
        ("results", ctypes.c_void_p * 9), ("memory", ctypes.c_void_p),
        ("output", ctypes.c_void_p), ("threads", ctypes.c_int64),
    ]  # fmt: skip


@dataclass
class Steps:
    """Results of all steps, [time, batch, cells] each.

    Attributes:
      parts: input gate, new memory, forget gate, output gate, activated memory; None unless kept.
      memory, output: results of each step.
      state_memory, state_output: the state after each step: the same, but for sequences that have
        ended.
    """

    parts: list[Any] | None
    memory: Any
    output: Any
    state_memory: Any
    state_output: Any


def lstm_layer(
    x: Any, weights: Any, bias: Any, state: tuple[Any, Any], forget_bias: float, ended: Any,
    keep: bool, peepholes: Peepholes = _NONE, packed: list[Any] | None = None,
) -> Steps:  # fmt: skip
    """Run a layer.

    Args:
      x: the inputs, [time, batch, depth].
      weights: of inputs and outputs, [depth + cells, 4 * cells].
      bias: [4 * cells].
      state: memory and output before the first step, [batch, cells].
      forget_bias: added to the forget gate before its activation.
      ended: [time, batch], True where a sequence keeps its state; None without lengths.
      keep: whether a gradient needs the parts.
      peepholes: of the input, forget and output gate, [cells] each; None without.
      packed: keeps the weights as the native loop takes them, for further calls with the same
        weights and biases.
    """
    memory, output = (each.contiguous() for each in state)
    time, (rows, cells) = x.shape[0], memory.shape
    depth = x.shape[2]
    _check(memory, [output], weights, depth, time, ended, peepholes)
    if bias.shape != (4 * cells,) or x.shape[1] != rows:
        raise ValueError(f"bias {tuple(bias.shape)}, inputs {tuple(x.shape)}: not for the state")

    def empty() -> Any:
        return memory.new_empty((time, rows, cells))

    parts = [empty() for _ in range(5)] if keep else None
    made = Steps(parts, empty(), empty(), None, None)
    made.state_memory = made.memory if ended is None else empty()
    made.state_output = made.output if ended is None else empty()
    if not made.memory.numel():
        return made
    given = made, x, weights, bias, memory, output, forget_bias, ended, peepholes
    fits = native_calls.take(weights, bias, memory, output, *_there(peepholes))
    if fits and x.is_cpu and x.dtype == bias.dtype:
        _forward_natively(*given, [] if packed is None else packed)
    else:
        _forward(*given)
    return made


def product(x: Any, y: Any, bias: Any = None) -> Any:
    """Return the product of two matrices, by oneDNN where torch has it, and a bias.

    torch's own product is by MKL, which is slower on processors other than Intel's; the layers of
    torch.nn.LSTM are by oneDNN.
    """
    is_float = x.is_cpu and x.dtype == torch.float32 and x.numel() and y.numel()
    if is_float and onednn_products.is_available():
        return onednn_products.linear(x, y.t(), bias)
    return x @ y if bias is None else torch.addmm(bias, x, y)


def _check(
    memory: Any, others: Sequence[Any], weights: Any, depth: int, steps: int, ended: Any,
    peepholes: Peepholes,
) -> None:  # fmt: skip
    """Raise ValueError for operands that do not fit; the native loops rely on their sizes."""
    rows, cells = memory.shape
    fits = weights.shape == (depth + cells, 4 * cells)
    fits = fits and all(each.shape == memory.shape for each in others)
    fits = fits and all(each.shape == (cells,) for each in _there(peepholes))
    if ended is not None:
        fits = fits and ended.shape == (steps, rows) and ended.dtype == torch.bool
    if not fits:
        wrong = tuple(weights.shape)
        raise ValueError(f"weights {wrong} or a step: not for a state of {tuple(memory.shape)}")


def _forward(
    made: Steps, x: Any, weights: Any, bias: Any, memory: Any, output: Any, forget_bias: float,
    ended: Any, peepholes: Peepholes,
) -> None:  # fmt: skip
    of_inputs, recurrent = weights[: x.shape[2]], weights[x.shape[2] :]
    parts = x.split(max(1, MOST // (output.numel() * 4 * x.element_size())))
    inputs = (part.reshape(-1, x.shape[2]) for part in parts)
    gates = (product(part, of_inputs, bias).split(len(output)) for part in inputs)
    for step, given in enumerate(chain.from_iterable(gates)):
        i, ci, f, o = torch.addmm(given, output, recurrent).chunk(4, 1)
        f = f + forget_bias
        i = (i if peepholes[0] is None else i + peepholes[0] * memory).sigmoid()
        f = (f if peepholes[1] is None else f + peepholes[1] * memory).sigmoid()
        ci = ci.tanh()
        new = torch.add(i * ci, f * memory, out=made.memory[step])
        o = (o if peepholes[2] is None else o + peepholes[2] * new).sigmoid()
        co = new.tanh()
        out = torch.mul(o, co, out=made.output[step])
        if made.parts is not None:
            for store, part in zip(made.parts, (i, ci, f, o, co), strict=True):
                store[step] = part
        if ended is None:
            memory, output = new, out
        else:
            stays = ended[step][:, None]
            memory = torch.where(stays, memory, new, out=made.state_memory[step])
            output = torch.where(stays, output, out, out=made.state_output[step])


def _forward_natively(
    made: Steps, x: Any, weights: Any, bias: Any, memory: Any, output: Any, forget_bias: float,
    ended: Any, peepholes: Peepholes, packed: list[Any],
) -> None:  # fmt: skip
    (time, rows, depth), panels = x.shape, -(-memory.shape[1] // LANES)
    x = x if x.stride(2) == 1 and rows >= FEW else x.contiguous()
    span = min(time, max(1, MOST // (rows * panels * 4 * LANES * 4)))
    room = None if rows >= FEW else memory.new_empty((span, rows, panels, 4, LANES))
    layer, held = _layer(time, memory, weights, ended, peepholes)
    layer.is_packed = len(packed)
    kept = packed[0] if packed else memory.new_empty((panels, 1 + len(weights), 4, LANES))
    layer.depth, layer.forget_bias, layer.bias = depth, forget_bias, bias.data_ptr()
    layer.span = time if room is None else span
    layer.packed, layer.inputs = kept.data_ptr(), x.data_ptr()
    # Axes of one element have any stride.
    layer.of_step, layer.of_row = x.stride()[:2] if room is None else (rows * depth, depth)
    layer.room = None if room is None else room.data_ptr()
    parts = made.parts or [None] * 5
    results = (*parts, made.memory, made.output, made.state_memory, made.state_output)
    layer.results = (ctypes.c_void_p * 9)(
        *(None if each is None else each.data_ptr() for each in results)
    )
    layer.memory, layer.output = memory.data_ptr(), output.data_ptr()
    library: Any = native.library()
    library.lstm_layer(ctypes.byref(layer))
    packed[:] = [kept]
    del held


def lstm_layer_gradient(
    parts: Sequence[Sequence[Any]], of_outputs: Sequence[Any] | None, weights: Any, depth: int,
    state: tuple[Any, Any], ended: Any, backwards: bool, of_ended: bool = False,
    peepholes: Peepholes = _NONE,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the gradients of the gates, and those of memory and output before the first step.

    Steps come in the order in which gradients are computed, the last one first.

    Args:
      parts: of each step i, ci, f, o, co and the memory before, [batch, cells].
      of_outputs: gradients of each step's output; None without.
      weights: [depth + cells, 4 * cells].
      depth: of the inputs.
      state: gradients of memory and output after the last step.
      ended: [steps, batch], True where a sequence keeps its state; None without lengths.
      backwards: whether the gradients of gates [time, batch, 4 * cells] are to be stored in the
        order of time.
      of_ended: whether the gradients of ended sequences' outputs count.
    """
    memory, output = (each.clone(memory_format=torch.contiguous_format) for each in state)
    rows, cells = memory.shape
    count = len(parts[0])
    steps = [each for step in (*parts, of_outputs or ()) for each in step]
    _check(memory, [output, *steps], weights, depth, count, ended, peepholes)
    stored = memory.new_empty((count, rows, 4 * cells))
    gates = stored.unbind()[::-1] if backwards else stored.unbind()
    recurrent = weights[depth:]
    if not memory.numel():
        return stored, memory, output
    if ended is not None and of_outputs is not None and not of_ended:
        of_outputs = torch.where(ended[:, :, None], 0, torch.stack(list(of_outputs))).unbind()
    if not native_calls.take(memory, output, weights, *steps, *_there(peepholes)):
        memory, output = _backward(
            parts, of_outputs, recurrent, memory, output, ended, gates, peepholes
        )
        return stored, memory, output
    layer, held = _layer(count, memory, recurrent, ended, peepholes)
    packed = memory.new_empty((-(-cells // LANES), 4 * cells, LANES))
    layer.packed = packed.data_ptr()
    tables = [table_of(each) for each in (*parts, gates)]
    layer.parts = (ctypes.c_void_p * 6)(*map(ctypes.addressof, tables[:6]))
    layer.gates = ctypes.addressof(tables[6])
    if of_outputs is not None:
        tables.append(table_of(of_outputs))
        layer.of_outputs = ctypes.addressof(tables[7])
    layer.memory, layer.output = memory.data_ptr(), output.data_ptr()
    library: Any = native.library()
    library.lstm_layer_gradient(ctypes.byref(layer))
    del held
    return stored, memory, output


def _backward(
    parts: Sequence[Sequence[Any]], of_outputs: Sequence[Any] | None, recurrent: Any, memory: Any,
    output: Any, ended: Any, gates: Sequence[Any], peepholes: Peepholes,
) -> tuple[Any, Any]:  # fmt: skip
    back = recurrent.t()
    for step, (i, ci, f, o, co, before) in enumerate(zip(*parts, strict=True)):
        dh, dc = output, memory
        if ended is not None:
            stays = ended[step][:, None]
            dh, dc = torch.where(stays, 0, dh), torch.where(stays, 0, dc)
        if of_outputs is not None:
            dh = dh + of_outputs[step]
        of_o = dh * co * o * (1 - o)
        dcs = dc + dh * o * (1 - co * co)
        dcs = dcs if peepholes[2] is None else dcs + peepholes[2] * of_o
        of_i, of_f = dcs * ci * i * (1 - i), dcs * before * f * (1 - f)
        torch.cat((of_i, dcs * i * (1 - ci * ci), of_f, of_o), 1, out=gates[step])
        of_memory, of_output = dcs * f, gates[step] @ back
        for peephole, of_gate in zip(peepholes, (of_i, of_f), strict=False):
            of_memory = of_memory if peephole is None else of_memory + peephole * of_gate
        if ended is not None:
            of_memory = of_memory + torch.where(stays, memory, 0)
            of_output = of_output + torch.where(stays, output, 0)
        memory, output = of_memory, of_output
    return memory, output


def _there(peepholes: Peepholes) -> list[Any]:
    return [each for each in peepholes if each is not None]


def _layer(
    steps: int, memory: Any, weights: Any, ended: Any, peepholes: Peepholes
) -> tuple[_Layer, list[Any]]:
    """Return the sizes and weights of a layer for the native loop, and what to keep meanwhile."""
    rows, cells = memory.shape
    places = int64s(_PLACES)
    layer = _Layer(steps=steps, rows=rows, cells=cells, places=ctypes.addressof(places))
    layer.weights = weights.data_ptr()
    layer.threads = torch.get_num_threads()
    for number, each in enumerate(peepholes):
        layer.peepholes[number] = None if each is None else each.data_ptr()
    held = [places]
    if ended is not None:
        ended = ended.contiguous()
        layer.ended = ended.data_ptr()
        held.append(ended)
    return layer, held


def table_of(tensors: Sequence[Any]) -> Any:
    """Return the addresses of tensors for a native loop."""
    return int64s([tensor.data_ptr() for tensor in tensors])
