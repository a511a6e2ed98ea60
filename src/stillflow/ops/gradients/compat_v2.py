"""`tf.compat.v2.gradients` and `hessians`, whose arguments differ from those of `tf`."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.ops.gradients import gradients as gradient_ops
from stillflow.ops.gradients import hessians as hessian_ops
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.util.newer_arguments import handed_on

gradients = export("compat.v2.gradients")(
    handed_on(
        'ys, xs, grad_ys=None, name="gradients", gate_gradients=False, '
        "aggregation_method=None, stop_gradients=None, "
        "unconnected_gradients=...",
        gradient_ops,
        "gradients",
        given={"colocate_gradients_with_ops": True},
        unconnected_gradients=UnconnectedGradients.NONE,
    )
)


hessians = export("compat.v2.hessians")(
    handed_on(
        'ys, xs, gate_gradients=False, aggregation_method=None, name="hessians"',
        hessian_ops,
        "hessians",
    )
)
