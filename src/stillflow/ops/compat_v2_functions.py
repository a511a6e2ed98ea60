"""The functions of `tf.compat.v2` that only name or order their arguments otherwise than `tf`.

Additions to `ops/compat_v2.py`: checks, control flow, gradients, parsing, sparse tensors.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export_value
from stillflow.graph.lazy import LazyModule
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.util.newer_arguments import handed_on

# By path, since public functions of the packages hide modules of their names.
comparisons: Any = LazyModule("stillflow.ops.debugging.comparisons")
ranks: Any = LazyModule("stillflow.ops.debugging.ranks")
cases: Any = LazyModule("stillflow.ops.control_flow.case")
conds: Any = LazyModule("stillflow.ops.control_flow.cond")
loops: Any = LazyModule("stillflow.ops.control_flow.while_loop")
control: Any = LazyModule("stillflow.ops.control_flow.identity_and_group")
gradient_ops: Any = LazyModule("stillflow.ops.gradients.gradients")
hessian_ops: Any = LazyModule("stillflow.ops.gradients.hessians")
csv: Any = LazyModule("stillflow.ops.io.parsing.csv")
parsing: Any = LazyModule("stillflow.ops.io.parsing.functions")
serialization: Any = LazyModule("stillflow.ops.sparse.serialization")
sparse_sums: Any = LazyModule("stillflow.ops.sparse.arithmetic")
rearranging: Any = LazyModule("stillflow.ops.sparse.rearranging")
segments: Any = LazyModule("stillflow.ops.math.sparse_segment")

assert_equal = export_value(
    "compat.v2.assert_equal",
    "compat.v2.debugging.assert_equal",
    handed_on(
        lambda x, y, message=None, summarize=None, name=None: None, comparisons, "assert_equal"
    ),
)

assert_greater = export_value(
    "compat.v2.assert_greater",
    "compat.v2.debugging.assert_greater",
    handed_on(
        lambda x, y, message=None, summarize=None, name=None: None, comparisons, "assert_greater"
    ),
)

assert_less = export_value(
    "compat.v2.assert_less",
    "compat.v2.debugging.assert_less",
    handed_on(
        lambda x, y, message=None, summarize=None, name=None: None, comparisons, "assert_less"
    ),
)

assert_greater_equal = export_value(
    "compat.v2.debugging.assert_greater_equal",
    handed_on(
        lambda x, y, message=None, summarize=None, name=None: None,
        comparisons,
        "assert_greater_equal",
    ),
)

assert_less_equal = export_value(
    "compat.v2.debugging.assert_less_equal",
    handed_on(
        lambda x, y, message=None, summarize=None, name=None: None, comparisons, "assert_less_equal"
    ),
)

assert_none_equal = export_value(
    "compat.v2.debugging.assert_none_equal",
    handed_on(
        lambda x, y, summarize=None, message=None, name=None: None, comparisons, "assert_none_equal"
    ),
)

assert_near = export_value(
    "compat.v2.debugging.assert_near",
    handed_on(
        lambda x, y, rtol=None, atol=None, message=None, summarize=None, name=None: None,
        comparisons,
        "assert_near",
    ),
)

assert_negative = export_value(
    "compat.v2.debugging.assert_negative",
    handed_on(
        lambda x, message=None, summarize=None, name=None: None, comparisons, "assert_negative"
    ),
)

assert_positive = export_value(
    "compat.v2.debugging.assert_positive",
    handed_on(
        lambda x, message=None, summarize=None, name=None: None, comparisons, "assert_positive"
    ),
)

assert_non_negative = export_value(
    "compat.v2.debugging.assert_non_negative",
    handed_on(
        lambda x, message=None, summarize=None, name=None: None, comparisons, "assert_non_negative"
    ),
)

assert_non_positive = export_value(
    "compat.v2.debugging.assert_non_positive",
    handed_on(
        lambda x, message=None, summarize=None, name=None: None, comparisons, "assert_non_positive"
    ),
)

assert_rank = export_value(
    "compat.v2.assert_rank",
    "compat.v2.debugging.assert_rank",
    handed_on(lambda x, rank, message=None, name=None: None, ranks, "assert_rank"),
)

assert_rank_at_least = export_value(
    "compat.v2.debugging.assert_rank_at_least",
    handed_on(lambda x, rank, message=None, name=None: None, ranks, "assert_rank_at_least"),
)

assert_rank_in = export_value(
    "compat.v2.debugging.assert_rank_in",
    handed_on(lambda x, ranks, message=None, name=None: None, ranks, "assert_rank_in"),
)

assert_shapes = export_value(
    "compat.v2.debugging.assert_shapes",
    handed_on(
        lambda shapes, data=None, summarize=None, message=None, name=None: None,
        ranks,
        "assert_shapes",
    ),
)

case = export_value(
    "compat.v2.case",
    handed_on(
        lambda pred_fn_pairs, default=None, exclusive=False, strict=False, name="case": None,
        cases,
        "case",
    ),
)

cond = export_value(
    "compat.v2.cond",
    handed_on(
        lambda pred, true_fn=None, false_fn=None, name=None: None, conds, "cond", strict=True
    ),
)

while_loop = export_value(
    "compat.v2.while_loop",
    handed_on(
        lambda cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
        back_prop=True, swap_memory=False, maximum_iterations=None, name=None: None,
        loops, "while_loop", return_same_structure=True,
    ),
)  # fmt: skip

tuple_ = export_value(
    "compat.v2.tuple",
    handed_on(lambda tensors, control_inputs=None, name=None: None, control, "tuple_"),
)

gradients = export_value(
    "compat.v2.gradients",
    handed_on(
        lambda ys, xs, grad_ys=None, name="gradients", gate_gradients=False,
        aggregation_method=None, stop_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE: None,
        gradient_ops, "gradients", colocate_gradients_with_ops=True,
    ),
)  # fmt: skip

hessians = export_value(
    "compat.v2.hessians",
    handed_on(
        lambda ys, xs, gate_gradients=False, aggregation_method=None, name="hessians": None,
        hessian_ops,
        "hessians",
    ),
)

decode_csv = export_value(
    "compat.v2.io.decode_csv",
    handed_on(
        lambda records, record_defaults, field_delim=",", use_quote_delim=True, na_value="",
        select_cols=None, name=None: None,
        csv, "decode_csv",
    ),
)  # fmt: skip

parse_example = export_value(
    "compat.v2.io.parse_example",
    handed_on(
        lambda serialized, features, example_names=None, name=None: None, parsing, "parse_example"
    ),
)

parse_single_example = export_value(
    "compat.v2.io.parse_single_example",
    handed_on(
        lambda serialized, features, example_names=None, name=None: None,
        parsing,
        "parse_single_example",
    ),
)

serialize_sparse = export_value(
    "compat.v2.io.serialize_sparse",
    handed_on(
        lambda sp_input, out_type=dtypes.string, name=None: None, serialization, "serialize_sparse"
    ),
)

serialize_many_sparse = export_value(
    "compat.v2.io.serialize_many_sparse",
    handed_on(
        lambda sp_input, out_type=dtypes.string, name=None: None,
        serialization,
        "serialize_many_sparse",
    ),
)

sparse_add = export_value(
    "compat.v2.sparse.add",
    handed_on(lambda a, b, threshold=0: None, sparse_sums, "sparse_add"),
)

sparse_concat = export_value(
    "compat.v2.sparse.concat",
    handed_on(
        lambda axis, sp_inputs, expand_nonconcat_dims=False, name=None: None,
        rearranging,
        "sparse_concat",
    ),
)

sparse_split = export_value(
    "compat.v2.sparse.split",
    handed_on(
        lambda sp_input=None, num_split=None, axis=None, name=None: None,
        rearranging,
        "sparse_split",
    ),
)

sparse_segment_sum = export_value(
    "compat.v2.sparse.segment_sum",
    handed_on(
        lambda data, indices, segment_ids, num_segments=None, name=None: None,
        segments,
        "sparse_segment_sum",
    ),
)

sparse_segment_mean = export_value(
    "compat.v2.sparse.segment_mean",
    handed_on(
        lambda data, indices, segment_ids, num_segments=None, name=None: None,
        segments,
        "sparse_segment_mean",
    ),
)

sparse_segment_sqrt_n = export_value(
    "compat.v2.sparse.segment_sqrt_n",
    handed_on(
        lambda data, indices, segment_ids, num_segments=None, name=None: None,
        segments,
        "sparse_segment_sqrt_n",
    ),
)
