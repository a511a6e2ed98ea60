"""Operations that exist for tests of graphs only, `tensorflow.python.framework.test_ops`.

TensorFlow keeps them in a library of its own that its tests load; here they are registered when
this module is imported. Most have a signature and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, register_library
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops import raw_ops

_SIGNATURES = """
A() -> out: float
B() -> out: float
Foo1(a: float, b: int32, c: int32) -> (d: float, e: int32)
Foo2(a: float, b: string, c: string) -> (d: float, e: int32)
Foo3(a: float, b: string, c: float) -> (d: float, e: int32)
CopyOp(a: T) -> b: T; T: type
None()
IntOutput() -> a: int32
Int64Output() -> out: int64
RefOutput() -> a: &int32
FloatOutput() -> a: float
TwoFloatOutputs() -> (a: float, b: float)
FiveFloatOutputs() -> (a: float, b: float, c: float, d: float, e: float)
RefOutputFloatOutput() -> (a: &float, b: float)
RefInputFloatInput(a: &float, b: float)
IntInput(a: int32)
IntInputIntOutput(a: int32) -> b: int32
FloatInput(a: float)
TwoIntOutputs() -> (a: int32, b: int32)
IntOutputFloatOutput() -> (a: int32, b: float)
FloatOutputStringOutput() -> (a: float, b: string)
TwoIntInputs(a: int32, b: int32)
TwoFloatInputs(a: float, b: float)
IntInputFloatInput(a: int32, b: float)
RefInputIntInput(a: &int32, b: int32)
TwoFloatInputsFloatOutput(a: float, b: float) -> c: float
TwoFloatInputsIntOutput(a: float, b: float) -> c: int32
RefInputFloatInputIntOutput(a: &float, b: float) -> c: int32
ListInput(a: N*T); N: int >= 1; T: type
ListOutput() -> a: [T]; T: list(type) >= 1
Unary(a: T) -> b: T; T: type
OpWithDefaultAttr() -> a: int32; default_float: float = 123.0
OpWithFutureDefaultAttr()
IntAttr() -> out: int64; foo: int = 1
StringListAttr(); a: list(string); b: string
DefaultAttrs(); string_val: string = "abc"; string_list_val: list(string) = ["abc", ""]; \
int_val: int = 123; int_list_val: list(int) = [1, 2, 3]; float_val: float = 10.0; \
float_list_val: list(float) = [10.0]; bool_val: bool = true; \
bool_list_val: list(bool) = [true, false]; type_val: type = int32; \
type_list_val: list(type) = [int32, float]; shape_val: shape = [2, 1]; \
shape_list_val: list(shape) = [[], [1]]; tensor_val: tensor = int32 1; \
tensor_list_val: list(tensor) = [int32 1]
FuncAttr(); f: func
FuncListAttr(); f: list(func)
Simple(a: int32) -> out: float
OutT() -> a: T; T: type
ReservedInput(input: int32)
Polymorphic(a: T) -> out: T; T: type
PolymorphicOut() -> out: T; T: type
PolymorphicDefaultOut() -> out: T; T: type = string
Binary(a: T, b: T) -> out: T; T: type
Restrict(a: T) -> out: T; T: {string, bool}
TypeList(a: [T]); T: list(type) >= 0
TypeListTwice(a: [T], b: [T]); T: list(type) >= 0
OutTypeList() -> out: [T]; T: list(type) >= 0
TypeListRestrict(a: [T]); T: list({string, bool})
OutTypeListRestrict() -> out: [t]; t: list({string, bool})
Attr(); a: int
AttrFloat(); a: float
AttrBool(); a: bool
AttrBoolList(); a: list(bool)
AttrMin(); a: int >= 5
AttrListMin(); a: list(int) >= 2
AttrEnum(); a: {"apples", "oranges"}
AttrEnumList(); a: list({"apples", "oranges"})
AttrShape(); a: shape
AttrShapeList(); a: list(shape)
AttrPartialShape(); a: shape
AttrPartialShapeList(); a: list(shape)
AttrDefault(); a: string = "banana"
AttrListDefault(); a: list(int) = [5, 15]
AttrEmptyListDefault(); a: list(float) = []
ReservedAttr(); range: int
AttrTypeDefault(a: T); T: type = int32
AttrListTypeDefault(a: N*T, b: N*T); T: type = int32; N: int
NIntsIn(a: N*int32); N: int >= 2
NPolymorphicIn(a: N*T); T: type; N: int >= 2
NPolymorphicRestrictIn(a: N*T); T: {string, bool}; N: int >= 2
NInTwice(a: N*int32, b: N*string); N: int >= 0
NInPolymorphicTwice(a: N*T, b: N*T); T: type; N: int >= 0
NInTwoTypeVariables(a: N*S, b: N*T); S: type; T: type; N: int >= 0
InPolymorphicTwice(a: N*T, b: M*T); T: type; N: int >= 0; M: int >= 0
NIntsOut() -> a: N*int32; N: int >= 2
NIntsOutDefault() -> a: N*int32; N: int >= 2 = 3
NPolymorphicOut() -> a: N*T; T: type; N: int >= 2
NPolymorphicOutDefault() -> a: N*T; T: type = bool; N: int >= 2 = 2
NPolymorphicRestrictOut() -> a: N*T; T: {string, bool}; N: int >= 2
RefIn(a: &T); T: type
TwoRefsIn(a: &T, b: &T); T: type
RefOut() -> a: &T; T: type
SimpleStruct() -> a: n_a*int32; n_a: int >= 0
MixedStruct() -> (a: n_a*int32, b: float); n_a: int >= 0
ComplexStruct() -> (a: n_a*int32, b: n_b*int64, c: [t_c]); n_a: int >= 0; n_b: int >= 0; \
t_c: list(type) >= 0
TestStringOutput(input: float) -> (output1: float, output2: string)
TestAttr() -> out: T; T: {float, double}
KernelLabel() -> result: string
KernelLabelRequired(input: int32) -> result: string
GraphDefVersion() -> version: int32; flags: stateful
RequiresOlderGraphVersion() -> version: int32; flags: stateful
Old()
StubResourceHandleOp() -> resource: resource; container: string = ""; shared_name: string = ""; \
flags: stateful
ResourceInitializedOp(resource: resource) -> initialized: bool
ResourceCreateOp(resource: resource)
ResourceUsingOp(resource: resource)
DevicePlacementOp() -> device: string; flags: stateful
"""

_cards = register_library(
    Card(
        line,
        effect="state" if "resource: resource" in line else None,
    )
    for line in _SIGNATURES.strip().splitlines()
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
