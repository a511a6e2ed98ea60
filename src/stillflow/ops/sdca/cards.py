"""The operations of stochastic dual coordinate ascent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sdca.ascent import drawn, shuffled, train
from stillflow.ops.sdca.examples import Problem, columns_of, refused
from stillflow.ops.sdca.losses import LOSSES
from stillflow.util.farmhash128 import fingerprints128

_SIGNATURE = """
    {}(sparse_example_indices: num_sparse_features*int64,
        sparse_feature_indices: num_sparse_features*int64,
        sparse_feature_values: num_sparse_features_with_values*float,
        dense_features: num_dense_features*float, example_weights: float, example_labels: float,
        sparse_indices: num_sparse_features*int64, sparse_weights: num_sparse_features*float,
        dense_weights: num_dense_features*float, example_state_data: float)
        -> (out_example_state_data: float, out_delta_sparse_weights: num_sparse_features*float,
            out_delta_dense_weights: num_dense_features*float)
    loss_type: {}
    {}: bool = false
    num_sparse_features: int >= 0
    num_sparse_features_with_values: int >= 0
    num_dense_features: int >= 0
    l1: float
    l2: float
    num_loss_partitions: int >= 1
    num_inner_iterations: int >= 1
"""
_TYPES = "{" + ", ".join(f'"{name.decode()}"' for name in LOSSES) + "}"
sdca_optimizer_op = op(
    _SIGNATURE.format("SdcaOptimizer", _TYPES, "adaptative"), differentiable=False, devices="host"
)
sdca_optimizer_v2_op = op(
    _SIGNATURE.format("SdcaOptimizerV2", _TYPES, "adaptive"), differentiable=False, devices="host"
)
_MOST_WEIGHTS = 4096
sdca_shrink_l1_op = op(
    """
    SdcaShrinkL1(weights: &num_features*float)
    num_features: int >= 0
    l1: float
    l2: float
