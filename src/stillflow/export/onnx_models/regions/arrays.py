"""Rules of operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow.export.onnx_models.regions.builder import NCHW, TO_NCHW, Builder, rule
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.engines.region import Guarded, Unfit

_INT32, _INT64 = 6, 7
_END = np.iinfo(np.int64).max
_TO_END = 1 << 31  # larger than any dimension


@rule("Shape")
def shape(b: Builder, op: Operation) -> str:
    made = b.add("Shape", [b(op._inputs[0])])
    if op._outputs[0].dtype.name == "int64":
        return str(made)
    return str(b.add("Cast", [made], to=_INT32))


def _sizes(b: Builder, tensor: Tensor) -> str:
    """Return the name of a vector of integers as ONNX wants it."""
    value = b.value(tensor)
    if value is not None:
        return b.constant(value, np.int64)
    name = b(tensor)
    return name if tensor.dtype.name == "int64" else str(b.add("Cast", [name], to=_INT64))


@rule("Reshape")
def reshape(b: Builder, op: Operation) -> str:
    value, wanted = op._inputs
    known = b.value(wanted)
    if known is not None and 0 in known:
        raise Unfit("to an empty shape")
    return str(b.add("Reshape", [b(value), _sizes(b, wanted)]))


@rule("ExpandDims")
def expand_dims(b: Builder, op: Operation) -> str:
    return str(b.add("Unsqueeze", [b(op._inputs[0]), b.constant(b.ints(op._inputs[1]), np.int64)]))


@rule("Squeeze")
def squeeze(b: Builder, op: Operation) -> str:
    value = op._inputs[0]
    axes = [int(axis) for axis in op.attrs["squeeze_dims"]]
    if not axes:
        dims = b.dims(value)
        if dims is None or None in dims:
            raise Unfit("the shape is unknown")
        axes = [axis for axis, size in enumerate(dims) if size == 1]
    if not axes:
        return str(b.add("Identity", [b(value)]))
    if b.rank(value) == 4 and b.is_second(value) and sorted(a % 4 for a in axes) == [1, 2]:
        return str(b.add("Squeeze", [b.channels_second(value), b.constant([2, 3], np.int64)]))
    return str(b.add("Squeeze", [b(value), b.constant(axes, np.int64)]))


@rule("Transpose")
def transpose(b: Builder, op: Operation) -> str:
    order = [axis % b.rank(op._inputs[0]) for axis in b.ints(op._inputs[1])]
    return b.transposed(b(op._inputs[0]), order)


@rule("Concat", "ConcatV2")
def concat(b: Builder, op: Operation) -> str | None:
    if op.type == "Concat":
        where, *values = op._inputs
    else:
        *values, where = op._inputs
    rank = b.rank(values[0])
    axis = int(b.known(where)) % max(rank, 1)
    if rank == 4 and all(map(b.is_second, values)):
        names = [b.channels_second(value) for value in values]
        b.put(op._outputs[0], b.add("Concat", names, axis=TO_NCHW.index(axis)), NCHW)
        return None
    return str(b.add("Concat", [b(value) for value in values], axis=axis))


@rule("Pack")
def pack(b: Builder, op: Operation) -> str:
    axis = int(op.attrs["axis"]) % (b.rank(op._inputs[0]) + 1)
    axes = b.constant([axis], np.int64)
    return str(
        b.add("Concat", [b.add("Unsqueeze", [b(each), axes]) for each in op._inputs], axis=axis)
    )


def _pieces(b: Builder, value: Tensor, axis: int, lengths: Sequence[int]) -> list[str]:
    if len(lengths) == 1:
        return [b.add("Identity", [b(value)])]
    sizes = b.constant(lengths, np.int64)
    made = b.add("Split", [b(value), sizes], outputs=len(lengths), axis=axis)
    return list(made)


@rule("Split")
def split(b: Builder, op: Operation) -> list[str]:
    where, value = op._inputs
    axis = int(b.known(where)) % b.rank(value)
    size, count = _length(b, value, axis), len(op._outputs)
    return _pieces(b, value, axis, [size // count] * count)


@rule("SplitV")
def split_in_sizes(b: Builder, op: Operation) -> list[str]:
    value, sizes, where = op._inputs
    axis, lengths = int(b.known(where)) % b.rank(value), b.ints(sizes)
    if -1 in lengths:
        lengths[lengths.index(-1)] = _length(b, value, axis) - sum(lengths) - 1
    return _pieces(b, value, axis, lengths)


@rule("Unpack")
def unpack(b: Builder, op: Operation) -> list[str]:
    value = op._inputs[0]
    axis = int(op.attrs["axis"]) % b.rank(value)
    axes = b.constant([axis], np.int64)
    pieces = _pieces(b, value, axis, [1] * len(op._outputs))
    return [b.add("Squeeze", [piece, axes]) for piece in pieces]


def _length(b: Builder, tensor: Tensor, axis: int) -> int:
    return b.size(tensor, axis, "the size of the axis")


@rule("Slice")
def slice_(b: Builder, op: Operation) -> str:
    value, begins, sizes = op._inputs
    begin, size = b.ints(begins), b.ints(sizes)
    end = [_END if s == -1 else at + s for at, s in zip(begin, size, strict=True)]
    for axis, (at, last) in enumerate(zip(begin, end, strict=True)):
        if (at, last) != (0, _END):  # ONNX would cut what is out of range
            _length(b, value, axis)
    return _sliced(b, b(value), begin, end, [1] * len(begin))


def _sliced(
    b: Builder, name: str, begin: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> str:
    axes = [i for i, part in enumerate(zip(begin, end, step, strict=True)) if part != (0, _END, 1)]
    if not axes:
        return str(b.add("Identity", [name]))
    chosen = [[numbers[axis] for axis in axes] for numbers in (begin, end, step)]
    starts, ends, steps = (b.constant(numbers, np.int64) for numbers in chosen)
    return str(b.add("Slice", [name, starts, ends, b.constant(axes, np.int64), steps]))


@rule("StridedSlice")
def strided_slice(b: Builder, op: Operation) -> str:
    value = op._inputs[0]
    begins, ends, strides = map(b.ints, op._inputs[1:4])
    masks = {name: int(op.attrs[f"{name}_mask"]) for name in
             ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}  # fmt: skip

    def marked(name: str, place: int) -> bool:
        return bool(masks[name] >> place & 1)

    rank = b.rank(value)
    new = sum(marked("new_axis", place) and not marked("ellipsis", place)
              for place in range(len(begins)))  # fmt: skip
    begin, end, step = [], [], []
    shrunk: list[int] = []  # axes of the value
    added: list[int] = []  # places in the result, before axes are shrunk
    for place in range(len(begins)):
        if marked("ellipsis", place):
            count = rank - (len(begins) - 1 - new)
            begin += [0] * count
            end += [_END] * count
            step += [1] * count
        elif marked("new_axis", place):
            added.append(len(begin) - len(shrunk) + len(added))
        elif marked("shrink_axis", place):
            shrunk.append(len(begin))
            begin.append(begins[place])
            end.append(_END if begins[place] == -1 else begins[place] + 1)
            step.append(1)
        else:
            back = strides[place] < 0
            first = _TO_END if back else 0
            begin.append(first if marked("begin", place) else begins[place])
            last = -_TO_END if back else _END
            end.append(last if marked("end", place) else ends[place])
            step.append(strides[place])
    missing = rank - len(begin)
    made = _sliced(b, b(value), begin + [0] * missing, end + [_END] * missing, step + [1] * missing)
    if shrunk:
        made = b.add("Squeeze", [made, b.constant(shrunk, np.int64)])
    if added:
        made = b.add("Unsqueeze", [made, b.constant(added, np.int64)])
    return str(made)


@rule("Tile")
def tile(b: Builder, op: Operation) -> str:
    return str(b.add("Tile", [b(op._inputs[0]), _sizes(b, op._inputs[1])]))


@rule("ZerosLike", "OnesLike")
def filled(b: Builder, op: Operation) -> str:
    kind = op._outputs[0].dtype.as_numpy_dtype
    number = b.constant(np.full((), op.type == "OnesLike", kind))
    return str(b.add("Expand", [number, b.add("Shape", [b(op._inputs[0])])]))


@rule("Fill")
def fill(b: Builder, op: Operation) -> str:
    return str(b.add("Expand", [b(op._inputs[1]), _sizes(b, op._inputs[0])]))


@rule("Gather", "GatherV2")
def gather(b: Builder, op: Operation) -> str:
    """Look rows up. A guard has the plan raise the error of an index that is out of range.

    ONNX counts negative indices from the end; TensorFlow rejects them.
    """
    value, indices = op._inputs[:2]
    axis = int(b.known(op._inputs[2])) if op.type == "GatherV2" else 0
    if op.attrs.get("batch_dims", 0):
        raise Unfit("of each row of a batch")
    size = _length(b, value, axis)
    name = b(indices)
    known = b.value(indices)
    if known is None:
        wide = name if indices.dtype.name == "int64" else b.add("Cast", [name], to=_INT64)
        for kind in ("ReduceMin", "ReduceMax"):
            b.guards.append(Guarded(b.add(kind, [wide], keepdims=0), 0, size - 1))
    elif known.size and not 0 <= known.min() <= known.max() < size:
        raise Unfit("an index is out of range")
    return str(b.add("Gather", [b(value), name], axis=axis))


@rule("TopK", "TopKV2")
def top_k(b: Builder, op: Operation) -> list[str]:
    if not op.attrs["sorted"]:
        raise Unfit("its order is open")
    count = op.attrs["k"] if op.type == "TopK" else b.known(op._inputs[1])
    taken = [b(op._inputs[0]), b.constant([int(count)], np.int64)]
    values, places = b.add("TopK", taken, outputs=2)
    return [values, b.add("Cast", [places], to=_INT32)]
