"""Internal names of `tensorflow.contrib.tensor_forest` that have an equivalent of our own."""

from __future__ import annotations

_TF = "tensorflow.contrib.tensor_forest"
_OURS = "stillflow_contrib.tensor_forest"

# Internal modules that we have whole.
MODULES = {
    f"{_TF}.client.eval_metrics": f"{_OURS}.eval_metrics",
    f"{_TF}.client.random_forest": f"{_OURS}.random_forest",
    f"{_TF}.python.tensor_forest": f"{_OURS}.tensor_forest",
    **{
        f"{_TF}.python.ops.{name}": f"{_OURS}.{name}"
        for name in ("data_ops", "model_ops", "stats_ops", "tensor_forest_ops")
    },
}
