"""Forms of operations on matrices, diagonals and rows that turn."""

from __future__ import annotations

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


@form("MatrixInverse", "BatchMatrixInverse")
def inverse(o: Nodes) -> str:
    made = o.Inverse(o.x)
    rank = o.rank()
    return str(
        o.Transpose(made, perm=[*range(rank - 2), rank - 1, rank - 2]) if o.a.adjoint else made
    )


@form("MatrixDeterminant", "BatchMatrixDeterminant")
def determinant(o: Nodes) -> str:
    return o.to(o.Det(o.to(o.x, "float32")), o.out)  # onnxruntime has it in single precision


@form("Roll")
def roll(o: Nodes) -> str:
    """Exchange the two parts of each axis."""
    made, shifts = o.x, o.vec(o.y)
    for place, axis in enumerate(o.ints(2)):
        axis %= o.rank()
        size = o.size(o.x, axis)
        shift = o.Slice(shifts, [place], [place + 1])
        cut = o.Sub(size, o.Mod(shift, o.Max(size, [1])))
        made = o.Concat(
            o.Slice(made, cut, size, [axis]), o.Slice(made, [0], cut, [axis]), axis=axis
        )
    return str(made)


def _diagonals(o: Nodes, place: int) -> tuple[int, int]:
    found = o.ints(place)
    return found[0], found[-1]


@form("MatrixDiagV2")
def diag(o: Nodes) -> str:
    """Take every element of the matrix from its place in the diagonals."""
    low, high = _diagonals(o, 1)
    rows, columns = o.ints(2)[0], o.ints(3)[0]
    rank = o.rank()
    several = low != high
    width = o.size(o.x, rank - 1)
    least = [o.Add(width, [-min(high, 0)]), o.Add(width, [max(low, 0)])]
    if rows == columns == -1:
        least = [o.Max(*least)] * 2
    sizes = [
        side if given == -1 else [given] for side, given in zip(least, (rows, columns), strict=True)
    ]
    across = o.Unsqueeze(o.numbers(sizes[1]), [0])
    down = o.Unsqueeze(o.numbers(sizes[0]), [1])
    number = o.Sub(across, down)
    inside = o.And(o.GreaterOrEqual(number, [low]), o.LessOrEqual(number, [high]))
    within = o.inside(o.Min(across, down), [0], o.Sub(width, [1]))
    which = o.inside(o.Sub([high], number), [0], [high - low])
    flat = o.Reshape(o.x, o.cat(o.Shape(o.x, end=rank - 2), [-1])) if several else o.x
    found = o.Gather(flat, o.Add(o.Mul(which, width), within), axis=-1)
    return str(o.Where(inside, found, o.u))


@form("MatrixDiagPartV2")
def diag_part(o: Nodes) -> str:
    """Gather diagonals from the flat matrix; shorter ones are filled up on the right."""
    low, high = _diagonals(o, 1)
    rank = o.rank()
    rows, columns = o.size(o.x, rank - 2), o.size(o.x, rank - 1)
    numbers = np.arange(high, low - 1, -1)
    lengths = o.Min(o.Add(rows, np.minimum(numbers, 0)), o.Sub(columns, np.maximum(numbers, 0)))
    steps = o.Unsqueeze(o.numbers(o.ReduceMax(lengths)), [0])
    inside = o.Less(steps, o.Unsqueeze(lengths, [1]))
    steps = o.Min(steps, o.Sub(o.Unsqueeze(lengths, [1]), [1]))
    down = o.Add(steps, np.maximum(-numbers, 0)[:, None])
    across = o.Add(steps, np.maximum(numbers, 0)[:, None])
    flat = o.Reshape(o.x, o.cat(o.Shape(o.x, end=rank - 2), [-1]))
    found = o.Where(inside, o.Gather(flat, o.Add(o.Mul(down, columns), across), axis=-1), o.z)
    return str(found if low != high else o.Squeeze(found, [-2]))


@form("Bincount")
def bincount(o: Nodes) -> str:
    """Add up weights, or ones; those of large numbers go into a place that is cut off."""
    count = o.vec(o.y)
    dims = o.sizes(o.op._inputs[2])  # weights may be missing
    ids = o.Min(o.vec(o.x), count)
    ones = o.Expand(o.to(1, o.out), o.Shape(ids))
    weights = o.Reshape(o.z, [-1]) if np.prod(dims) else ones
    zeros = o.Expand(o.to(0, o.out), o.Add(count, [1]))
    made = o.ScatterND(zeros, o.Unsqueeze(ids, [-1]), weights, reduction="add")
    return str(o.Slice(made, [0], count))
