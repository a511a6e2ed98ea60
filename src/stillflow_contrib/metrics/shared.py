"""Names of `tf.contrib.metrics` that are defined elsewhere."""

from __future__ import annotations

from stillflow.graph.export import export_value
from stillflow.ops.math.confusion import confusion_matrix_v1
from stillflow.ops.sparse.sets import set_difference, set_intersection, set_size, set_union

export_value(
    "contrib.metrics.confusion_matrix", "contrib.slim.metrics.confusion_matrix",
    confusion_matrix_v1,
)  # fmt: skip
export_value(
    "contrib.metrics.set_difference", "contrib.slim.metrics.set_difference", set_difference
)
export_value(
    "contrib.metrics.set_intersection", "contrib.slim.metrics.set_intersection", set_intersection
)
export_value("contrib.metrics.set_size", "contrib.slim.metrics.set_size", set_size)
export_value("contrib.metrics.set_union", "contrib.slim.metrics.set_union", set_union)
