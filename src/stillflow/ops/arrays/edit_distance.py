"""`tf.edit_distance`: how far sequences are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import is_sparse
from stillflow.ops import native_calls
from stillflow.ops.kernels import ints
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.texts import Numbering, texts_of

edit_distance_op = op(
    """
    EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, \
truth_indices: int64, truth_values: T, truth_shape: int64) -> output: float
    normalize: bool = true
    T: type
""",
    differentiable=False,
    devices="host",
)


def check_sparse(indices: Any, values: Any, shape: Any) -> None:
    """Raise an error for static shapes that are not those of a sparse tensor's parts."""
    rows, columns = dims_lib.with_rank(indices, 2)
    (count,) = dims_lib.with_rank(values, 1)
    (rank,) = dims_lib.with_rank(shape, 1)
    if None not in (rows, count) and rows != count:
        raise ValueError(f"Number of elements in index ({rows}) and values ({count}) do not match.")
    if None not in (columns, rank) and columns != rank:
        raise ValueError(f"Index rank ({columns}) and shape rank ({rank}) do not match.")


@edit_distance_op.shape
def edit_distance_shape(node: Node) -> OutputDims:
    if node.planning:
        return None  # the kernel has words of its own
    for first in (0, 3):
        check_sparse(node.dims(first), node.dims(first + 1), node.dims(first + 2))
    one, other = node.value(2), node.value(5)
    if one is None or other is None:
        return None
    if one.size != other.size:
        raise ValueError(
            "Num elements of hypothesis_shape does not match truth_shape: "
            f"{one.size} vs. {other.size}"
        )
    return tuple(np.maximum(one, other)[:-1].tolist())


