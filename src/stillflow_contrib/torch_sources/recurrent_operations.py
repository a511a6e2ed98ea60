"""Operations that are whole recurrent networks, as layers of PyTorch: CudnnRNN and BlockLSTM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.export.capture import Parameter
from stillflow.export.layers import Layer, LayerFinder, dtype_of
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.recurrent.cudnn_layout import Layout
from stillflow.runtime.ir.steps import Step
from stillflow_contrib.torch_sources.recurrent_cells import BlockLstmCell, layer_of, run_layer

if TYPE_CHECKING:
    from stillflow.export.body import Body

_CUDNN = ("CudnnRNN", "CudnnRNNV2")
_KINDS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}


class OperationCall:
    """An operation as the call of its layer.

    Args:
      finder: of the program's layers.
      step: the operation's step.
      layer: its layer.
      results: names of outputs, and of last states, or "" for those that nothing takes.
      inside: steps whose results these are.
    """

    def __init__(
        self, finder: LayerFinder, step: Step, layer: Layer, results: list[str], inside: list[Step],
    ) -> None:  # fmt: skip
        assert step.op is not None
        self.finder, self.step, self.layer, self.inside = finder, step, layer, inside
        self.results, self.given = results, [name for name in results if name]
        inputs = step.op._inputs
        self.inputs = inputs[:3] if step.op.type in _CUDNN else [inputs[1], inputs[3], inputs[2]]
        self.inputs = self.inputs[: 3 if self.is_lstm else 2]
        self.taken = [finder.name(tensor) for tensor in self.inputs]

    @property
    def is_lstm(self) -> bool:
        return self.layer.make.startswith("nn.LSTM")

    def write(self, body: Body) -> None:
        """Write the call."""
        assert self.step.op is not None
        body.model.layer(self.layer)
        series, *state = (body.expression(self.finder.name(tensor)) for tensor in self.inputs)
        names = [body.name_for(each, None) if each else "_" for each in self.results]
        names = names[: 1 + len(state)]
        if self.step.op.type in _CUDNN:
            given = f"({', '.join(state)})" if self.is_lstm else state[0]
            targets = f"{names[0]}, ({names[1]}, {names[2]})" if self.is_lstm else ", ".join(names)
            text = f"{targets} = {self.layer.call(body)}({series}, {given})"
        else:
            function = body.model.functions.name_of(run_layer)
            given = ", ".join([self.layer.call(body), series, *state])
            text = f"{', '.join(names)} = {function}({given})"
        body.line(text, self.step.op.name, self.step.guard)


def operation_call(finder: LayerFinder, step: Step) -> OperationCall | None:
    """Return the call for a step that is a whole network; None if it is no layer of PyTorch."""
    if step.kind != "call" or step.op is None or len(step.outputs) < 2:
        return None
    if step.op.type in _CUDNN:
        return _cudnn(finder, step, step.op)
    return _block(finder, step, step.op) if step.op.type == "BlockLSTM" else None


def _cudnn(finder: LayerFinder, step: Step, op: Operation) -> OperationCall | None:
    attrs, params = op.attrs, finder.parameter(op._inputs[3])
    mode, both = attrs["rnn_mode"].decode(), attrs["direction"] == b"bidirectional"
    drops = attrs["dropout"] and attrs["is_training"]
    dims, state = (list(finder.program.dims(op._inputs[k]) or ()) for k in (0, 1))
    if params is None or not params.trainable or drops or attrs["input_mode"] == b"skip_input":
        return None
    sizes = [*dims[2:], *state[:1], *state[2:]]
    if len(sizes) != 3 or None in sizes:
        return None
    depth, count, units = (size or 0 for size in sizes)
    layout = Layout(mode, count // (1 + both), units, depth, 1 + both)
    key = finder.key_for([params])
    used = [bool(finder.uses[name]) for name in step.outputs]
    unused = used[3:] if mode == "lstm" else used[2:]
    if key is None or params.value.numel() != layout.size or any(unused):
        return None
    options = [str(layout.input_size), str(layout.units)]
    options += [f"num_layers={layout.layers}"] if layout.layers > 1 else []
    options += ['nonlinearity="relu"'] if mode == "rnn_relu" else []
    options += [*(["bidirectional=True"] if both else []), *dtype_of(params)]
    layer = Layer(key, f"nn.{_KINDS[mode]}({', '.join(options)})", lambda _: f"self.{key}")
    layer.weights = _cudnn_weights(params, layout)
    finder.keys.add(key)
    results = [name if use else "" for name, use in zip(step.outputs, used, strict=True)]
    return OperationCall(finder, step, layer, results[:3], [])


def _cudnn_weights(params: Parameter, layout: Layout) -> dict[str, tuple[Any, ...]]:
    """Return the parts of a vector of weights and biases, by PyTorch's names."""
    half = layout.biases // 2 * layout.units
    names: list[tuple[str, int, tuple[int, ...]]] = [
        (kind, part, shape) for part in range(layout.parts)
        for kind, shape in zip(("weight_ih", "weight_hh"), layout.joined(part), strict=True)
    ]  # fmt: skip
    names += [(k, part, (half,)) for part in range(layout.parts) for k in ("bias_ih", "bias_hh")]
    found, start = {}, 0
    for kind, part, shape in names:
        layer, back = divmod(part, layout.directions)
        end = start + shape[0] * (shape[1] if len(shape) > 1 else 1)
        name = f"{kind}_l{layer}{'_reverse' if back else ''}"
        found[name] = (params, None, (start, end), None, shape)
        start = end
    return found


