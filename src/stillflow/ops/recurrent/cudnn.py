"""Whole recurrent networks as one operation, which TensorFlow has for GPUs only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.kernels import torch_type
from stillflow.ops.recurrent.cudnn_layout import Layout
from stillflow.ops.recurrent.cudnn_network import Network

_HOW = """
    rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"
    input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"
    direction: {"unidirectional", "bidirectional"} = "unidirectional"
    dropout: float = 0
    seed: int = 0
    seed2: int = 0
"""
_T = "T: {half, float, double}\n"
_STATE = "input: T, input_h: T, input_c: T, params: T"
_RESULT = "output: T, output_h: T, output_c: T"
_BACK = "output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T"
_BY = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"
_HOST = ", host_reserved: int8"
_TRAINS = "is_training: bool = true\n"
_PROJECTED = "num_proj: int = 0\n"
_MAJOR = "time_major: bool = true\n"
_STATEFUL = "flags: stateful"

# Forward operations by version, and their gradients: how the versions differ.
_VERSIONS = {"": ("", "", "", ""), "V2": ("", _HOST, "", ""),
             "V3": (", sequence_lengths: int32", _HOST, _PROJECTED, _MAJOR)}  # fmt: skip
forward_ops, backward_ops = {}, {}
for _version, (_lengths, _host, _proj, _major) in _VERSIONS.items():
    forward_ops[_version] = op(
        f"CudnnRNN{_version}({_STATE}{_lengths}) -> ({_RESULT}, reserve_space: T{_host})\n"
        f"{_T}{_HOW}{_proj}{_TRAINS}{_major}{_STATEFUL}",
        cost=Cost("unknown"),
    )
    backward_ops[_version] = op(
        f"CudnnRNNBackprop{_version}({_STATE}{_lengths}, {_RESULT}, {_BACK}{_host}) -> ({_BY})\n"
        f"{_T}{_HOW}{_proj}{_major}{_STATEFUL}",
        cost=Cost("unknown"),
    )
_SIZES = "num_layers: int32, num_units: int32, input_size: int32"
cudnn_rnn_params_size_op = op(
    f"CudnnRNNParamsSize({_SIZES}) -> params_size: S\n{_T}S: {{int32, int64}}\n{_HOW}{_PROJECTED}",
    numbers=("num_layers", "num_units", "input_size"),
    cost=Cost("unknown"),
)
_LISTS = {
    "": ("weights: num_params*T, biases: num_params*T", "num_params: int >= 1\n", ""),
    "V2": ("weights: num_params_weights*T, biases: num_params_biases*T",
           "num_params_weights: int >= 1\nnum_params_biases: int >= 1\n", _PROJECTED),
}  # fmt: skip
to_params_ops, to_canonical_ops = {}, {}
for _version, (_lists, _counts, _proj) in _LISTS.items():
    to_params_ops[_version] = op(
        f"CudnnRNNCanonicalToParams{_version}({_SIZES}, {_lists}) -> params: T\n"
        f"{_T}{_counts}{_HOW}{_proj}",
        numbers=("num_layers", "num_units", "input_size"),
        cost=Cost("unknown"),
    )
    to_canonical_ops[_version] = op(
        f"CudnnRNNParamsToCanonical{_version}({_SIZES}, params: T) -> ({_lists})\n"
        f"{_T}{_counts}{_HOW}{_proj}",
        numbers=("num_layers", "num_units", "input_size"),
        cost=Cost("unknown"),
    )


def _text(value: bytes) -> str:
    return value.decode()


def _layout(node: Node, layers: int, units: int, input_size: int) -> Layout:
    mode = _text(node.input_mode)
    if mode == "skip_input" and units != input_size:
        raise ValueError(
            f"input_mode skip_input needs inputs of size num_units, {units}, got {input_size}"
        )
    skips = mode == "skip_input" or (mode == "auto_select" and units == input_size)
    directions = 2 if node.direction == b"bidirectional" else 1
    projection = node.op.attrs.get("num_proj", 0)
    mode = _text(node.rnn_mode)
    return Layout(mode, layers, units, input_size, directions, projection, skips)


# ---- shapes


def _forward_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    dims = dims_lib.with_rank(node.dims(0), 3)
    state = dims_lib.with_rank(node.dims(1), 3)
    dims_lib.with_rank(node.dims(3), 1)
    lengths = len(node.inputs) > 4
    if lengths:
        dims_lib.with_rank(node.dims(4), 1)
    is_lstm = node.rnn_mode == b"lstm"
    if lengths and is_lstm:
        dims_lib.with_rank(node.dims(2), 3)
    size = None if state is None or state[2] is None else state[2]
    both = size if size is None else size * (2 if node.direction == b"bidirectional" else 1)
    output = (None, None, both) if dims is None else (*dims[:2], both)
    state = (None, None, None) if state is None else state
    memory = (node.dims(2) if lengths else state) if is_lstm else ()
    return [output, state, memory, *[None] * (len(node.outputs) - 3)]


def _backward_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    return [node.dims(index) for index in range(4)]


for _card in forward_ops.values():
    _card.shape(_forward_shape)
for _card in backward_ops.values():
    _card.shape(_backward_shape)


@cudnn_rnn_params_size_op.shape
def cudnn_rnn_params_size_shape(node: Node) -> OutputDims:
    for index in range(3):
        dims_lib.with_rank(node.dims(index), 0)
    return (1,)


def _canonical_shape(node: Node) -> list[tuple[int | None, ...]]:
    dims_lib.with_rank(node.dims(3), 1)
    attrs = node.op.attrs
    count = attrs.get("num_params", attrs.get("num_params_weights", 0))
    return [(None, None)] * count + [(None,)] * (len(node.outputs) - count)


for _card in to_canonical_ops.values():
    _card.shape(_canonical_shape)
for _card in to_params_ops.values():
    _card.shape(lambda node: (None,))


# ---- kernels


@cudnn_rnn_params_size_op.kernel
def cudnn_rnn_params_size_kernel(node: Node) -> Kernel:
    kind = torch_type(node.S)

    def size(layers: Any, units: Any, input_size: Any) -> Any:
        return torch.tensor([_layout(node, int(layers), int(units), int(input_size)).size],
                            dtype=kind)  # fmt: skip

    return size


def _to_params_kernel(node: Node) -> Callable[..., Any]:
    def join(layers: Any, units: Any, input_size: Any, *parts: Any) -> torch.Tensor:
        expected = _layout(node, int(layers), int(units), int(input_size)).size
        params = torch.cat([part.reshape(-1) for part in parts])
        if params.shape[0] != expected:
            raise ValueError(f"Params size mismatch. Expected {expected}, got {params.shape[0]}")
        return params

    return join


def _to_canonical_kernel(node: Node) -> Callable[..., Any]:
    wanted = len(node.outputs)

    def split(layers: Any, units: Any, input_size: Any, params: Any) -> list[Any]:
        layout = _layout(node, int(layers), int(units), int(input_size))
        if params.shape[0] != layout.size:
            raise ValueError(f"Params size mismatch. Expected {layout.size}, got {params.shape[0]}")
        weights, biases = layout.canonical(params)
        if len(weights) + len(biases) != wanted:
            raise ValueError(f"Number of params mismatch. Expected {wanted}, got "
                             f"{len(weights) + len(biases)}")  # fmt: skip
        return [part.clone() for part in (*weights, *biases)]

    return split


for _card in to_params_ops.values():
    _card.kernel(_to_params_kernel)
for _card in to_canonical_ops.values():
    _card.kernel(_to_canonical_kernel)


def _network(node: Node, x: Any, h: Any, c: Any, params: Any) -> Network:
    """Return the network of an operation with inputs of these sizes."""
    time_major = node.op.attrs.get("time_major", True)
    directions = 2 if node.direction == b"bidirectional" else 1
    parts = h.shape[0 if time_major else 1]
    is_projected = node.op.attrs.get("num_proj", 0) and node.rnn_mode == b"lstm"
    units = (c if is_projected else h).shape[2]
    layout = _layout(node, parts // directions, units, x.shape[2])
    if params.shape[0] != layout.size or parts % directions:
        raise ValueError(f"Invalid params shape: [{params.shape[0]}], expected [{layout.size}]")
    return Network(layout, node.dropout, time_major)


def _forward_kernel(node: Node) -> Callable[..., Any]:
    seeds = (node.seed, node.seed2)
    trains, extra = node.is_training, len(node.outputs) - 4
    generator = None
    if any(seeds):
        generator = node.own_state(lambda: torch.Generator().manual_seed(hash(seeds) & 0x7FFFFFFF))

    def run(x: Any, h: Any, c: Any, params: Any, lengths: Any = None) -> list[torch.Tensor]:
        network = _network(node, x, h, c, params)
        masks = network.masks(x, generator) if trains else x.new_zeros((0,))
        results = network.run(x, h, c, params, masks, lengths)
        return [*results, masks, *[torch.zeros((0,), dtype=torch.int8)] * extra]

    return run


def _backward_kernel(node: Node) -> Callable[..., Any]:
    has_lengths = node.op.type.endswith("V3")

    def run(x: Any, h: Any, c: Any, params: Any, *rest: Any) -> list[torch.Tensor]:
        lengths, rest = (rest[0], rest[1:]) if has_lengths else (None, rest)
        grads, masks = rest[3:6], rest[6]
        network = _network(node, x, h, c, params)
        return network.gradients(x, h, c, params, masks, lengths, grads)

    return run


for _card in forward_ops.values():
    _card.kernel(_forward_kernel)
for _card in backward_ops.values():
    _card.kernel(_backward_kernel)


def _gradient(node: Node, *grads: Any) -> list[Tensor | None]:
    kind = node.op.type
    if not node.is_training:
        raise ValueError(f"To use {kind} in gradients, is_training must be set to True.")
    names = ["dropout", "seed", "seed2", "rnn_mode", "input_mode", "direction"]
    names += ["time_major", "num_proj"] if kind.endswith("V3") else []
    found = backward_ops[kind.removeprefix("CudnnRNN")](
        *node.inputs,
        *node.outputs[:3],
        *grads[:3],
        *node.outputs[3:],
        **{name: getattr(node, name) for name in names},
    )
    return [*found, None] if kind.endswith("V3") else list(found)


for _card in forward_ops.values():
    _card.gradient(_gradient)
