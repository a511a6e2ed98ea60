"""Crosses of features as `tf.contrib.layers` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export_value
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse.crossing import DEFAULT_HASH_KEY, cross_features, crossing
from stillflow.util.deprecation import deprecated_arg_values
from stillflow.util.farmhash import fingerprint_cat

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = export_value(
    "contrib.layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY", 956888297470
)
_SIGNATURE = """
    {name}(indices: N*int64, values: [sparse_types], shapes: N*int64, dense: [dense_types])
        -> (output_indices: int64, output_values: out_type, output_shape: int64)
    N: int >= 0
    hashed_output: bool
    num_buckets: int >= 0
    {hash_key}
    sparse_types: list({{int64, string}}) >= 0
    dense_types: list({{int64, string}}) >= 0
    out_type: {{int64, string}}
    internal_type: {{int64, string}}
"""
_GOLDEN = 0x9E3779B97F4A7800 - (1 << 64)

sparse_feature_cross_op = op(
    _SIGNATURE.format(name="SparseFeatureCross", hash_key=""), differentiable=False
)
sparse_feature_cross_v2_op = op(
    _SIGNATURE.format(name="SparseFeatureCrossV2", hash_key="hash_key: int"), differentiable=False
)


@sparse_feature_cross_op.shape
@sparse_feature_cross_v2_op.shape
def sparse_feature_cross_shape(node: Node) -> OutputDims:
    return [(None, 2), (None,), (2,)]


@sparse_feature_cross_op.kernel
def sparse_feature_cross_kernel(node: Node) -> Kernel:
    return crossing(node, DEFAULT_HASH_KEY, _hash_combine)


@sparse_feature_cross_v2_op.kernel
def sparse_feature_cross_v2_kernel(node: Node) -> Kernel:
    return crossing(node, node.hash_key, fingerprint_cat)


def _hash_combine(hashes: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the older way to add features to hashes.

    Sums wrap around, and shifts keep the sign.
    """
    first, second = hashes.view(np.int64), words.view(np.int64)
    mixed = first ^ (second + np.int64(_GOLDEN) + (first << np.int64(10)) + (first >> np.int64(4)))
    return mixed.view(np.uint64)


@sparse_feature_cross_op.samples
def sparse_feature_cross_samples() -> Iterator[Any]:
    yield from _samples()


@sparse_feature_cross_v2_op.samples
def sparse_feature_cross_v2_samples() -> Iterator[Any]:
    yield from _samples(hash_key=1)


def _samples(**attrs: Any) -> Samples:
    rows = np.array([[0, 0], [1, 0], [1, 1]], np.int64)
    words = np.array([b"a", b"b", b"c"], object)
    dense = np.array([[b"x", b"y"], [b"z", b"w"]], object)
    size = np.array([2, 2], np.int64)
    text = {"hashed_output": False, "num_buckets": 0, "out_type": dtypes.string, **attrs}
    number = {**text, "hashed_output": True, "num_buckets": 100, "out_type": dtypes.int64}
    yield Sample(
        [rows, rows], [words, words], [size, size], [dense], internal_type=dtypes.string, **text
    )
    yield Sample([rows], [np.arange(3)], [size], [dense], internal_type=dtypes.int64, **number)
    yield Bad(
        [rows], [words[:2]], [size], [], match="Expected size of values",
        internal_type=dtypes.string, **text,
    )  # fmt: skip


@deprecated_arg_values(
    "2016-11-20",
    "The default behavior of sparse_feature_cross is changing, the default\n"
    "value for hash_key will change to SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY.\n"
    "From that point on sparse_feature_cross will always use FingerprintCat64\n"
    "to concatenate the feature fingerprints. And the underlying\n"
    "_sparse_feature_cross_op.sparse_feature_cross operation will be marked\n"
    "as deprecated.",
    hash_key=None,
)
def sparse_feature_cross(
    inputs: list[Any],
    hashed_output: bool = False,
    num_buckets: int = 0,
    name: str | None = None,
    hash_key: int | None = None,
) -> SparseTensor:
    """Crosses of columns of features.

    Args:
      inputs: tensors and sparse tensors [batch, features] of strings or whole numbers.
      hashed_output: whether crosses are hashes, or strings joined by ``_X_``.
      num_buckets: hashes are taken modulo this number if it is above zero.
      name: name of the operation.
      hash_key: the key of the hashes; by default they are of an older and weaker kind.

    Returns:
      A sparse tensor [batch, crosses].

    Raises:
      TypeError: `inputs` is not a list of tensors and sparse tensors.
    """
    attrs = {"num_buckets": num_buckets, "name": name}
    if not hash_key:
        return cross_features(sparse_feature_cross_op, inputs, hashed_output, **attrs)
    return cross_features(
        sparse_feature_cross_v2_op, inputs, hashed_output, hash_key=hash_key, **attrs
    )
