"""Fingerprint: a hash of every row's bytes that never changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.farmhash import fingerprints, row_fingerprints

_BYTES = 8  # of a fingerprint
_METHOD = b"farmhash64"

fingerprint_op = op("Fingerprint(data: T, method: string) -> fingerprint: uint8; T: type")


@fingerprint_op.shape
def fingerprint_shape(node: Node) -> OutputDims:
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    if not node.planning:  # the kernel has words of its own
        dims_lib.with_rank(node.dims(1), 0)
    method = node.value(1)
    if method is not None and method.item() != _METHOD:
        raise ValueError(f"Unsupported method: {_text(method)}")
    return (None if dims is None else dims[0], None if method is None else _BYTES)


def _text(method: Any) -> str:
    given = method.item() if isinstance(method, np.ndarray) else method
    return given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)


def _string_rows(strings: np.ndarray) -> np.ndarray:
    hashed = fingerprints([bytes(string) for string in strings.reshape(-1)])
    per_row = strings.size // max(1, strings.shape[0])
    if per_row <= 1 and strings.size:
        return hashed  # the fingerprint of a lone string is not hashed once more
    rows = hashed.astype("<u8").view(np.uint8).reshape(strings.shape[0], per_row * _BYTES)
    return row_fingerprints(rows)


def _fingerprint(data: Any, method: Any) -> torch.Tensor:
    if np.ndim(method):
        raise ValueError(
            f"`method` should be a scalar string: {dims_lib.to_string(np.shape(method))}"
        )
    if _text(method) != _METHOD.decode():
        raise ValueError(f"Unsupported fingerprint method: {_text(method)}")
    if not data.ndim:
        raise ValueError(f"`data` should have at least one dimension: {dims_lib.to_string(())}")
    count = data.shape[0]
    if isinstance(data, np.ndarray):
        hashed = _string_rows(data)
        return torch.from_numpy(hashed.astype("<u8").view(np.uint8).reshape(count, _BYTES))
    if not data.numel():
        rows = np.empty((count, 0), np.uint8)
    else:
        rows = data.cpu().reshape(count, -1).contiguous().view(torch.uint8).numpy()
    hashed = row_fingerprints(rows).astype("<u8").view(np.uint8).reshape(count, _BYTES)
    return torch.from_numpy(hashed).to(data.device)


@fingerprint_op.kernel
def fingerprint_kernel(node: Node) -> Kernel:
    return node.call(_fingerprint, *node.inputs)


@fingerprint_op.samples
def fingerprint_samples() -> Samples:
    yield Sample(np.arange(12, dtype=np.int32).reshape(2, 6), b"farmhash64")
    yield Sample(np.array([b"a", b"bcd"], object), b"farmhash64")
    yield Sample(np.array([[b"a", b"bcd"], [b"", b"x" * 99]], object), b"farmhash64")
    yield Bad(np.float32(1), b"farmhash64", match="at least rank 1")
    yield Bad(np.zeros([2], np.float32), b"md5", match="Unsupported method: md5")


@export("fingerprint")
def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """Return a hash of each row's bytes that stays the same between machines and versions.

    Args:
      data: any type; rank 1 or more, the first axis counts the rows.
      method: a string scalar; only `farmhash64` is known.
      name: of the op.

    Returns:
      uint8 [rows, 8], each row a 64-bit number with its lowest byte first.

    Raises:
      ValueError: the rank is 0 or the method is not known.
    """
    return fingerprint_op(data, method, name=name)
