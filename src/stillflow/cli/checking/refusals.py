"""Names that exist because programs import them, and that raise an error whenever used."""

from __future__ import annotations

_ON_A_NETWORK = "LocalCLIDebugWrapperSession, DumpingDebugWrapperSession or --find-nan"
_DEBUG = "tensorflow.python.debug"
_FIXED = "checkpoints, and torchrun --max-restarts, which starts all ranks again"

# Replacements, by name.
REFUSALS = {
    **{
        f"horovod.{package}.elastic.{name}": _FIXED
        for package, names in {
            "keras": ("KerasState", "CommitStateCallback", "UpdateBatchStateCallback"),
            "tensorflow": ("run", "TensorFlowState", "TensorFlowKerasState"),
            "tensorflow.keras": ("KerasState", "CommitStateCallback", "UpdateBatchStateCallback"),
        }.items()
        for name in (*names, "run")
    },
    "tf.contrib.tensorrt.create_inference_graph": "the graph as it is",
    **{
        f"{_DEBUG}.{module}{name}": _ON_A_NETWORK
        for name, modules in {
            "TensorBoardDebugWrapperSession": ("", "wrappers.grpc_wrapper."),
            "GrpcDebugWrapperSession": ("", "wrappers.grpc_wrapper."),
            "TensorBoardDebugHook": ("", "wrappers.hooks."),
            "GrpcDebugHook": ("", "wrappers.hooks."),
        }.items()
        for module in modules
    },
}