def levenshtein(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the least number of insertions, deletions and replacements between two sequences."""
    if len(one) < len(other):
        one, other = other, one
    row = list(range(len(other) + 1))
    for number, item in enumerate(one, 1):
        diagonal, row[0] = row[0], number
        for column, candidate in enumerate(other, 1):
            change = 1 + min(diagonal, row[column], row[column - 1])
            best = diagonal if item == candidate else change
            diagonal, row[column] = row[column], best
    return row[-1]


# All elements of sequences; where each begins and the last one ends; their places, all int64.
_Sequences = tuple[np.ndarray, np.ndarray, np.ndarray]


def _sequences(indices: Any, values: np.ndarray, shape: Sequence[int]) -> _Sequences:
    """Return the sequences along the last dimension of `shape`, each of consecutive elements."""
    rows = indices.numpy()[:, :-1]
    outside = (rows < 0) | (rows >= shape[:-1])
    if outside.any():
        place = rows[outside.any(1).argmax()].tolist()
        raise ValueError(f"index {place} lies outside of shape {list(shape)}")
    places = rows @ np.cumprod([1, *shape[-2:0:-1]], dtype=np.int64)[::-1]
    ends = np.flatnonzero(np.r_[True, places[1:] != places[:-1], True] if len(rows) else [True])
    return values, ends, places[ends[:-1]]


def _as_numbers(*values: Any) -> list[np.ndarray]:
    """Vectors of one type as int64, which are equal where their elements are."""
    arrays = [each if isinstance(each, np.ndarray) else _array(each) for each in values]
    if all(array.dtype.kind in "iub" for array in arrays):
        return [array.astype(np.int64) for array in arrays]
    joined = np.concatenate(arrays)
    if (texts := texts_of(joined)) is not None:
        return np.split(Numbering(texts).numbers, [len(arrays[0])])
    _, codes = np.unique(joined, return_inverse=True, equal_nan=False)
    return np.split(codes.astype(np.int64), [len(arrays[0])])


def _array(value: Any) -> np.ndarray:
    is_half = value.is_floating_point() and value.itemsize < 4  # NumPy has no bfloat16
    array: np.ndarray = (value.float() if is_half else value).cpu().numpy()
    return array


def _put_changes(both: Sequence[_Sequences], normalize: bool, out: np.ndarray) -> None:
    """Put the distances of truths and guesses into their places of `out`, float32.

    As TF goes through both once, those out of order may not meet, and the last one counts.
    """
    if native.library() is not None:
        at = [(*(x.ctypes.data for x in each), len(each[2])) for each in both]
        native_calls.call("edit_distances", *at[0], *at[1], normalize, out.ctypes.data)
        return
    lists = [
        list(zip(places.tolist(), np.split(items, ends[1:-1])))[::-1]
        for items, ends, places in both
    ]
    while any(lists):
        place = min(each[-1][0] for each in lists if each)
        truth, guess = (
            each.pop()[1].tolist() if each and each[-1][0] == place else [] for each in lists
        )
        size = len(truth) if normalize else 1
        out.flat[place] = levenshtein(truth, guess) / size if size else np.inf


def _check_parts(hypothesis: Sequence[Any], truth: Sequence[Any]) -> None:
    """Raise an error for sparse tensors, given by their parts, with the message of TF's kernel."""
    both = (("hypothesis", *hypothesis), ("truth", *truth))
    for place, (part, kind) in enumerate(
        (("indices", "matrix"), ("values", "vector"), ("shape", "vector")), 1
    ):
        for given in both:
            if given[place].ndim != 1 + (kind == "matrix"):
                raise ValueError(
                    f"{given[0]}_{part} should be a {kind}, but got shape: "
                    f"{shape_text(given[place].shape)}"
                )
    for name, indices, _, shape in both:
        if name == "truth" and len(shape) < 2:
            raise ValueError(
                "Input SparseTensors must have rank at least 2, but truth_shape rank is: "
                f"{len(shape)}"
            )
        if len(shape) != indices.shape[1]:
            raise ValueError(
                f"Expected {name}_shape.NumElements == #cols({name}_indices), their shapes are: "
                f"{shape_text(shape.shape)} and {shape_text(indices.shape)}"
            )
    if len(truth[2]) != len(hypothesis[2]):
        raise ValueError(
            "Expected truth and hypothesis to have matching ranks, but their shapes are: "
            f"[{len(truth[2])}] and [{len(hypothesis[2])}]"
        )
    for _, indices, values, shape in both:
        for size in ints(shape):
            if size < 0:
                raise ValueError(f"Dimension {size} must be >= 0")
        if len(indices) != len(values):
            raise ValueError(
                "indices and values rows (indexing dimension) must match. "
                f"(indices = {len(indices)}, values = {len(values)})"
            )


@edit_distance_op.kernel
def edit_distance_kernel(node: Node) -> Kernel:
    normalize = node.normalize

    def distances(
        guess_indices: Any, guess_values: Any, guess_shape: Any, truth_indices: Any,
        truth_values: Any, truth_shape: Any,
    ) -> torch.Tensor:  # fmt: skip
        _check_parts(
            (guess_indices, guess_values, guess_shape), (truth_indices, truth_values, truth_shape)
        )
        sizes = [max(a, b) for a, b in zip(ints(guess_shape), ints(truth_shape), strict=True)]
        output = np.zeros(sizes[:-1], np.float32)
        truth, guess = _as_numbers(truth_values, guess_values)
        both = _sequences(truth_indices, truth, sizes), _sequences(guess_indices, guess, sizes)
        _put_changes(both, normalize, output)
        return torch.from_numpy(output)

    return distances


@edit_distance_op.samples
def edit_distance_samples() -> Samples:
    guess = (np.array([[0, 0], [0, 1]]), np.array([b"a", b"b"], object), np.array([2, 2]))
    truth = (np.array([[0, 0], [1, 0]]), np.array([b"a", b"c"], object), np.array([2, 1]))
    yield Sample(*guess, *truth, fixed=(2, 5))
    yield Sample(*guess, *truth, normalize=False, fixed=(2, 5))
    yield Bad(*guess[:2], np.array([2, 2, 2]), *truth, match=r"rank \(3\) do not match|#cols")
    yield Bad(*guess[:2], np.array([2, -2]), *truth, match="Dimension -2 must be >= 0")
    yield Bad(guess[0], guess[1][:1], guess[2], *truth, match=r"values \(1\) do not match|rows")


@export("edit_distance")
def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """Return the number of elements of each sequence that are wrong, missing or superfluous.

    Args:
      hypothesis: the sequences to judge: a sparse tensor, sequences along the last dimension.
      truth: what they should be.
      normalize: whether the number is divided by the length of the true sequence.
      name: of the operation.

    Raises:
      TypeError: if an argument is not sparse.
    """
    parts: list[Any] = []
    for role, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not is_sparse(value):
            raise TypeError(f"{role} must be a SparseTensor.")
        parts += (value.indices, value.values, value.dense_shape)
    distances: Tensor = edit_distance_op(*parts, normalize=normalize, name=name)
    return distances
