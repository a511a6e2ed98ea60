"""Rewriting graphs so that training feels the rounding of quantized inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph import attrs as attr_values
from stillflow.graph import dtypes
from stillflow.graph.card import get
from stillflow.graph.export import export
from stillflow.graph.tensor_proto import MakeNdarray, make_tensor_proto
from stillflow.graph.tensor_shape import TensorShape

_REWRITTEN = ("MatMul", "Conv2D")
_QUANTIZE = "QuantizeAndDequantizeV2"
_DECAY = np.float32(0.999)
# How many inputs of unknown kinds are taken for inputs of the model.
_ALLOWED_INPUTS = 2


class _Range(NamedTuple):
    """Known range of a node's values."""

    known: bool
    signed: bool
    bounds: tuple[float, float] | None


_RANGES = {
    "Const": _Range(True, True, None),
    "Variable": _Range(True, True, None),
    "VariableV2": _Range(True, True, None),
    "Relu": _Range(True, False, None),
    "Relu6": _Range(True, False, (0.0, 6.0)),
    "Sigmoid": _Range(True, False, (0.0, 1.0)),
    "Tanh": _Range(True, True, (-1.0, 1.0)),
}
_OF_FIRST_INPUT = ("Reshape", "ConcatV2")
_OF_LAST_INPUT = ("Identity", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")


@export("train.do_quantize_training_on_graphdef")
def do_quantize_training_on_graphdef(input_graph: Any, num_bits: int) -> Any:
    """Return a graph with quantized and dequantized inputs of products and convolutions.

    Ranges that do not follow from the op before are moving averages, kept in new variables that
    are saved and restored with the others.

    Args:
      input_graph: a `GraphDef`.
      num_bits: how many bits quantized numbers have, from 1 to 63.

    Returns:
      The rewritten `GraphDef`.

    Raises:
      tf.errors.OutOfRangeError: if `num_bits` is out of range.
      tf.errors.UnimplementedError: if too many inputs are of ops whose range is not known.
      tf.errors.InvalidArgumentError: if variables are saved in a way that is not understood.
    """
    if not 1 <= num_bits <= 63:
        raise errors.out_of_range(f"num_bits should be in range [1, 63] but is: {num_bits}")
    return _Rewriter(input_graph, num_bits).run()


def _data_inputs(node: Any) -> Iterator[tuple[int, str]]:
    """Positions of the data inputs of a node, and the names of the nodes they come from."""
    for position, text in enumerate(node.input):
        if not text.startswith("^"):
            yield position, text.split(":")[0]


class _Rewriter:
    def __init__(self, graph_def: Any, num_bits: int) -> None:
        self.graph = type(graph_def)()
        self.graph.CopyFrom(graph_def)
        self.nodes = {node.name: node for node in self.graph.node}
        self.num_bits = num_bits
        self.variables: list[str] = []
        self._numbers = 0

    def run(self) -> Any:
        edges = list(self._edges())
        quantized: dict[str, str] = {}
        for user, position, source, range_ in edges:
            if source not in quantized:
                quantized[source] = self._quantize(source, range_)
            user.input[position] = quantized[source]
        self._save_variables()
        return self.graph

    def _edges(self) -> Iterator[tuple[Any, int, str, _Range]]:
        unknown = 0
        for node in self.graph.node:
            if node.op not in _REWRITTEN or node.name.startswith("gradients"):
                continue
            for position, source in _data_inputs(node):
                range_ = self._range(source)
                unknown += not range_.known
                if unknown > _ALLOWED_INPUTS:
                    raise errors.unimplemented(
                        f"Found an unknown op: {source} with type: {self.nodes[source].op}; "
                        "Unknown ops are considered as model input for now and only "
                        f"{_ALLOWED_INPUTS} inputs are supported currently."
                    )
                yield node, position, source, range_

    def _range(self, name: str) -> _Range:
        node = self.nodes[name]
        if node.op in _RANGES:
            return _RANGES[node.op]
        sources = [source for _, source in _data_inputs(node)]
        if node.op in _OF_FIRST_INPUT and sources:
            return self._range(sources[0])._replace(known=True)
        if node.op in _OF_LAST_INPUT and sources:
            return self._range(sources[-1])._replace(known=True)
        return _Range(False, True, None)

    # ---- the nodes that are added

    def _add(self, op: str, name: str, *inputs: str, **attrs: Any) -> str:
        """Add a node, its attributes completed by the op's defaults; give its name."""
        card = get(op)
        node = self.graph.node.add(name=name, op=op)
        node.input.extend(inputs)
        for key, attr in card.signature.attrs.items():
            if key in attrs or attr.has_default:
                value = attrs.get(key, attr.default)
                attr_values.fill_proto(node.attr[key], value, attr.kind)
        self.nodes[name] = node
        return name

    def _constant(self, name: str, value: Any, dtype: Any) -> str:
        return self._add("Const", name, value=make_tensor_proto(value, dtype), dtype=dtype)

    def _float(self, op: str, name: str, *inputs: str, **attrs: Any) -> str:
        return self._add(op, name, *inputs, T=dtypes.float32, **attrs)

    def _quantize(self, source: str, range_: _Range) -> str:
        if range_.bounds is not None:
            bounds = [
                self._constant(f"{source}/Input{kind}", value, dtypes.float32)
                for kind, value in zip(("Min", "Max"), range_.bounds, strict=True)
            ]
        else:
            bounds = self._averages(source)
        return self._float(
            _QUANTIZE, f"{source}/{_QUANTIZE}", source, *bounds,
            signed_input=range_.signed, num_bits=self.num_bits, range_given=True,
        )  # fmt: skip

    def _averages(self, source: str) -> list[str]:
        """Add moving averages of the minimum and the maximum of a node."""
        decay = self._constant(f"{source}/Decay", _DECAY, dtypes.float32)
        within = f"{source}/ReductionAxes"
        start = self._constant(f"{within}/RangeStart", 0, dtypes.int32)
        delta = self._constant(f"{within}/RangeDelta", 1, dtypes.int32)
        rank = self._float("Rank", f"{within}/InputRank", source)
        axes = self._add("Range", f"{within}/ReductionAxes", start, rank, delta, Tidx=dtypes.int32)
        extremes = [
            self._float(op, f"{source}/{op}", source, axes, Tidx=dtypes.int32)
            for op in ("Min", "Max")
        ]
        return [self._average(name, decay) for name in extremes]

    def _average(self, value: str, decay: str) -> str:
        """Return a variable that is the value at first, and then its moving average."""
        variable = self._add(
            "VariableV2", f"{value}/Variable", shape=TensorShape([]), dtype=dtypes.float32
        )
        self.variables.append(variable)
        there = self._add(
            "IsVariableInitialized", f"{value}/IsInitialized", variable, dtype=dtypes.float32
        )
        switch = self._float("Switch", f"{value}/Switch", value, there)
        one = self._constant(f"{value}/EMA/OneConst", 1.0, dtypes.float32)
        rest = self._float("Sub", f"{value}/EMA/DecayComplement", one, decay)
        change = self._float("Sub", f"{value}/EMA/ValueDiff", variable, f"{switch}:1")
        update = self._float("Mul", f"{value}/EMA/UpdateValue", change, rest)
        moved = self._float("Sub", f"{value}/EMA/EMAValue", variable, update)
        merged = self._float("Merge", f"{value}/Merge", switch, moved, N=2)
        return self._float("Assign", f"{value}/AssignValue", variable, merged)

    # ---- saving and restoring the new variables

    def _save_variables(self) -> None:
        saves = [node for node in self.graph.node if node.op == "SaveV2"]
        if not saves:
            return
        if len(saves) > 1:
            raise errors.invalid_argument("Input graph has multiple SaveV2 ops.")
        (save,) = saves
        scope = save.name.rpartition("/")[0] or save.name
        restore_all = self.nodes.get(f"{scope}/restore_all")
        if restore_all is None:
            raise errors.invalid_argument("graph has SaveOp, but no restore_all NoOp")
        for variable in self.variables:
            assign = self._restore(variable, scope, save.input[0])
            restore_all.input.append(f"^{assign}")
        self._extend_save(save)

    def _restore(self, variable: str, scope: str, prefix: str) -> str:
        restore = self._new_name(f"{scope}/RestoreV2")
        assign = self._new_name(f"{scope}/Assign")
        names = self._constant(f"{restore}/tensor_names", [variable.encode()], dtypes.string)
        slices = self._constant(f"{restore}/shape_and_slices", [b""], dtypes.string)
        self._add("RestoreV2", restore, prefix, names, slices, dtypes=[dtypes.float32])
        return self._float("Assign", assign, variable, restore)

    def _new_name(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}/_{self._numbers - 1}_qt"

    def _extend_save(self, save: Any) -> None:
        added = [(name.encode(), b"") for name in self.variables]
        for position in (1, 2):
            node = self.nodes[save.input[position]]
            value = MakeNdarray(node.attr["value"].tensor).ravel().tolist()
            value += [pair[position - 1] for pair in added]
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtypes.string))
        node = self.graph.node.add()
        node.CopyFrom(save)
        data = [text for text in save.input if not text.startswith("^")]
        controls = [text for text in save.input if text.startswith("^")]
        del node.input[:]
        node.input.extend([*data, *self.variables, *controls])
        node.attr["dtypes"].list.type.extend([dtypes.float32.as_datatype_enum] * len(added))
        self.graph.node.remove(save)
        self.nodes[node.name] = node