""",
    writes=tuple(range(_MOST_WEIGHTS)),
    differentiable=False,
    devices="host",
)
sdca_fprint_op = op(
    "SdcaFprint(input: string) -> output: int64", differentiable=False, devices="host"
)


# ---- SdcaOptimizer


def _parts(node: Node, values: Any) -> tuple[Any, ...]:
    """Return the arguments, lists as lists."""
    sparse, dense = node.num_sparse_features, node.num_dense_features
    sizes = (sparse, sparse, node.num_sparse_features_with_values, dense, 1, 1, sparse, sparse,
             dense, 1)  # fmt: skip
    ends = np.cumsum([0, *sizes]).tolist()
    found = [values[start:end] for start, end in itertools.pairwise(ends)]
    return tuple(part[0] if place in (4, 5, 9) else part for place, part in enumerate(found))


@sdca_optimizer_op.shape
@sdca_optimizer_v2_op.shape
def sdca_optimizer_shape(node: Node) -> OutputDims:
    dims = [node.dims(index) for index in range(len(node.inputs))]
    *_, sparse_weights, dense_weights, _ = _parts(node, dims)
    return [(None, 4), *sparse_weights, *dense_weights]


@sdca_optimizer_op.kernel
@sdca_optimizer_v2_op.kernel
def sdca_optimizer_kernel(node: Node) -> Kernel:
    if node.num_sparse_features + node.num_dense_features == 0:
        raise refused("Requires at least one feature to train.")
    attrs = node.op.attrs
    adaptive = attrs["adaptive"] if "adaptive" in attrs else attrs["adaptative"]

    def optimize(*tensors: Any) -> tuple[torch.Tensor, ...]:
        arrays = [each.numpy(force=True) for each in tensors]
        problem, state = _problem(node, arrays)
        train(problem, drawn(problem, state) if adaptive else shuffled(problem), state)
        shapes = [each.shape for each in arrays[-1 - node.num_sparse_features
                                                - node.num_dense_features : -1]]  # fmt: skip
        deltas = [each.deltas for each in problem.sparse] + [each.deltas for each in problem.dense]
        results = [state, *(each.reshape(dims) for each, dims in zip(deltas, shapes))]
        return tuple(torch.from_numpy(each) for each in results)

    return optimize


def _problem(node: Node, arrays: Any) -> tuple[Problem, np.ndarray]:
    """Return the problem of a step, and a copy of the state of its examples."""
    (examples, features, values, rows, example_weights, labels, indices, sparse_weights,
     dense_weights, state) = _parts(node, arrays)  # fmt: skip
    example_weights, labels = example_weights.reshape(-1), labels.reshape(-1)
    count = len(example_weights)
    if len(labels) != count:
        raise refused(f"Expected {count} example labels but got {len(labels)}")
    values = [*values, *[None] * (len(features) - len(values))]
    sparse, dense = columns_of(
        count,
        list(zip(*map(_flat, (examples, features, values, indices, sparse_weights)))),
        list(zip(rows, dense_weights)),
    )
    if state.shape != (count, 4):
        raise refused(
            f"Expected shape [{count},4] for example_state_data, got {shape_text(state.shape)}"
        )
    l1, l2 = np.float32(node.l1), np.float32(node.l2)
    with np.errstate(all="ignore"):
        shrinkage = float(l1 / l2)
    problem = Problem(
        LOSSES[node.loss_type], labels, example_weights, shrinkage, np.float64(l2),
        node.num_loss_partitions, sparse, dense,
    )  # fmt: skip
    return problem, state.copy()


def _flat(arrays: Any) -> list[Any]:
    return [each if each is None else each.reshape(-1) for each in arrays]


@sdca_optimizer_op.samples
def sdca_optimizer_samples() -> Iterator[Any]:
    return _optimizer_samples()


@sdca_optimizer_v2_op.samples
def sdca_optimizer_v2_samples() -> Iterator[Any]:
    return _optimizer_samples()


def _optimizer_samples() -> Samples:
    # One example: the order of several is drawn.
    settings: dict[str, Any] = {
        "l1": 0.1,
        "l2": 1.0,
        "num_loss_partitions": 1,
        "num_inner_iterations": 1,
    }
    one, zeros = np.array([1], np.float32), np.zeros((1, 4), np.float32)
    sparse = [
        [np.array([0, 0], np.int64)],
        [np.array([7, 3], np.int64)],
        [np.array([1, 2], np.float32)],
    ]
    row, weights = np.array([[1, -2]], np.float32), np.array([0.5, 0.25], np.float32)
    middle = (one, one, [np.array([3, 7], np.int64)], [np.array([0.1, 0.3], np.float32)], [weights])
    for loss in LOSSES:
        yield Sample(*sparse, [row], *middle, zeros, loss_type=loss.decode(), **settings)
    both: dict[str, Any] = {"loss_type": "hinge_loss", **settings}
    yield Bad(*sparse, [row], *middle, zeros[:, :3], match="Expected shape", **both)
    yield Bad(*sparse, [row], 2 * one, 2 * one, *middle[2:], zeros, match="Only labels", **both)
    unknown = [
        [np.array([0, 0], np.int64)],
        [np.array([7, 4], np.int64)],
        [np.array([1, 2], np.float32)],
    ]
    yield Bad(*unknown, [row], *middle, zeros, match="out of valid range: 4", **both)
    twice = [
        [np.array([0, 0], np.int64)],
        [np.array([7, 7], np.int64)],
        [np.array([1, 2], np.float32)],
    ]
    yield Bad(*twice, [row], *middle, zeros, match="Duplicate index", **both)


# ---- SdcaShrinkL1


@sdca_shrink_l1_op.kernel
def sdca_shrink_l1_kernel(node: Node) -> Kernel:
    with np.errstate(all="ignore"):
        shrinkage = float(np.float32(node.l1) / np.float32(node.l2))

    def shrink(*weights: Any) -> None:
        for buffer in weights:
            value = buffer.read()
            value.copy_(value.sign() * (value.abs() - shrinkage).clamp_(min=0))

    return shrink


@sdca_shrink_l1_op.shape
def sdca_shrink_l1_shape(node: Node) -> OutputDims:
    return []


# ---- SdcaFprint


@sdca_fprint_op.shape
def sdca_fprint_shape(node: Node) -> OutputDims:
    return (*checked_rank(node, 0, 1, "Input must be a vector, got shape "), 2)


@sdca_fprint_op.kernel
def sdca_fprint_kernel(node: Node) -> Kernel:
    def fingerprint(strings: Any) -> torch.Tensor:
        words = fingerprints128(strings)
        low = words[:, 0]
        # 0 and 1 are kept for tables to mark buckets with.
        low[low < 2] += np.uint64(2**64 - 2)
        return torch.from_numpy(words.view(np.int64))

    return fingerprint


@sdca_fprint_op.samples
def sdca_fprint_samples() -> Samples:
    yield Sample(np.array([b"", b"abc", b"x" * 300], object))
    yield Bad(np.array([[b"a"]], object), match="rank 1|must be a vector")
