"""Emitters of matrix products, and of operations that write whole matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.lite.emitting import Emission, emits, no_bias
from stillflow.lite.schema import TENSOR_TYPES
from stillflow.lite.settings import ConverterError


@emits("MatMul")
def _matrix_product(e: Emission) -> None:
    x = e.inputs[0]
    if e.op.get_attr("transpose_a"):
        x = _transposed(e, x, (1, 0))
    weights = e.inputs[1]
    if not e.op.get_attr("transpose_b"):
        weights = _transposed(e, weights, (1, 0))
    bias = no_bias(e, e.output_shape[1])
    e.add("FULLY_CONNECTED", [x, weights, bias], "FullyConnected")


def _transposed(e: Emission, name: str, order: Sequence[int], result: str = "") -> str:
    """Return a tensor with its dimensions in another order; a constant is reordered here."""
    result = result or f"{name}/transpose"
    value = e.values.get(name)
    if value is not None:
        return e.keep(result, np.ascontiguousarray(value.transpose(order)))
    shape = e.draft.shapes[name]
    permutation = e.keep(f"{result}/perm", np.array(order, np.int32))
    return _added(e, "TRANSPOSE", [name, permutation], result, [shape[axis] for axis in order])


def _reshaped(e: Emission, name: str, shape: Sequence[int], result: str) -> str:
    target = np.array(shape, np.int32)
    read = [name, e.keep(f"{result}/shape", target)]
    return _added(e, "RESHAPE", read, result, shape, new_shape=target.tolist())


def _added(
    e: Emission, kind: str, inputs: list[str], result: str, shape: Sequence[int], **options: Any
) -> str:
    """Add a step before the last ones of an operation; return its result."""
    result = e.draft.free_name(result)
    e.draft.declare(result, shape, e.draft.dtypes[e.outputs[0]])
    table = {"TRANSPOSE": "Transpose", "RESHAPE": "Reshape"}.get(kind, "")
    e.add(kind, inputs, table, outputs=[result], **options)
    return result


class _Side:
    """The matrices of one operand of a batched product, each made when it is first asked for."""

    def __init__(self, e: Emission, index: int, letter: str, is_transposed: bool) -> None:
        self.e, self.letter, self.name = e, letter, e.inputs[index]
        self.value = e.values.get(self.name)
        shape = e.shape(index)
        if len(shape) < 2:
            raise ConverterError(f"{e.op.name} multiplies a tensor of shape {list(shape)}")
        if is_transposed:
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            self._reorder(order)
            shape = tuple(shape[axis] for axis in order)
        self.batch, self.matrix = shape[:-2], shape[-2:]
        if self.value is None and len(shape) > 3:
            rows = [int(np.prod(self.batch)), *self.matrix]
            result = f"{e.outputs[0]}/reshape_{letter}/reshape"
            self.name = _reshaped(e, self.name, rows, result)
        self._made: dict[int, str] = {}

    def _reorder(self, order: list[int]) -> None:
        if self.value is None:
            self.name = _transposed(self.e, self.name, order)
        else:
            self.value = self.value.transpose(order)

    def position(self, place: Sequence[int]) -> int:
        """Return the number of the matrix for a place in the batch of the results."""
        own = place[len(place) - len(self.batch) :]
        position = 0
        for size, index in zip(self.batch, own):
            position = position * size + (index if size > 1 else 0)
        return position

    def left(self, position: int, prefix: str) -> str:
        """Return the name of a matrix as the first operand of FULLY_CONNECTED."""
        if position not in self._made:
            self._made[position] = self._part(position, prefix)
        return self._made[position]

    def right(self, position: int, prefix: str) -> str:
        """Return the name of a matrix as the second one, which is read transposed."""
        if position not in self._made:
            self._made[position] = self._weights(position, prefix)
        return self._made[position]

    def _part(self, position: int, prefix: str) -> str:
        name = f"{prefix}/slice_{self.letter}"
        if self.value is not None:
            return self.e.keep(f"{name}/reshape", self._constant(position))
        if int(np.prod(self.batch)) == 1:
            return self.name
        begin = self.e.keep(f"{name}/slice/begin", np.array([position, 0, 0], np.int32))
        shape = [1, *self.matrix]
        size = self.e.keep(f"{name}/slice/size", np.array(shape, np.int32))
        return _added(self.e, "SLICE", [self.name, begin, size], f"{name}/slice", shape)

    def _weights(self, position: int, prefix: str) -> str:
        result = f"{prefix}/slice_{self.letter}/reshape"
        if self.value is not None:
            weights = np.ascontiguousarray(self._constant(position).T)
            return self.e.keep(f"{result}/transpose", weights)
        part = self._part(position, prefix)
        order = [2, 1, 0] if self.batch else [1, 0]
        turned = _transposed(self.e, part, order, f"{result}/transpose")
        return _reshaped(self.e, turned, self.matrix[::-1], result) if self.batch else turned

    def _constant(self, position: int) -> np.ndarray:
        assert self.value is not None
        return np.ascontiguousarray(self.value.reshape(-1, *self.matrix)[position])


@emits("BatchMatMul", "BatchMatMulV2")
def _batched_product(e: Emission) -> None:
    *batch, rows, columns = e.output_shape
    count, out = int(np.prod(batch)), e.outputs[0]
    if not count:
        raise ConverterError(f"{e.op.name} multiplies no matrices: shape {e.output_shape}")
    x = _Side(e, 0, "a", e.op.get_attr("adj_x"))
    y = _Side(e, 1, "b", e.op.get_attr("adj_y"))
    products = []
    for i, place in enumerate(np.ndindex(*batch)):
        prefix = f"{out}_b{i}"
        read = [x.left(x.position(place), prefix), y.right(y.position(place), prefix)]
        bias = e.keep(f"{prefix}_bias", np.zeros(columns, np.float32))
        if not batch:
            e.add("FULLY_CONNECTED", [*read, bias], "FullyConnected")
            return
        product = e.draft.declare(e.draft.free_name(prefix), [rows, columns], np.float32)
        e.add("FULLY_CONNECTED", [*read, bias], "FullyConnected", outputs=[product])
        products.append(product)
    packed = products[0]
    if count > 1:
        single = len(batch) == 1
        packed = out
        if not single:
            name = e.draft.free_name(f"{out}/pack")
            packed = e.draft.declare(name, [count, rows, columns], np.float32)
        e.add("PACK", products, "Pack", outputs=[packed], values_count=count, axis=0)
        if single:
            return
    shape = np.array(e.output_shape, np.int32)
    read = [packed, e.keep(f"{out}/reshape_out/shape", shape)]
    e.add("RESHAPE", read, "Reshape", new_shape=shape.tolist())


@emits("MatrixDiag")
def _diagonal(e: Emission) -> None:
    e.add("MATRIX_DIAG", e.inputs, "")


@emits("MatrixSetDiag")
def _set_diagonal(e: Emission) -> None:
    e.add("MATRIX_SET_DIAG", e.inputs, "")


@emits("SelectV2")
def _select(e: Emission) -> None:
    """Emit Select, with constants repeated to the common shape of the three values."""
    shape, read = tuple(e.output_shape), []
    for i, name in enumerate(e.inputs):
        if e.shape(i) != shape:
            value = np.ascontiguousarray(np.broadcast_to(e.constant(i), shape))
            name = e.keep(f"{e.outputs[0]}/{'cte'[i]}", value)
        read.append(name)
    e.add("SELECT", read)


@emits("Fill")
def _fill(e: Emission) -> None:
    e.add("FILL", [e.integers(0), e.inputs[1]])


@emits("SparseToDense")
def _sparse_to_dense(e: Emission) -> None:
    check = e.op.get_attr("validate_indices")
    e.add("SPARSE_TO_DENSE", e.inputs, "SparseToDense", validate_indices=check)


@emits("Unique")
def _unique(e: Emission) -> None:
    e.add(
        "UNIQUE", e.inputs, "Unique", idx_out_type=TENSOR_TYPES.index(e.op.get_attr("out_idx").name)
    )


@emits("Where")
def _places(e: Emission) -> None:
    e.draft.dtypes[e.outputs[0]] = np.dtype(np.int32)  # of the operator; the operation has int64
    e.add("WHERE", e.inputs, "Where")
