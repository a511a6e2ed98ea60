"""A model while it is converted: operators that read and write tensors by name."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from stillflow.lite.flatbuffer import Table
from stillflow.lite.flexbuffer import write_map
from stillflow.lite.model_tensors import Array, Quantization, stored
from stillflow.lite.schema import (
    OPERATORS,
    TENSOR_TYPES,
    VERSION,
    table,
    write_model,
)


@dataclasses.dataclass
class Step:
    """An operator of the draft.

    Attributes:
      kind: "CONV_2D".
      inputs: its inputs.
      outputs: its results.
      options_kind: the name of its table of options, "" if it has none.
      options: the content of that table.
      version: of the operator, the least one that does this.
      custom: of an operator of kind "CUSTOM" its name; `options` are then its attributes.
    """

    kind: str
    inputs: list[str]
    outputs: list[str]
    options_kind: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    version: int = 1
    custom: str = ""


class Draft:
    """A model while it is converted.

    Attributes:
      inputs, outputs: the names of its inputs and outputs.
      steps: its operators, each after those that it reads from.
      constants: the values that are known.
      shapes, dtypes: of every tensor that an operator writes, and of the inputs.
      unshaped: the tensors whose shapes are only known when the model runs.
      drawn: constants that come of random numbers; they stay operands of their own.
      quantizations: of the tensors that hold integers for reals.
    """

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.steps: list[Step] = []
        self.constants: dict[str, Array] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.unshaped: set[str] = set()
        self.drawn: set[str] = set()
        self.quantizations: dict[str, Quantization] = {}

    def constant(self, name: str, value: Any) -> str:
        """Keep a constant under this name, or one like it if that is another's; return it."""
        value = np.asarray(value)
        kept = self.constants.get(name)
        if kept is None or kept.dtype != value.dtype or not np.array_equal(kept, value):
            name = self.free_name(name)
            self.constants[name] = value
        return name

    def free_name(self, name: str) -> str:
        """Return a name that no tensor has, like the one given."""
        free, number = name, 0
        while free in self.constants or free in self.shapes:
            number += 1
            free = f"{name}_{number}"
        return free

    def declare(self, name: str, shape: Iterable[int] | None, dtype: Any) -> str:
        """Declare shape, None if unknown, and type of a step's result; return its name."""
        if shape is None:
            self.unshaped.add(name)
        self.shapes[name] = tuple(int(size) for size in shape or ())
        self.dtypes[name] = np.dtype(dtype)
        return name

    def rename(self, old: str, new: str) -> None:
        """Rename a tensor everywhere."""
        for step in self.steps:
            step.inputs = [new if name == old else name for name in step.inputs]
            step.outputs = [new if name == old else name for name in step.outputs]
        for names in (self.inputs, self.outputs):
            names[:] = [new if name == old else name for name in names]
        known: list[dict[str, Any]] = [self.shapes, self.dtypes, self.quantizations]
        for values in (self.constants, *known):
            if old in values:
                values[new] = values.pop(old)
        if old in self.unshaped:
            self.unshaped.add(new)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return self.constants[name].shape if name in self.constants else self.shapes[name]

    def uses(self) -> collections.Counter[str]:
        """Return each tensor's number of uses; an output counts as one."""
        found = collections.Counter(self.outputs)
        for step in self.steps:
            found.update(step.inputs)
        return found

    def writers(self) -> dict[str, Step]:
        """Return the step that writes each tensor."""
        return {name: step for step in self.steps for name in step.outputs}

    def drop_unused(self) -> None:
        """Leaves out steps whose results nobody reads."""
        while True:
            uses = self.uses()
            kept = [step for step in self.steps if any(uses[name] for name in step.outputs)]
            if len(kept) == len(self.steps):
                return
            self.steps = kept

    def _tensors(self) -> Iterator[str]:
        names = {*self.inputs, *self.outputs}
        for step in self.steps:
            names.update(step.inputs)
            names.update(step.outputs)
        yield from sorted(names)

    def model(self) -> Table:
        """Return the draft as the tables of a model file."""
        names = list(self._tensors())
        index = {name: i for i, name in enumerate(names)}
        buffers = [table("Buffer")]
        tensors = []
        for name in names:
            data = stored(self.constants[name]) if name in self.constants else None
            buffers.append(table("Buffer", data=data))
            tensors.append(self._tensor(name, len(buffers) - 1))
        codes: dict[tuple[str, int, str], int] = {}
        operators = []
        for step in self.steps:
            code = codes.setdefault((step.kind, step.version, step.custom), len(codes))
            operator = table("Operator", opcode_index=code)
            operator.inputs = [index[name] for name in step.inputs]
            operator.outputs = [index[name] for name in step.outputs]
            if step.custom:
                operator.custom_options = write_map(step.options) if step.options else None
            elif step.options_kind:
                operator.options = table(step.options_kind, **step.options)
            operators.append(operator)
        graph = table(
            "SubGraph",
            tensors=tensors,
            operators=operators,
            inputs=[index[name] for name in self.inputs],
            outputs=[index[name] for name in self.outputs],
        )
        operator_codes = [
            table(
                "OperatorCode",
                builtin=OPERATORS.index(kind),
                version=version,
                custom=custom or None,
            )
            for kind, version, custom in codes
        ]
        return table(
            "Model",
            version=VERSION,
            description="Stillflow Converted.",
            subgraphs=[graph],
            operator_codes=operator_codes,
            buffers=buffers,
        )

    def _tensor(self, name: str, buffer: int) -> Table:
        value = self.constants.get(name)
        dtype = self.dtypes[name] if value is None else value.dtype
        kind = "string" if dtype.hasobject else str(dtype)
        if kind not in TENSOR_TYPES:
            raise TypeError(
                f"Tensor {name} has the type {kind}, which TensorFlow Lite does not have"
            )
        quantization = self.quantizations.get(name)
        return table(
            "Tensor",
            name=name,
            shape=list(self.shape(name)),
            type=TENSOR_TYPES.index(kind),
            buffer=buffer,
            quantization=None
            if quantization is None
            else table(
                "Quantization",
                scale=quantization.scales.tolist(),
                zero_point=[quantization.zero_point] * len(quantization.scales),
                axis=quantization.axis,
            ),
        )

    def content(self) -> bytes:
        """Return the draft as the bytes of a model file."""
        return write_model(self.model())
