"""Branches, loops and groups of `tf.compat.v2`, whose arguments differ from those of `tf`."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.ops.control_flow import case as cases
from stillflow.ops.control_flow import cond as conds
from stillflow.ops.control_flow import identity_and_group as control
from stillflow.ops.control_flow import while_loop as loops
from stillflow.util.newer_arguments import handed_on

case = export("compat.v2.case")(
    handed_on(
        'pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"', cases, "case"
    )
)


cond = export("compat.v2.cond")(
    handed_on("pred, true_fn=None, false_fn=None, name=None", conds, "cond", given={"strict": True})
)


while_loop = export("compat.v2.while_loop")(
    handed_on(
        "cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, "
        ""
        "back_prop=True, swap_memory=False, maximum_iterations=None, name=None",
        loops,
        "while_loop",
        given={"return_same_structure": True},
    )
)


tuple_ = export("compat.v2.tuple")(
    handed_on("tensors, control_inputs=None, name=None", control, "tuple_")
)
