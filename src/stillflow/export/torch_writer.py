"""A program as the source of an `nn.Module`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch

from stillflow.export import literals, naming, torch_template
from stillflow.export.blocks import Block, BlockFinder
from stillflow.export.body import Body, Names
from stillflow.export.capture import Parameter, Program
from stillflow.export.channels_first import channels_first
from stillflow.export.functions import FunctionWriter, plain_functions
from stillflow.export.layers import Layer, LayerFinder
from stillflow.export.literals import UnwritableError
from stillflow.export.problems import explained
from stillflow.graph.operation import Tensor
from stillflow.ops.lookup.tables import Table


@dataclass
class Written:
    """The source of a model, and its numbers.

    Attributes:
      text: of `model.py`.
      tensors: of the weights' file, by key of the state dict.
      names: the TensorFlow variable of each key.
    """

    text: str
    tensors: dict[str, torch.Tensor]
    names: dict[str, str]


class ModelWriter:
    """Writer of a program as a module of Python."""

    def __init__(self, program: Program, first: bool = False) -> None:
        """Start with nothing; with `first`, images have their channels first."""
        self.program, self.first = program, first
        self.module_names = Names({*literals.RESERVED, "Model", "Scope", "load", "read_tensors"})
        self.functions = FunctionWriter(self.module_names)
        assert plain_functions.value  # its provider has told cards their sources
        self.tensors: dict[str, torch.Tensor] = {}
        self.names: dict[str, str] = {}
        self.methods: list[str] = []
        used = {id(p): p for p in program.parameters.values()}
        self.keys = naming.keys_of(parameter.name for parameter in used.values())
        constants = program.tracer.constants
        self.weights = {
            id(constants[name]): parameter for name, parameter in program.parameters.items()
            if isinstance(constants.get(name), torch.Tensor)
        }  # fmt: skip
        self.members: dict[str, str] = {}  # key -> the expression that makes it
        self.constants: dict[int, str] = {}
        self._alive: list[Any] = []
        self.wanted = {name for step in program.steps for name in step.inputs}
        self.wanted.update(value.name for _, value in program.outputs)
        self.found = LayerFinder(program).find()
        self.orders: dict[str, tuple[Any, ...]] = {}  # of layers' weights
        self.fixed: list[str] = []  # lines for constants of layers
        self._buffer_names = Names([key.partition(".")[0] for key in self.keys.values()])

    # ---- contents of a module

    def parameter(self, parameter: Parameter) -> str:
        """Return the expression of a parameter; it becomes a member of the module."""
        key = self.keys[parameter.name]
        if key not in self.members:
            value = parameter.value
            self.tensors[key] = value
            self.names[key] = parameter.name
            dtype = "" if value.dtype == torch.float32 else f", dtype={value.dtype}"
            empty = f"torch.empty({tuple(value.shape)}{dtype})"
            self.members[key] = f"nn.Parameter({empty})" if parameter.trainable else empty
        return f"self.{key}"

    def layer(self, layer: Layer) -> None:
        """Make a layer of PyTorch a member of the module, with its weights."""
        self.members[layer.key] = layer.make
        for part, (parameter, *arrangement) in layer.weights.items():
            key = f"{layer.key}.{part}"
            self.tensors[key] = arranged(parameter.value, *arrangement)
            self.names[key] = parameter.name
            self.orders[key] = parameter.name, *arrangement
        for part, value in layer.constants.items():
            self.tensors[f"{layer.key}.{part}"] = value
            self.fixed.append(f"        self.{layer.key}.{part}.requires_grad_(False)")
        if "running_mean" in layer.weights:
            self.tensors[f"{layer.key}.num_batches_tracked"] = torch.tensor(0)

    def variable(self, state: Any) -> str:
        """Return the expression of the variable behind a handle."""
        for name, parameter in self.program.parameters.items():
            if self.program.tracer.constants.get(name) is state:
                return self.parameter(parameter)
        raise UnwritableError("a variable")

    def constant(self, value: Any, tensor: Tensor | None) -> str:
        """Return the expression of a constant: a buffer, of the file if it is large."""
        if id(value) in self.constants:
            return self.constants[id(value)]
        self._alive.append(value)
        if isinstance(value, Table):  # each instance of the model has its own entries
            self.functions.need("import copy")
            key = self._buffer_names(f"table_{literals.identifier(_op_name(tensor))}")
            self.members[key] = f"copy.deepcopy({self.functions.expression(value)})"
            name = f"self.{key}"
        elif not isinstance(value, torch.Tensor):
            text = self.functions.expression(value)
            name = self.module_names(f"_{literals.identifier(_op_name(tensor))}")
            self.functions.definitions[name] = f"{name} = {text}"
        else:
            key = self._buffer_names(f"const_{literals.identifier(_op_name(tensor)).strip('_')}")
            name = f"self.{key}"
            if value.numel() <= literals.MOST_ITEMS and not value.is_complex():
                self.members[key] = f"{literals.tensor_text(value)}!"
            else:
                self.tensors[key] = value.detach().cpu()
                self.members[key] = f"torch.empty({tuple(value.shape)}, dtype={value.dtype})"
        self.constants[id(value)] = name
        return name

    # ---- the text

    def write(self) -> Written:
        """Write the module.

        Raises:
          ExportError: if an operation has no source.
        """
        body = Body(self, self.program.tracer)
        arguments = [self._input(body, tensor, name) for tensor, name in self.program.inputs]
        for name in self.program.training:
            body.local[name] = "torch.tensor(self.training)"
        for step in self.program.steps:
            body.step(step)
        results = [body.expression(value.name) for _, value in self.program.outputs]
        body.line(f"return {results[0] if len(results) == 1 else ', '.join(results)}".rstrip())
        if body.problems:
            raise explained(body.problems, [tensor for tensor, _ in self.program.inputs])
        lines = body.lines
        if self.first:
            taken = [tensor for tensor, _ in self.program.inputs]
            images = [a for a, t in zip(arguments, taken, strict=True) if self.program.is_image(t)]
            given = [self.program.is_image(tensor) for tensor, _ in self.program.outputs]
            lines = channels_first(lines, images, given)
        return Written(self._text(arguments, lines), self.tensors, self.names)

    def _input(self, body: Body, tensor: Tensor, name: str) -> str:
        wish = literals.identifier(tensor.name.removesuffix(":0").lower())
        body.local[name] = body.names(wish)
        return body.local[name]

    def _text(self, arguments: list[str], lines: list[str]) -> str:
        inputs = [tensor.name for tensor, _ in self.program.inputs]
        outputs = [tensor.name for tensor, _ in self.program.outputs]
        if any(re.search(r"\bF\.", line) for line in lines):
            self.functions.need("import torch.nn.functional as F")
        header = torch_template.HEADER.format(
            imports="".join(f"{each}\n" for each in sorted(self.functions.imports)),
            inputs=literals.sequence_text(list(map(repr, inputs)), tuple),
            outputs=literals.sequence_text(list(map(repr, outputs)), tuple),
            layout="Images have their channels first" if self.first
            else "Tensors keep TensorFlow's layouts",
        )  # fmt: skip
        convolves = any(made.startswith("nn.Conv2d") for made in self.members.values())
        finder = BlockFinder(lines, arguments, self.members, self.module_names)
        lines, blocks = (lines, []) if self.program.changes else finder.find()
        classes = [self._class(block) for block in blocks]
        members = [*self._members(self.members), *self.fixed]
        members += torch_template.CHANNELS_LAST if convolves and not self.first else []
        model = torch_template.MODEL.format(
            inputs=", ".join(inputs) or "nothing",
            outputs=", ".join(outputs),
            members="\n".join(["", *members]),
            arguments=", ".join(["self", *arguments]),
            lines="\n".join(lines),
        )
        if self.orders:
            rows = [f"    {key!r}: {value!r},\n" for key, value in self.orders.items()]
            header += torch_template.LAYERS.format(rows="".join(rows))
        parts = [header, *self.functions.definitions.values()]
        if any("Scope()" in each for each in (*members, *classes)):
            parts.append(torch_template.SCOPE)
        return "\n\n\n".join([*parts, *classes, model, torch_template.LOADING])

    def _class(self, block: Block) -> str:
        return torch_template.BLOCK.format(
            name=block.name,
            scopes=f"{len(block.scopes)} scopes from {block.scopes[0]} to {block.scopes[-1]}",
            members="\n".join(["", *self._members(block.members)]),
            arguments=", ".join(["self", *block.arguments]),
            lines="\n".join(block.lines),
        )

    @staticmethod
    def _members(members: dict[str, str]) -> list[str]:
        """Return the lines that make parameters, buffers, and the scopes around them."""
        lines: list[str] = []
        scopes: set[str] = set()
        outer_first = sorted(members.items(), key=lambda item: item[0].count("."))
        for key, made in outer_first:
            *path, name = key.split(".")
            for end in range(1, len(path) + 1):
                scope = ".".join(path[:end])
                if scope not in scopes and scope not in members:
                    scopes.add(scope)
                    lines.append(f"        self.{scope} = Scope()")
            home = ".".join(["self", *path])
            if made.endswith("!"):
                lines.append(
                    f'        {home}.register_buffer("{name}", {made[:-1]}, persistent=False)'
                )
            elif made.startswith("torch."):
                lines.append(f'        {home}.register_buffer("{name}", {made})')
            else:
                lines.append(f"        {home}.{name} = {made}")
        return lines


def arranged(
    value: torch.Tensor, order: Any, rows: Any = None, gates: Any = None, shape: Any = None
) -> torch.Tensor:
    """Return a variable's value as a layer holds it: rows, with other axes, and gates in order."""
    value = value if rows is None else value[slice(*rows)]
    value = value if shape is None else value.reshape(shape)
    value = value if order is None else value.permute(order)
    parts = value.chunk(len(gates or [0]))
    return torch.cat([parts[gate] for gate in gates]) if gates else value.contiguous()


def _op_name(tensor: Tensor | None) -> str:
    return "value" if tensor is None else "_".join(tensor.op.name.split("/")[-2:]).lower()


def to_source(program: Program, first: bool = False) -> Written:
    """Return the source of a program over PyTorch; ExportError if operations have none.

    With `first`, images have their channels first.
    """
    return ModelWriter(program, first).write()
