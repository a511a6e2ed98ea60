"""Ops that only order or hand on: NoOp, Identity, StopGradient, group, tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import copied, order_only
from stillflow.ops.samples import Sample, Samples

# ---- NoOp

no_op_op = op("NoOp()", latency="none")
control_trigger_op = op("ControlTrigger()", flow="trigger")


@no_op_op.kernel
def no_op_kernel(node: Node) -> Kernel:
    return node.call(order_only)


@control_trigger_op.kernel
def control_trigger_kernel(node: Node) -> Kernel:
    return node.call(order_only)


# ---- Ops whose output is their input


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


def _same_value(node: Node) -> Array | None:
    return node.value(0)


def _same(node: Node) -> Call:
    return node.same(0)


def _same_gradient(node: Node, grad: Any) -> Any:
    return grad


def _no_resource(node: Node) -> None:
    if node.planning and node.dtype(0) == dtypes.resource:
        raise ValueError(
            f"Input tensor cannot be a resource variable handle: {node.inputs[0].op.name}"
        )


identity_op = op(
    "Identity(input: T) -> output: T; T: type",
    view=True,
    latency="none",
    handle="any",
    flow="identity",
    aliases=True,
)
ref_identity_op = op(
    "RefIdentity(input: &T) -> output: &T; T: type; flags: uninitialized",
    view=True,
    flow="identity",
)
snapshot_op = op("Snapshot(input: T) -> output: T; T: type", view=True)
guarantee_const_op = op(
    "GuaranteeConst(input: T) -> output: T; T: type; flags: stateful", view=True, effect="pure"
)
stop_gradient_op = op(
    "StopGradient(input: T) -> output: T; T: type",
    view=True,
    differentiable=False,
    latency="none",
    aliases=True,
)
prevent_gradient_op = op(
    'PreventGradient(input: T) -> output: T; T: type; message: string = ""', view=True, aliases=True
)
debug_gradient_identity_op = op(
    "DebugGradientIdentity(input: T) -> output: T; T: type; flags: uninitialized", view=True
)
debug_gradient_ref_identity_op = op(
    "DebugGradientRefIdentity(input: &T) -> output: &T; T: type; flags: uninitialized", view=True
)

for _card in (
    identity_op, ref_identity_op, snapshot_op, guarantee_const_op, stop_gradient_op,
    prevent_gradient_op, debug_gradient_identity_op, debug_gradient_ref_identity_op,
):  # fmt: skip
    _card.shape(_same_shape)
    _card.kernel(_same)
guarantee_const_op.check(_no_resource)
for _card in (identity_op, snapshot_op, guarantee_const_op, stop_gradient_op, prevent_gradient_op):
    _card.value(_same_value)
for _card in (identity_op, ref_identity_op):
    _card.gradient(_same_gradient)


@identity_op.samples
def identity_samples() -> Samples:
    yield Sample(np.ones((2, 3), np.float32))
    yield Sample(np.array([b"a"], object))


@stop_gradient_op.samples
@snapshot_op.samples
@guarantee_const_op.samples
@prevent_gradient_op.samples
def stop_gradient_samples() -> Samples:
    yield Sample(np.ones((2,), np.float32), grad=False)


@prevent_gradient_op.gradient
def prevent_gradient_gradient(node: Node, grad: Any) -> Gradients:
    raise LookupError(f"Gradient explicitly disabled. Reason: {node.op.get_attr('message')}")


identity_n_op = op("IdentityN(input: [T]) -> output: [T]; T: list(type) >= 1", view=True)


@identity_n_op.shape
def identity_n_shape(node: Node) -> OutputDims:
    return [node.dims(index) for index in range(len(node.inputs))]


@identity_n_op.value
def identity_n_value(node: Node) -> Any:
    values = [node.value(index) for index in range(len(node.inputs))]
    return None if any(value is None for value in values) else values


@identity_n_op.kernel
def identity_n_kernel(node: Node) -> Kernel:
    return node.same(0) if len(node.inputs) == 1 else lambda *values: values


@identity_n_op.samples
def identity_n_samples() -> Samples:
    yield Sample([np.ones((2,), np.float32), np.array([b"a"], object), np.int64(3)])


@identity_n_op.gradient
def identity_n_gradient(node: Node, *grads: Any) -> Gradients:
    return list(grads)


deep_copy_op = op("DeepCopy(x: T) -> y: T; T: type; flags: stateful")
deep_copy_op.shape(_same_shape)


@deep_copy_op.samples
def deep_copy_samples() -> Samples:
    yield Sample(np.ones((2, 3), np.float32))


@deep_copy_op.kernel
def deep_copy_kernel(node: Node) -> Kernel:
    return copied


# ---- Public functions


@export("no_op")
def no_op(name: str | None = None) -> Operation:
    """Return an operation that does nothing; a place for control dependencies.

    Args:
      name: of the operation.

    Returns:
      An `Operation`.

    Example:
      >>> tf.no_op(name="nothing").type, tf.Session().run(tf.no_op()) is None
      ('NoOp', True)
    """
    return no_op_op(name=name)


@export("identity")
@dispatchable
def identity(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the value of `input`.

    Args:
      input: a tensor of any type.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `input`.

    Example:
      >>> tf.identity(tf.constant([1, 2]), name="outputs")
      <tf.Tensor 'outputs:0' shape=(2,) dtype=int32>
    """
    result = identity_op(input, name=name)
    if getattr(input, "is_distributed", False):
        input.get()  # which TensorFlow reads twice
    return result


