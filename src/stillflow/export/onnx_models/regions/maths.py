"""Rules of element-wise operations, products and reductions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow.export.onnx_models.regions.builder import NCHW, TO_NCHW, Builder, rule
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.engines.region import Unfit

_UNARY = {
    "Abs": "Abs", "Neg": "Neg", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Tanh": "Tanh",
    "Sigmoid": "Sigmoid", "Relu": "Relu", "Softplus": "Softplus", "Softsign": "Softsign",
    "Erf": "Erf", "Floor": "Floor", "Ceil": "Ceil", "Reciprocal": "Reciprocal", "Inv": "Reciprocal",
    "Sin": "Sin", "Cos": "Cos", "Elu": "Elu", "Selu": "Selu", "LogicalNot": "Not", "Sign": "Sign",
}  # fmt: skip
_FLOATING = frozenset(_UNARY) - {"Abs", "Neg", "LogicalNot", "Sign"}
_BINARY = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Maximum": "Max",
    "Minimum": "Min", "Pow": "Pow", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual",
    "Less": "Less", "LessEqual": "LessOrEqual", "Equal": "Equal", "LogicalAnd": "And",
    "LogicalOr": "Or",
}  # fmt: skip
_REDUCTIONS = {
    "Mean": "ReduceMean", "Max": "ReduceMax", "Min": "ReduceMin", "Prod": "ReduceProd",
    "Sum": "ReduceSum",
}  # fmt: skip
_CASTS = {
    ("bool", "float32"), ("bool", "int32"), ("bool", "int64"), ("int32", "float32"),
    ("int32", "int64"), ("int64", "float32"), ("float32", "float64"), ("float64", "float32"),
    ("int32", "float64"), ("int64", "float64"), ("bool", "float64"),
}  # fmt: skip
ONNX_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
    "string": 8, "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13,
    "bfloat16": 16, "quint8": 2, "qint8": 3, "qint32": 6, "quint16": 4, "qint16": 5,
}  # fmt: skip


def is_float(tensor: Tensor) -> bool:
    """Return True for a tensor of floating-point numbers."""
    return bool(tensor.dtype.base_dtype.is_floating)


def _floats(op: Operation) -> None:
    if not is_float(op._inputs[0]):
        raise Unfit(f"of type {op._inputs[0].dtype.name}")


@rule(*_UNARY)
def unary(b: Builder, op: Operation) -> str | None:
    if op.type in _FLOATING:
        _floats(op)
    return applied(b, op, [op._inputs[0]], lambda names: b.add(_UNARY[op.type], names))


@rule("Relu6")
def relu6(b: Builder, op: Operation) -> str | None:
    _floats(op)
    kind = op._inputs[0].dtype.as_numpy_dtype
    low, high = b.constant(np.zeros((), kind)), b.constant(np.array(6, kind))
    return applied(b, op, [op._inputs[0]], lambda names: b.add("Clip", [*names, low, high]))


@rule("LeakyRelu")
def leaky_relu(b: Builder, op: Operation) -> str | None:
    alpha = float(op.attrs["alpha"])
    return applied(b, op, op._inputs, lambda names: b.add("LeakyRelu", names, alpha=alpha))


@rule("Square")
def square(b: Builder, op: Operation) -> str | None:
    return applied(b, op, op._inputs, lambda names: b.add("Mul", [names[0], names[0]]))


@rule("Rsqrt")
def rsqrt(b: Builder, op: Operation) -> str | None:
    return applied(b, op, op._inputs, lambda names: b.add("Reciprocal", [b.add("Sqrt", names)]))


@rule(*_BINARY)
def binary(b: Builder, op: Operation) -> str | None:
    if op.type in ("RealDiv", "Pow"):
        _floats(op)
    if op._inputs[0].dtype.name == "bool" and op.type == "Equal":
        raise Unfit("of truths")
    return applied(b, op, op._inputs, lambda names: b.add(_BINARY[op.type], names))


@rule("Div")
def division(b: Builder, op: Operation) -> str | None:
    _floats(op)  # of integers zero is an error
    return applied(b, op, op._inputs, lambda names: b.add("Div", names))


@rule("NotEqual")
def not_equal(b: Builder, op: Operation) -> str | None:
    return applied(b, op, op._inputs, lambda names: b.add("Not", [b.add("Equal", names)]))


@rule("SquaredDifference")
def squared_difference(b: Builder, op: Operation) -> str | None:
    def made(names: list[str]) -> str:
        difference = b.add("Sub", names)
        return str(b.add("Mul", [difference, difference]))

    return applied(b, op, op._inputs, made)


@rule("AddN")
def add_n(b: Builder, op: Operation) -> str | None:
    _same_shapes(b, op._inputs)

    def made(names: list[str]) -> str:
        total = names[0]
        for name in names[1:]:
            total = b.add("Add", [total, name])
        return total

    return applied(b, op, op._inputs, made)


@rule("SelectV2")
def select(b: Builder, op: Operation) -> str:
    return str(b.add("Where", [b(tensor) for tensor in op._inputs]))


@rule("Select")
def old_select(b: Builder, op: Operation) -> str:
    condition, *values = op._inputs
    _same_shapes(b, values if b.rank(condition) == 0 else op._inputs)
    return str(b.add("Where", [b(tensor) for tensor in op._inputs]))


def _same_shapes(b: Builder, tensors: Sequence[Tensor]) -> None:
    """Raise Unfit unless shapes are known to be equal: ONNX would broadcast others."""
    shapes = [b.dims(tensor) for tensor in tensors]
    if any(dims is None or None in dims or dims != shapes[0] for dims in shapes):
        raise Unfit("shapes may differ")


@rule("Cast")
def cast(b: Builder, op: Operation) -> str | None:
    source, target = op._inputs[0].dtype.name, op._outputs[0].dtype.name
    if (source, target) not in _CASTS and source != target:
        raise Unfit(f"from {source} to {target}")
    kind = ONNX_TYPES[target]
    return applied(b, op, op._inputs, lambda names: b.add("Cast", names, to=kind))


@rule("BiasAdd")
def bias_add(b: Builder, op: Operation) -> str | None:
    value, bias = op._inputs
    dims = b.dims(value)
    second = op.attrs.get("data_format", b"NHWC") == b"NCHW"
    if dims is None or dims[1 if second else -1] is None:  # ONNX would broadcast a single channel
        raise Unfit("the number of channels is unknown")
    if second:
        shape = b.constant([-1] + [1] * (b.rank(value) - 2), np.int64)
        return str(b.add("Add", [b(value), b.add("Reshape", [b(bias), shape])]))
    return applied(b, op, op._inputs, lambda names: b.add("Add", names))


@rule("MatMul")
def product(b: Builder, op: Operation) -> str:
    _floats(op)
    turned = op.attrs["transpose_a"], op.attrs["transpose_b"]
    return str(b.add("MatMul", _factors(b, op, turned)))


@rule("BatchMatMul", "BatchMatMulV2")
def batch_product(b: Builder, op: Operation) -> str:
    _floats(op)
    return str(b.add("MatMul", _factors(b, op, (op.attrs["adj_x"], op.attrs["adj_y"]))))


def _factors(b: Builder, op: Operation, turned: tuple[bool, bool]) -> list[str]:
    names = []
    for tensor, turn in zip(op._inputs, turned, strict=True):
        value = b.value(tensor) if turn else None
        rank = b.rank(tensor)
        if not turn:
            names.append(b(tensor))
        elif value is not None:
            names.append(b.constant(value.swapaxes(-1, -2)))
        else:
            order = [*range(rank - 2), rank - 1, rank - 2]
            names.append(b.transposed(b(tensor), order))
    return names


@rule(*_REDUCTIONS)
def reduction(b: Builder, op: Operation) -> str:
    tensor = op._inputs[0]
    if op.type == "Mean":
        _floats(op)
    axes = sorted({axis % max(b.rank(tensor), 1) for axis in b.ints(op._inputs[1])})
    keep = int(op.attrs["keep_dims"])
    if not axes:
        return str(b.add("Identity", [b(tensor)]))
    if op.type == "Mean" and b.rank(tensor) == 4 and b.is_second(tensor) and axes == [1, 2]:
        taken = [b.channels_second(tensor), b.constant([2, 3], np.int64)]
        made = b.add("ReduceMean", taken, keepdims=keep)
        return b.transposed(made, (0, 2, 3, 1)) if keep else str(made)
    taken = [b(tensor), b.constant(axes, np.int64)]
    return str(b.add(_REDUCTIONS[op.type], taken, keepdims=keep))


@rule("ArgMax", "ArgMin")
def arg_extreme(b: Builder, op: Operation) -> str:
    axis = int(b.known(op._inputs[1]))
    made = b.add(op.type, [b(op._inputs[0])], axis=axis, keepdims=0)
    target = op._outputs[0].dtype.name
    return str(made if target == "int64" else b.add("Cast", [made], to=ONNX_TYPES[target]))


@rule("Softmax", "LogSoftmax")
def softmax(b: Builder, op: Operation) -> str:
    return str(b.add(op.type, [b(op._inputs[0])], axis=-1))


def applied(b: Builder, op: Operation, tensors: Sequence[Tensor], make: object) -> str | None:
    """Return the result of an element-wise operation in the layout that its inputs have.

    Where the inputs have their channels second alone, so has the result: None is returned then.
    """
    assert callable(make)
    if not b.strict and any(b.dims(tensor) is None for tensor in tensors):
        return str(make([b(tensor) for tensor in tensors]))
    ranks = [b.rank(tensor) for tensor in tensors]
    large = [tensor for tensor, rank in zip(tensors, ranks, strict=True) if rank == 4]
    if not any(map(b.is_second, large)):
        return str(make([b(tensor) for tensor in tensors]))
    names = []
    for tensor, rank in zip(tensors, ranks, strict=True):
        if rank == 4:
            names.append(b.channels_second(tensor))
        elif rank == 0:
            names.append(b(tensor))
        else:
            names.append(_among_channels(b, tensor, rank))
    b.put(op._outputs[0], str(make(names)), NCHW)
    return None


def _among_channels(b: Builder, tensor: Tensor, rank: int) -> str:
    """Return an operand of fewer dimensions as it meets one with its channels second."""
    value = b.value(tensor)
    if value is not None:
        return b.constant(value.reshape((1,) * (4 - rank) + value.shape).transpose(TO_NCHW))
    axes = b.constant(list(range(4 - rank)), np.int64)
    return b.transposed(b.add("Unsqueeze", [b(tensor), axes]), TO_NCHW)