def _block(finder: LayerFinder, step: Step, op: Operation) -> OperationCall | None:
    """Return the call of an LSTM over a series, of whose memory at most the last one is taken."""
    attrs, (_, memory, *_, outputs) = op.attrs, step.outputs
    others = [name for name in step.outputs if name not in (memory, outputs)]
    last = [s for s in finder.program.steps if memory in s.inputs]
    if attrs["use_peephole"] or attrs["cell_clip"] > 0 or any(finder.uses[n] for n in others):
        return None
    if not _is_count(finder, op._inputs[0], op._inputs[1]):
        return None
    if (
        len(last) != finder.uses[memory]
        or len(last) > 1
        or not all(_is_last(finder, each) for each in last)
    ):
        return None
    names = {"weights": finder.name(op._inputs[4]), "bias": finder.name(op._inputs[8])}
    cell = BlockLstmCell(names, set())

    def own(name: str) -> Parameter | None:
        found = finder.program.parameters.get(name)
        return found if found is not None and finder.held[found.name] == 1 else None

    layer = layer_of(finder, cell, own, float(attrs["forget_bias"]), "_l0")
    results = [outputs, "", last[0].outputs[0] if last else ""]
    return None if layer is None else OperationCall(finder, step, layer, results, last)


def _is_last(finder: LayerFinder, step: Step) -> bool:
    """Return True for the last element of a series."""
    if step.op is None or step.op.type != "StridedSlice":
        return False
    begin = finder.tracer.facts.value(step.op._inputs[1])
    return begin is not None and begin.tolist() == [-1] and step.op.attrs["shrink_axis_mask"] == 1


def _is_count(finder: LayerFinder, count: Tensor, series: Tensor) -> bool:
    """Return True if a number is the length of a series."""
    known, dims = finder.tracer.facts.value(count), finder.program.dims(series)
    if known is not None:
        return dims is not None and dims[0] == known
    while count.op.type in ("Cast", "Identity"):
        count = count.op._inputs[0]
    begin = finder.tracer.facts.value(count.op._inputs[1]) if len(count.op._inputs) == 4 else None
    if begin is None or begin.tolist() != [0] or count.op._inputs[0].op.type != "Shape":
        return False
    return finder.name(count.op._inputs[0].op._inputs[0]) == finder.name(series)