def ref_identity(data: Any, name: str | None = None) -> Tensor:
    """Identity that keeps references references and composites composite."""
    data = convert_to_tensor_or_indexed_slices(data, as_ref=True)
    if not isinstance(data, Tensor):
        return nest.map_structure(ref_identity, data, expand_composites=True)
    if data.dtype._is_ref_dtype:
        return ref_identity_op(data, name=name)
    return identity(data, name=name)


@export("identity_n")
def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Tensors with the values of a list of tensors, handed on by one operation."""
    return identity_n_op(input, name=name)


@export("stop_gradient")
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the value of `input`, through which no gradient flows.

    Args:
      input: a tensor of any type.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `input`.

    Example:
      >>> x = tf.constant(3.0)
      >>> print(*tf.Session().run(tf.gradients(x * tf.stop_gradient(x), x)))
      3.0
    """
    return stop_gradient_op(input, name=name)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """Return a tensor with the value of `input`; a gradient through it raises LookupError."""
    return prevent_gradient_op(input, message=message, name=name)


@export("guarantee_const")
def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the value of `input`, which the caller promises never changes."""
    return guarantee_const_op(input, name=name)


def _group_on(device: str, dependencies: Sequence[Any], name: str | None = None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(dependencies):
        if not device:
            return no_op(name=name)
        with graph.device(device):
            return no_op(name=name)


@export("group")
def group(*inputs: Any, **kwargs: Any) -> Operation:
    """Return an operation that is done when all `inputs` are; None where these ran already.

    Args:
      *inputs: tensors and operations, or structures of such.
      name: of the operation.

    Raises:
      TypeError: if an input is neither.
      ValueError: if an unknown keyword argument is given.

    Example:
      >>> a, b = tf.Variable(1), tf.Variable(2)
      >>> both = tf.group(a.initializer, b.initializer)
      >>> with tf.Session() as sess: print(sess.run(both), sess.run(a + b))
      None 3
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    if executing_eagerly():
        return None  # type: ignore[return-value]  # all called functions have run
    with name_scope(name, "group_deps", inputs) as scope:
        if not inputs:
            return no_op(name=scope)
        by_device: dict[str, list[Any]] = {}
        for item in nest.flatten(inputs, expand_composites=True):
            if not hasattr(item, "device"):
                raise TypeError(
                    f"Expected tf.group() expected Tensor arguments not '{item}' with type "
                    f"'{type(item)}'"
                )
            by_device.setdefault(item.device or "", []).append(item)
        if len(by_device) == 1:
            ((device, dependencies),) = by_device.items()
            return _group_on(device, dependencies, name=scope)
        groups = [_group_on(device, by_device[device]) for device in sorted(by_device)]
        with get_default_graph().control_dependencies(groups):
            return no_op(name=scope)


def with_dependencies(
    dependencies: Sequence[Any], output_tensor: Any, name: str | None = None
) -> Any:
    """Pass on `output_tensor`, a tensor or slices, once all of `dependencies` are done."""
    if executing_eagerly():
        return output_tensor
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        graph = get_default_graph()
        with graph.colocate_with(output_tensor), graph.control_dependencies(dependencies):
            output = convert_to_tensor_or_indexed_slices(output_tensor)
            if isinstance(output, Tensor):
                return ref_identity(output, name=scope)
            values = ref_identity(output.values, name=scope)
            return IndexedSlices(values, output.indices, output.dense_shape)


def _gates(tensors: Sequence[Any], control_inputs: Any) -> list[Operation]:
    """All operations that have to be done, in the order in which they were made."""
    gates = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
    for control in control_inputs or ():
        if isinstance(control, Tensor):
            control = control.op
        elif not isinstance(control, Operation):
            raise TypeError(f"Control input must be Operation or Tensor: {control}")
        gates.append(control)
    return sorted(set(gates), key=lambda gate: gate._id)


@export("tuple")
def tuple_(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Tensors with the same values, each of which is there only when all are computed.

    Args:
      tensors: a list of tensors, `IndexedSlices`, operations and None.
      name: of the scope.
      control_inputs: operations that have to be done as well.

    Raises:
      ValueError: if `tensors` holds nothing but None.
      TypeError: if `control_inputs` holds anything but operations and tensors.
    """
    if executing_eagerly():
        return tensors
    with name_scope(name, "tuple", tensors):
        tensors = [
            t if t is None or isinstance(t, Operation) or is_tensor(t) else convert_to_tensor(t)
            for t in tensors
        ]
        gates = _gates(tensors, control_inputs)
        if not gates:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gates)
        result: list[Any] = []
        for item in tensors:
            if item is None:
                result.append(None)
            elif isinstance(item, Operation):
                with get_default_graph().control_dependencies([gate]):
                    result.append(group(item))
            else:
                result.append(with_dependencies([gate], item))
        return result
