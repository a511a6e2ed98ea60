"""Internal names for TPUs that have an equivalent of our own, in both places they are in."""

from __future__ import annotations

_OURS, _OTHERS = "stillflow.contrib.tpu", "stillflow_contrib.tpu"
_OPS = "stillflow.ops.tpu"

_HERE: dict[str, dict[str, str]] = {
    "ops.tpu_ops": {"*": f"{_OPS}.replicas {_OPS}.feeds"},
    "tpu.bfloat16": {"_get_custom_getter": f"{_OURS}.bfloat16:custom_getter"},
    "tpu.error_handling": {"*": f"{_OTHERS}.error_handling"},
    "tpu.topology": {"*": f"{_OTHERS}.topology"},
    "tpu.tpu": {
        "_TPU_REPLICATE_ATTR": f"{_OURS}.context:ATTRIBUTE",
        "*": f"{_OURS}.replication {_OURS}.sharding {_OURS}.inference {_OURS}.context "
             f"{_OPS}.system",
    },
    "tpu.tpu_config": {"*": f"{_OURS}.run_config"},
    "tpu.tpu_estimator": {"*": f"{_OURS}.estimator"},
    "tpu.tpu_feed": {"*": f"{_OTHERS}.infeed"},
    "tpu.tpu_function": {"*": f"{_OPS}.shards"},
    "tpu.tpu_sharding": {"*": f"{_OTHERS}.sharding_policy"},
    "tpu.training_loop": {"*": f"{_OTHERS}.training_loop"},
    "tpu.util": {"*": f"{_OURS}.run_config {_OTHERS}.hooks"},
}  # fmt: skip


def _python_name(module: str) -> str:
    """Return the name: the modules are in `tensorflow.python.tpu`, and `ops` too."""
    return f"tensorflow.python.tpu.{module.removeprefix('tpu.')}"


OBJECTS: dict[str, dict[str, str]] = {
    **{f"tensorflow.contrib.tpu.python.{module}": names for module, names in _HERE.items()},
    **{_python_name(module): names for module, names in _HERE.items()},
}
