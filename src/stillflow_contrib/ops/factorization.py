"""Products that matrix factorization needs: at some places of a matrix, and sums over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow_contrib.ops.clustering import check_rank

# How many numbers are held at once besides arguments and results.
_HELD = 1 << 24

wals_compute_partial_lhs_and_rhs_op = op("""
    WALSComputePartialLhsAndRhs(
            factors: float, factor_weights: float, unobserved_weights: float, input_weights: float,
            input_indices: int64, input_values: float, entry_weights: float,
            input_block_size: int64, input_is_transpose: bool)
        -> (partial_lhs: float, partial_rhs: float)
""")
masked_matmul_op = op("""
    MaskedMatmul(a: float, b: float, mask_indices: int64, transpose_a: bool, transpose_b: bool)
        -> prod_values: float
""")


def _check_inside(indices: Any, size: int, name: str) -> None:
    if indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        raise ValueError(f"In {name}, an index is out of bounds [0, {size}).")


# ---- WALSComputePartialLhsAndRhs


@wals_compute_partial_lhs_and_rhs_op.shape
def wals_compute_partial_lhs_and_rhs_shape(node: Node) -> OutputDims:
    return [None, None]


# The rank of each argument, and the end of its message.
_WALS_RANKS = (
    ("factors", 2, "."), ("factor_weights", 1, "."), ("unobserved_weights", 0, "."),
    ("input_weights", 1, "."), ("input_indices", 2, "."), ("input_values", 1, ""),
    ("entry_weights", 1, ""), ("input_block_size", 0, "."), ("input_is_transpose", 0, "."),
)  # fmt: skip


def _check_wals(*arguments: Any) -> None:
    """Raise an error for invalid arguments as TensorFlow does, in its order."""
    for value, (name, rank, end) in zip(arguments, _WALS_RANKS, strict=True):
        check_rank(value, rank, name, end)
        if name == "input_indices" and value.shape[1] != 2:
            raise ValueError("Input input_indices should have shape (?, 2).")
    factors, columns, _, rows, indices, values, entries = arguments[:7]
    if len(indices) != len(values):
        raise ValueError(
            "Input input_values' length should match the first dimension of Input input_indices "
        )
    by_rows = len(rows) and len(columns) == len(factors) and not len(entries)
    by_entries = not len(rows) and not len(columns) and len(entries) == len(indices)
    if not (by_rows or by_entries):
        raise ValueError(
            "To specify the weights for observed entries, either (1) entry_weights must be set or "
            "(2) input_weights and factor_weights must be set, but not both."
        )


@wals_compute_partial_lhs_and_rhs_op.kernel
def wals_compute_partial_lhs_and_rhs_kernel(node: Node) -> Kernel:
    def sums(*arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        _check_wals(*arguments)
        factors, columns, unobserved, rows, indices, values, entries, size, turned = arguments
        of_input, of_factor = indices.flip(1).T if bool(turned) else indices.T
        count = int(size)
        _check_inside(of_input, count, "input_indices")
        _check_inside(of_factor, len(factors), "input_indices")
        if len(entries):
            weights = entries
        else:
            _check_inside(of_input, len(rows), "input_weights")
            weights = rows[of_input] * columns[of_factor]
        if len(weights) and float(weights.min()) < 0:
            raise ValueError("Weights of observed entries should not be negative.")
        return _normal_equations(
            factors, count, of_input, of_factor, weights, values * (unobserved + weights)
        )

    return sums


def _normal_equations(
    factors: Any, size: int, of_input: Any, of_factor: Any, weights: Any, values: Any
) -> tuple[Any, Any]:
    """Return for each of `size` rows the weighted sum of f f' [k, k] and of the values times f [k].

    Rows with about as many entries are filled up to a common length and multiplied at once.
    """
    width = factors.shape[1]
    lhs = factors.new_zeros((size, width, width))
    rhs = factors.new_zeros((size, width))
    order = torch.argsort(of_input, stable=True)
    counts = torch.bincount(of_input, minlength=size)
    starts = counts.cumsum(0) - counts
    classes = torch.where(counts > 0, torch.ceil(torch.log2(counts.double())), -1.0)
    for each in classes.unique().tolist():
        if each < 0:
            continue
        length = 1 << int(each)
        members = (classes == each).nonzero()[:, 0]
        for some in members.split(max(1, _HELD // (length * max(width, 1)))):
            places = torch.arange(length, device=factors.device)
            there = places < counts[some][:, None]
            entry = order[torch.where(there, starts[some][:, None] + places, starts[some][:, None])]
            rows = factors[of_factor[entry]]
            weighted = rows * torch.where(there, weights[entry], 0.0)[..., None]
            lhs[some] = weighted.mT @ rows
            rhs[some] = (torch.where(there, values[entry], 0.0)[:, None, :] @ rows)[:, 0]
    return lhs, rhs


_FACTORS = np.array([[0.5, 1], [2, -1], [1, 1]], np.float32)
_PLACES = np.array([[0, 0], [1, 2], [0, 2]], np.int64)
_NONE = np.zeros(0, np.float32)


@wals_compute_partial_lhs_and_rhs_op.samples
def wals_compute_partial_lhs_and_rhs_samples() -> Samples:
    values, by_row, by_column = (
        np.array([1, 2, 3], np.float32),
        np.array([1, 0.5], np.float32),
        np.array([1, 2, 3], np.float32),
    )
    low, two, no, yes = np.float32(0.1), np.int64(2), np.bool_(False), np.bool_(True)
    yield Sample(_FACTORS, by_column, low, by_row, _PLACES, values, _NONE, two, no, grad=False)
    turned = _PLACES[:, ::-1].copy()
    yield Sample(_FACTORS, _NONE, low, _NONE, turned, values, values, two, yes, grad=False)
    bad = "either .1. entry_weights must be set or"
    yield Bad(_FACTORS, by_column, low, by_row, _PLACES, values, values, two, no, match=bad)
    match = "input_indices should have shape"
    yield Bad(_FACTORS, by_column, low, by_row, values[:, None].astype(np.int64), values, _NONE,
              two, no, match=match)  # fmt: skip
    yield Bad(_FACTORS, by_column, low, by_row, _PLACES + 1, values, _NONE, two, no,
              match="out of bounds")  # fmt: skip


def wals_compute_partial_lhs_and_rhs(
    factors: Any, factor_weights: Any, unobserved_weights: Any, input_weights: Any,
    input_indices: Any, input_values: Any, entry_weights: Any, input_block_size: Any,
    input_is_transpose: Any, name: str | None = None,
) -> Any:  # fmt: skip
    """Return sums over each row's observed entries, for the normal equations of WALS.

    Shapes: factors [m, k], those of columns; factor weights [m] and input weights [rows], both
    empty with `entry_weights` [entries], which stand for products of the two; values [entries],
    indices int64 [entries, 2], row and column, or the other way round. Returns float [rows, k, k],
    the weighted sums of factors times themselves, and float [rows, k].
    """
    return wals_compute_partial_lhs_and_rhs_op(
        factors, factor_weights, unobserved_weights, input_weights, input_indices, input_values,
        entry_weights, input_block_size, input_is_transpose, name=name,
    )  # fmt: skip


# ---- MaskedMatmul


@masked_matmul_op.shape
def masked_matmul_shape(node: Node) -> OutputDims:
    return None


@masked_matmul_op.kernel
def masked_matmul_kernel(node: Node) -> Kernel:
    def multiply(a: Any, b: Any, mask_indices: Any, transpose_a: Any, transpose_b: Any) -> Any:
        check_rank(a, 2, "a")
        check_rank(b, 2, "b")
        check_rank(mask_indices, 2, "mask_indices")
        check_rank(transpose_a, 0, "transpose_a")
        check_rank(transpose_b, 0, "transpose_b")
        left = a.T if bool(transpose_a) else a
        right = b if bool(transpose_b) else b.T
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"Matrix shapes are incompatible: a has shape {shape_text(a.shape)}, "
                f"while b has shape {shape_text(b.shape)}."
            )
        if mask_indices.shape[1] != 2:
            raise ValueError(
                "mask_indices should be a matrix of shape [nnz 2], where nnz is the number of "
                "non-zero elements."
            )
        _check_inside(mask_indices[:, 0], len(left), "mask_indices")
        _check_inside(mask_indices[:, 1], len(right), "mask_indices")
        rows = max(1, _HELD // max(1, left.shape[1]))
        parts = [
            torch.linalg.vecdot(left[some[:, 0]], right[some[:, 1]])
            for some in mask_indices.split(rows)
        ]
        return torch.cat(parts)

    return multiply


@masked_matmul_op.samples
def masked_matmul_samples() -> Samples:
    no, yes = np.bool_(False), np.bool_(True)
    yield Sample(_FACTORS, _FACTORS.T.copy(), _PLACES, no, no, grad=False)
    yield Sample(_FACTORS, _FACTORS + 1, _PLACES, no, yes, grad=False)
    yield Sample(_FACTORS, _FACTORS, _PLACES[:1], yes, no, grad=False)
    yield Bad(_FACTORS, _FACTORS, _PLACES, no, no, match="Matrix shapes are incompatible")
    yield Bad(_FACTORS, _FACTORS, _PLACES + 1, no, yes, match="out of bounds")
    yield Bad(_FACTORS[0], _FACTORS, _PLACES, no, yes, match="Input a should be a matrix.")


def masked_matmul(
    a: Any, b: Any, mask_indices: Any, transpose_a: Any, transpose_b: Any, name: str | None = None
) -> Tensor:
    """Return the product of two float matrices at the places `mask_indices` [n, 2] only, [n]."""
    return masked_matmul_op(a, b, mask_indices, transpose_a, transpose_b, name=name)
