"""Looking for infinities and NaN: CheckNumerics."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.control_flow.identity_and_group import group, with_dependencies
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.kernels import is_finite
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

check_numerics_op = op(
    """
    CheckNumerics(tensor: T) -> output: T
    T: {bfloat16, half, float, double}
    message: string
    flags: stateful
""",
    view=True,
    asserts=True,
)


@check_numerics_op.shape
def check_numerics_shape(node: Node) -> OutputDims:
    return node.dims(0)


def _check(x: Any, message: str) -> torch.Tensor:
    if is_finite(x) or bool(torch.isfinite(x).all()):
        return x
    found = " and ".join(
        name for name, test in (("Inf", torch.isinf), ("NaN", torch.isnan)) if test(x).any()
    )
    raise invalid_argument(f"{message} : Tensor had {found} values")


@check_numerics_op.kernel
def check_numerics_kernel(node: Node) -> Kernel:
    return node.call(_check, node.inputs[0], node.message.decode(errors="replace"))


@check_numerics_op.gradient
def check_numerics_gradient(node: Node, grad: Any) -> Gradients:
    # The attribute is bytes, and is printed as such.
    message = node.op.get_attr("message")
    return check_numerics(
        grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message}"
    )


@check_numerics_op.samples
def check_numerics_samples() -> Samples:
    yield Sample(np.ones(3, np.float32), message="checked")
    bad = np.array([1, np.inf, np.nan], np.float32)
    yield Bad(bad, message="found", match="found : Tensor had Inf and NaN values")


@export("debugging.check_numerics", "check_numerics")
@dispatchable
def check_numerics(tensor: Any, message: Any, name: str | None = None) -> Tensor:
    """`tensor` unchanged; running it fails if it holds an infinity or NaN.

    Args:
      tensor: floating-point numbers.
      message: begins the error message.
      name: of the operation.
    """
    return check_numerics_op(tensor, message=message, name=name)


@export("debugging.assert_all_finite", "verify_tensor_all_finite")
def verify_tensor_all_finite(
    t: Any = None, msg: Any = None, name: str | None = None, x: Any = None, message: Any = None
) -> Tensor:
    """Return the tensor unchanged, checked for infinities and NaN before it is used.

    Args:
      t, msg: older names of `x` and `message`.
      name: of the scope.
      x: floating-point numbers.
      message: begins the error message.
    """
    x = renamed_argument("x", x, "t", t)
    message = renamed_argument("message", message, "msg", msg)
    with name_scope(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="x")
        with get_default_graph().colocate_with(x):
            checked = check_numerics(x, message=message)
            return with_dependencies([checked], x)


@export("add_check_numerics_ops")
def add_check_numerics_ops() -> Operation:
    """Check every floating-point tensor of the default graph, in the order of the operations.

    Returns:
      An operation that runs all checks.

    Raises:
      ValueError: if the graph has control flow.
    """
    if executing_eagerly():
        raise RuntimeError(
            "add_check_numerics_ops() is not compatible with eager execution. To check for Inf's "
            "and NaN's under eager execution, call tfe.seterr(inf_or_nan='raise') once before "
            "executing the checked operations."
        )
    kinds = (dtypes.float16, dtypes.float32, dtypes.float64)
    checks: list[Tensor] = []
    graph = get_default_graph()
    for operation in graph.get_operations():
        for output in operation.outputs:
            if output.dtype not in kinds:
                continue
            if operation._get_control_flow_context() is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            message = f"{operation.name}:{output.value_index}"
            with graph.control_dependencies(checks):
                checks = [check_numerics(output, message=message)]
    return group(*checks)
