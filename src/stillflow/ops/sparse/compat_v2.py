"""The functions of `tf.compat.v2.sparse` whose arguments differ from those of `tf.sparse`."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.ops.sparse import arithmetic as sparse_sums
from stillflow.ops.sparse import rearranging
from stillflow.ops.sparse import segment as segments
from stillflow.util.newer_arguments import handed_on

_SEGMENTS = "data, indices, segment_ids, num_segments=None, name=None"
sparse_add = export("compat.v2.sparse.add")(
    handed_on("a, b, threshold=0", sparse_sums, "sparse_add")
)


sparse_concat = export("compat.v2.sparse.concat")(
    handed_on(
        "axis, sp_inputs, expand_nonconcat_dims=False, name=None", rearranging, "sparse_concat"
    )
)


sparse_split = export("compat.v2.sparse.split")(
    handed_on("sp_input=None, num_split=None, axis=None, name=None", rearranging, "sparse_split")
)


sparse_segment_sum = export("compat.v2.sparse.segment_sum")(
    handed_on(_SEGMENTS, segments, "sparse_segment_sum")
)


sparse_segment_mean = export("compat.v2.sparse.segment_mean")(
    handed_on(_SEGMENTS, segments, "sparse_segment_mean")
)


sparse_segment_sqrt_n = export("compat.v2.sparse.segment_sqrt_n")(
    handed_on(_SEGMENTS, segments, "sparse_segment_sqrt_n")
)
