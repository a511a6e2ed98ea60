"""Connected components: neighbouring pixels of the same value that is not zero."""

from __future__ import annotations

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import is_object
from stillflow.ops.samples import Bad, Sample, Samples

image_connected_components_op = op(
    """
    ImageConnectedComponents(image: dtype) -> components: int64
    dtype: {int64, int32, uint16, int16, uint8, int8, half, float, double, bool, string}
    """,
    differentiable=False,
)


@image_connected_components_op.shape
def image_connected_components_shape(node: Node) -> OutputDims:
    return node.dims(0)


def _joined(images: np.ndarray) -> np.ndarray:
    """Return the number of the first pixel of each pixel's component."""
    numbers = np.arange(images.size).reshape(images.shape)
    pairs = []
    for near, far in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:, :, :-1], np.s_[:, :, 1:])):
        alike = np.equal(images[near], images[far]).astype(bool)
        pairs.append((numbers[near][alike], numbers[far][alike]))
    first, second = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    root = numbers.reshape(-1)
    while first.size:
        one, other = root[first], root[second]
        # The smaller root replaces the larger; then every pixel points at its root again.
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(further := root[root], root):
            root = further
        apart = root[first] != root[second]
        first, second = first[apart], second[apart]
    return root


def _components(images: np.ndarray) -> torch.Tensor:
    if images.ndim != 3:
        raise ValueError("Input images must have rank 3")
    zero = b"" if images.dtype == object else 0
    there = np.not_equal(images, zero).astype(bool)
    found = np.where(there, _joined(images).reshape(images.shape) + 1, 0)
    return torch.from_numpy(found)


@image_connected_components_op.kernel
def image_connected_components_kernel(node: Node) -> Kernel:
    if is_object(node):
        return node.call(_components, node.inputs[0])
    return lambda images: _components(images.cpu().numpy()).to(images.device)


@image_connected_components_op.samples
def image_connected_components_samples() -> Samples:
    images = np.array([[[1, 1, 0, 2], [0, 1, 2, 2]], [[3, 0, 3, 3], [3, 3, 3, 0]]], np.int32)
    yield Sample(images)
    yield Sample(images[:, :0])
    yield Bad(images[0], match="must have rank 3")
