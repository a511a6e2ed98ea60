"""Operations that exist for tests of graphs only, `tensorflow.python.framework.test_ops`.

TensorFlow keeps them in a library of its own that its tests load; here they are registered when
this module is imported. Most have a signature, in `test_ops.txt`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, register_library
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops import raw_ops

_SIGNATURES = Path(__file__).with_name("test_ops.txt").read_text(encoding="utf-8")

_cards = register_library(
    Card(
        line,
        effect="state" if "resource: resource" in line else None,
    )
    for line in _SIGNATURES.splitlines()
)
_LABELS = ("default", "overload_1", "overload_2")


def _scalar(node: Node) -> Any:
    del node
    return ()


for _name in (
    "KernelLabel", "GraphDefVersion", "StubResourceHandleOp", "ResourceInitializedOp",
    "DevicePlacementOp",
):  # fmt: skip
    _cards[_name].shape(_scalar)


@_cards["KernelLabelRequired"].shape
def kernel_label_required_shape(node: Node) -> OutputDims:
    from stillflow.graph.dims import with_rank

    with_rank(node.dims(0), 1)
    return ()


@_cards["RequiresOlderGraphVersion"].shape
def requires_older_graph_version_shape(node: Node) -> OutputDims:
    from stillflow.graph.graph import PRODUCER

    if node.op.graph.graph_def_versions.producer != PRODUCER - 1:
        raise ValueError("Wrong graph version for shape")
    return ()


def _label_kernel(required: bool) -> Callable[..., Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        label = node.op.attrs.get("_kernel", b"").decode()
        if label not in _LABELS[1:] and (label or required):
            raise errors.invalid_argument(
                f"No OpKernel was registered to support Op '{node.op.type}' used by node "
                f"{node.name} with the label '{label}'"
            )
        return lambda *inputs: _string(f"My label is: {label or 'default'}")

    return kernel


for _name in ("KernelLabel", "KernelLabelRequired"):
    _cards[_name].kernel(_label_kernel(_name == "KernelLabelRequired"))


def _string(text: str) -> Array:
    import numpy as np

    value = np.empty((), dtype=object)
    value[()] = text.encode()
    return value


@_cards["GraphDefVersion"].kernel
def graph_def_version_kernel(node: Node) -> Kernel:
    import torch

    version = node.op.graph.graph_def_versions.producer
    return lambda: torch.tensor(version, dtype=torch.int32)


@_cards["Old"].kernel
def old_kernel(node: Node) -> Kernel:
    del node
    return lambda: None


@_cards["TestAttr"].kernel
def test_attr_kernel(node: Node) -> Kernel:
    import torch

    if node.T.name != "float32":
        raise errors.invalid_argument(
            f"No OpKernel was registered to support Op 'TestAttr' with T={node.T.name}"
        )
    return lambda: torch.tensor(1.0)


class StubResource:
    """A resource that is nothing but made or not."""

    def __init__(self) -> None:
        self.is_made = False


@_cards["StubResourceHandleOp"].kernel
def stub_resource_handle_op_kernel(node: Any) -> Kernel:
    return node.handle(node.resource(StubResource, kind="stub"))


@_cards["ResourceInitializedOp"].kernel
def resource_initialized_op_kernel(node: Node) -> Kernel:
    import torch

    del node
    return lambda resource: torch.tensor(resource.is_made)


@_cards["ResourceCreateOp"].kernel
def resource_create_op_kernel(node: Node) -> Kernel:
    del node

    def create(resource: StubResource) -> None:
        resource.is_made = True

    return create


@_cards["ResourceUsingOp"].kernel
def resource_using_op_kernel(node: Node) -> Kernel:
    del node

    def use(resource: StubResource) -> None:
        if not resource.is_made:
            raise errors.not_found("Resource does not exist.")

    return use


@_cards["DevicePlacementOp"].kernel
def device_placement_op_kernel(node: Node) -> Kernel:
    device = node.op.device or "/job:localhost/replica:0/task:0/device:CPU:0"
    return lambda: _string(device)


def __getattr__(name: str) -> Callable[..., Any] | None:
    """Return the function of an op, "float_output", or its keyword form, "FloatOutput"."""
    wanted = name.replace("_", "").lower()
    for card in _cards:
        if card.lower() == wanted and (name == card or name == name.lower()):
            return raw_ops.lookup(card) if name == card else raw_ops.positional(card)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
