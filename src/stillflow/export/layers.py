"""Steps that are exactly a layer of PyTorch: dense layers, convolutions, embeddings, norms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.export import naming
from stillflow.export.capture import Parameter, Program
from stillflow.graph.operation import Tensor
from stillflow.ops.nn.windows import spatial
from stillflow.ops.torch_sources.layers import padded, paddings, to_first, to_last
from stillflow.ops.torch_sources.parts import same_or_tuple
from stillflow.runtime.ir.facts import PlanNode
from stillflow.runtime.ir.steps import Step

if TYPE_CHECKING:
    from stillflow.export.body import Body

_HWIO_TO_OIHW = (3, 2, 0, 1)
_ADDITIONS = ("BiasAdd", "Add", "AddV2", "BiasAddV1")
# Names that layers have for themselves.
_ATTRIBUTES = frozenset({
    "weight", "bias", "stride", "padding", "dilation", "groups", "in_channels", "out_channels",
    "kernel_size", "transposed", "output_padding", "padding_mode", "in_features", "out_features",
    "eps", "momentum", "affine", "track_running_stats", "num_features", "running_mean",
    "running_var", "num_batches_tracked",
})  # fmt: skip
_LOOKUPS = ("Gather", "GatherV2", "ResourceGather")
_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


@dataclass
class Layer:
    """A module of PyTorch that replaces one or two steps.

    Attributes:
      key: its name in the model.
      make: the expression that makes it.
      call: gives the expression of its result, from the body that it is written into.
      weights: for each of its tensors, the parameter and the order of the parameter's axes; of
        recurrent layers also the rows of the parameter, and the order of the gates.
      constants: tensors that are no variables; they are not trained.
      plain: whether its call stands outside of the branches that it is written in.
    """

    key: str
    make: str
    call: Callable[[Body], str]
    weights: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    plain: bool = False


@dataclass
class Found:
    """The layers of a program.

    Attributes:
      layers: by the identity of the step whose result they give.
      inside: identities of steps that are part of a layer that comes later.
      writers: objects that write the steps of recurrent layers, by identity of the step.
    """

    layers: dict[int, Layer] = field(default_factory=dict)
    writers: dict[int, Any] = field(default_factory=dict)
    inside: set[int] = field(default_factory=set)


# Adds the recurrent layers of a program to those found.
recurrent_layers: Hook[Callable[[LayerFinder], None]] = Hook("export.layers.recurrent_layers")


class LayerFinder:
    """Finder of a program's layers."""

    def __init__(self, program: Program) -> None:
        self.program, self.found = program, Found()
        self.tracer = program.tracer
        self.uses = Counter(name for step in program.steps for name in set(_taken(step)))
        self.uses.update(value.name for _, value in program.outputs)
        self.consumers: dict[str, Step] = {}
        self.held: Counter[str] = Counter()  # steps that take a parameter, by its name
        for step in program.steps:
            for name in set(_taken(step)):
                self.consumers[name] = step
            if step.kind != "read":
                for name in {p.name for n in _taken(step) if (p := program.parameters.get(n))}:
                    self.held[name] += 1
        for _, value in program.outputs:
            if (parameter := program.parameters.get(value.name)) is not None:
                self.held[parameter.name] += 1
        self.scopes = Counter(
            name.rpartition("/")[0] for name in {p.name for p in program.parameters.values()}
        )
        self.keys: set[str] = set()
        self.producer = {name: step for step in program.steps for name in step.outputs}

    def find(self) -> Found:
        """Find them all."""
        recurrent_layers.value(self)
        for step in self.program.steps:
            if step.kind != "call" or step.op is None or id(step) in self.found.inside:
                continue
            kind = step.op.type
            if kind == "Conv2D":
                self._convolution(step)
            elif kind == "MatMul":
                self._dense(step)
            elif kind in _NORMS:
                self._batch_norm(step)
            elif kind in _LOOKUPS:
                self._embedding(step)
        return self.found

    # ---- what steps take

    def name(self, tensor: Tensor) -> str:
        """Return the name of a tensor's value in the plan."""
        return self.tracer.values[tensor].name

    def parameter(self, tensor: Tensor, times: int = 1) -> Parameter | None:
        """Return the parameter behind a tensor, if it has that many consumers."""
        found = self.program.parameters.get(self.name(tensor))
        return found if found is not None and self.held[found.name] == times else None

    def _bias(self, step: Step, count: int) -> tuple[Step, Parameter | None]:
        """Return the step that adds a bias to a step's result, with the bias.

        Else the step itself.
        """
        output = step.outputs[0]
        after = self.consumers.get(output)
        if after is None or after.op is None or self.uses[output] != 1:
            return step, None
        if after.op.type not in _ADDITIONS or after.guard != step.guard:
            return step, None
        if after.op.attrs.get("data_format", b"NHWC") != b"NHWC":
            return step, None
        for tensor in after.op._inputs:
            bias = self.parameter(tensor)
            if bias is not None and tuple(bias.value.shape) == (count,):
                return after, bias
        return step, None

    def key_for(self, parameters: Sequence[Parameter]) -> str | None:
        """Return the name scope that holds these parameters and no other; None if there is none."""
        scopes = {parameter.name.rpartition("/")[0] for parameter in parameters}
        scope = scopes.pop()
        if scopes or not scope or self.scopes[scope] != len(parameters):
            return None
        start = f"{scope}/"
        below = {each[len(start) :].split("/")[0] for each in self.scopes if each.startswith(start)}
        inner = not below.isdisjoint(_ATTRIBUTES)  # others are modules inside of the layer
        key = naming.key_of(scope)
        return None if inner or key in self.keys or self._is_parameter(scope) else key

    def _is_parameter(self, name: str) -> bool:
        return any(parameter.name == name for parameter in self.program.parameters.values())

    def _add(self, step: Step, last: Step, layer: Layer) -> None:
        self.keys.add(layer.key)
        self.found.layers[id(last)] = layer
        if last is not step:
            self.found.inside.add(id(step))

    # ---- layers

    def _convolution(self, step: Step) -> None:
        assert step.op is not None
        image, tensor = step.op._inputs
        weight = self.parameter(tensor)
        node = PlanNode(step.op, self.tracer.facts)
        depth = node.dims(0)
        if weight is None or not weight.trainable or node.data_format != b"NHWC" or depth is None:
            return
        height, width, inputs, outputs = weight.value.shape
        if depth[3] is None or not inputs:
            return
        strides, rates = spatial(node.strides, b"NHWC"), spatial(node.dilations, b"NHWC")
        pairs = paddings(node, (height, width), strides, rates)
        last, bias = self._bias(step, outputs)
        key = self.key_for([weight] if bias is None else [weight, bias])
        if pairs is None or key is None:
            return
        _, padding = padded("", pairs)
        options = [str(depth[3]), str(outputs), same_or_tuple((height, width))]
        options += [f"stride={same_or_tuple(strides)}"] if set(strides) != {1} else []
        options += [f"padding={padding}"] if padding != "0" else []
        options += [f"dilation={same_or_tuple(rates)}"] if set(rates) != {1} else []
        options += [f"groups={depth[3] // inputs}"] if depth[3] != inputs else []
        options += [] if bias is not None else ["bias=False"]
        options += dtype_of(weight)

        def call(body: Body) -> str:
            text, _ = padded(to_first(body.expression(self.name(image)), b"NHWC"), pairs)
            return to_last(f"self.{key}({text})", b"NHWC")

        layer = Layer(key, f"nn.Conv2d({', '.join(options)})", call)
        layer.weights = _weights(weight, _HWIO_TO_OIHW, bias)
        self._add(step, last, layer)

    def _dense(self, step: Step) -> None:
        assert step.op is not None
        weight = self.parameter(step.op._inputs[1])
        if weight is None or not weight.trainable or step.op.attrs["transpose_a"]:
            return
        if step.op.attrs["transpose_b"] or weight.value.dtype.is_complex:
            return
        inputs, outputs = weight.value.shape
        left, *around = self._operand(step, (inputs, outputs))
        last, bias = self._bias(around[-1], outputs)
        key = self.key_for([weight] if bias is None else [weight, bias])
        if key is None:
            return
        self.found.inside.update(id(each) for each in (*around, step) if each is not last)
        options = [str(inputs), str(outputs), *([] if bias is not None else ["bias=False"])]
        layer = Layer(
            key,
            f"nn.Linear({', '.join([*options, *dtype_of(weight)])})",
            lambda body: f"self.{key}({body.expression(self.name(left))})",
        )
        layer.weights = _weights(weight, (1, 0), bias)
        self._add(step, last, layer)

    def _operand(self, step: Step, ends: tuple[int, int]) -> tuple[Any, ...]:
        """Return the operand of a product, and its step; of tensordot those around Reshapes."""
        assert step.op is not None
        tensor = step.op._inputs[0]
        before, after = self.producer.get(self.name(tensor)), self.consumers.get(step.outputs[0])
        first, last = before and before.op, after and after.op
        if not (first and last and before and after and first.type == last.type == "Reshape"):
            return tensor, step
        whole = first._inputs[0]
        given, made = (self.program.dims(t) or () for t in (whole, last._outputs[0]))
        same = given[:-1] == made[:-1] and given[:-1].count(None) < 2
        sizes = last._inputs[1].op._inputs[:1]  # those of the operand, and then the last one
        for each in sizes and sizes[0].op._inputs[:1]:
            axes = self.tracer.facts.value(sizes[0].op._inputs[1])
            ahead = axes is not None and axes.tolist() == list(range(len(given) - 1))
            shape = each.op._inputs and self.name(each.op._inputs[0])
            same = same or (each.op.type == "Shape" and shape == self.name(whole) and ahead)
        once = self.uses[self.name(tensor)] == 1 == self.uses[step.outputs[0]]
        if not same or not once or (*given[-1:], *made[-1:]) != ends or before.guard != after.guard:
            return tensor, step
        return whole, before, after

    def _embedding(self, step: Step) -> None:
        assert step.op is not None
        tensor, indices, *axis = step.op._inputs
        table = self.parameter(tensor)
        if table is None or not table.trainable or table.value.ndim != 2:
            return
        if step.op.attrs.get("batch_dims") or (axis and self.tracer.facts.value(axis[0]) != 0):
            return
        inside = any(scope.startswith(table.name) for scope in self.scopes)
        key = naming.key_of(table.name)
        if inside or key in self.keys or self.tracer.facts.value(indices) is not None:
            return
        rows, columns = table.value.shape

        def call(body: Body) -> str:
            return f"self.{key}({body.expression(self.name(indices))})"

        options = ", ".join([str(rows), str(columns), *dtype_of(table)])
        layer = Layer(key, f"nn.Embedding({options})", call)
        layer.weights = {"weight": (table, None)}
        self._add(step, step, layer)

    def _batch_norm(self, step: Step) -> None:
        """Two normalizations of one image, one for training and one for inference."""
        assert step.op is not None
        if not step.op.attrs["is_training"] or not self._is_training(step, True):
            return
        image = step.op._inputs[0]
        other = next((s for s in self.program.steps if self._rests(s, step)), None)
        before = self.producer.get(self.name(image))
        if other is None or other.op is None or (before and before.guard):
            return
        scale, offset = (self.parameter(tensor, 2) for tensor in other.op._inputs[1:3])
        mean, variance = (self.parameter(tensor, 1) for tensor in other.op._inputs[3:5])
        if scale is None or offset is None or mean is None or variance is None:
            return
        key = self.key_for([scale, offset, mean, variance])
        used = [name for each in (step, other) for name in each.outputs[1:] if self.uses[name]]
        form = step.op.attrs["data_format"]
        if key is None or used or mean.trainable or not (scale.trainable and offset.trainable):
            return
        momentum = _momentum(self.program.graph, mean.name)
        make = f"nn.BatchNorm2d({len(scale.value)}, eps={step.op.attrs['epsilon']!r}"
        make += f", momentum={momentum!r}" if momentum is not None else ""
        make = ", ".join([make, *dtype_of(scale)]) + ")"

        def call(body: Body) -> str:
            text = to_first(body.expression(self.name(image)), form)
            return to_last(f"self.{key}({text})", form)

        layer = Layer(key, make, call, plain=True)
        layer.weights = {
            "weight": (scale, None), "bias": (offset, None),
            "running_mean": (mean, None), "running_var": (variance, None),
        }  # fmt: skip
        self.keys.add(key)
        self.found.layers[id(step)] = self.found.layers[id(other)] = layer

    def _is_training(self, step: Step, truth: bool) -> bool:
        """Return True if a step runs under the training switch alone, when it has this truth."""
        guard = step.guard or ()
        if len(guard) != 1 or guard[0][1] is not truth:
            return False
        switch = next((s for s in self.program.steps if guard[0][0] in s.outputs), None)
        return (
            switch is not None and switch.kind == "bool"
            and switch.inputs[0] in self.program.training
        )  # fmt: skip

    def _is_same(self, one: Tensor, other: Tensor) -> bool:
        names = self.name(one), self.name(other)
        found = [self.program.parameters.get(name) for name in names]
        if found[0] is not None and found[1] is not None:
            return found[0].name == found[1].name
        return names[0] == names[1]

    def _rests(self, step: Step, training: Step) -> bool:
        """Return True for the inference's normalization that belongs to the training's."""
        if step.op is None or training.op is None or step.op.type != training.op.type:
            return False
        same = [
            self._is_same(one, other)
            for one, other in zip(step.op._inputs[:3], training.op._inputs[:3], strict=True)
        ]
        attrs = step.op.attrs, training.op.attrs
        return (
            all(same) and not attrs[0]["is_training"] and self._is_training(step, False)
            and attrs[0]["epsilon"] == attrs[1]["epsilon"]
            and (step.guard or ())[0][0] == (training.guard or ())[0][0]
        )  # fmt: skip


def _taken(step: Step) -> list[str]:
    return [*step.inputs, *(name for name, _ in step.guard or ())]


def dtype_of(weight: Parameter) -> list[str]:
    """Return the argument that gives a layer the type of a weight, if it needs one."""
    dtype = weight.value.dtype
    return [] if str(dtype) == "torch.float32" else [f"dtype={dtype}"]


def _weights(weight: Parameter, order: tuple[int, ...], bias: Parameter | None) -> dict[str, Any]:
    found: dict[str, Any] = {"weight": (weight, order)}
    if bias is not None:
        found["bias"] = (bias, None)
    return found


def _momentum(graph: Any, name: str) -> float | None:
    """Return the share of a batch in a moving average, from the operation that updates it."""
    for op in graph.get_operations():
        if not op.type.startswith("AssignSub") or not op._inputs:
            continue
        target = op._inputs[0].op
        delta = op._inputs[1].op
        if target.name != name or delta.type != "Mul":
            continue
        shares = [tensor.op for tensor in delta._inputs if tensor.op.type == "Const"]
        if len(shares) == 1 and shares[0]._values[0].ndim == 0:
            return round(float(shares[0]._values[0]), 6)
    return None
