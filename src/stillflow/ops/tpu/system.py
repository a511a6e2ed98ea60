"""Operations that start and stop a system of TPUs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import device
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import OutputDims

configure_distributed_tpu_op = op(
    """
    ConfigureDistributedTPU() -> topology: string
    embedding_config: string = ""
    tpu_embedding_config: string = ""
    is_global_init: bool = false
    flags: stateful
""",
    elsewhere=True,
)
configure_tpu_embedding_op = op(
    "ConfigureTPUEmbedding(); config: string; flags: stateful", elsewhere=True
)
shutdown_distributed_tpu_op = op("ShutdownDistributedTPU(); flags: stateful", elsewhere=True)
tpu_ordinal_selector_op = op(
    "TPUOrdinalSelector() -> device_ordinals: int32; flags: stateful", elsewhere=True
)


@configure_distributed_tpu_op.shape
@tpu_ordinal_selector_op.shape
def unknown_shape(node: Node) -> OutputDims:
    return None


def _system_device(job: str | None) -> str:
    return f"{'' if job is None else f'/job:{job}'}/device:TPU_SYSTEM:0"


@export("tpu.initialize_system", "contrib.tpu.initialize_system")
def initialize_system(embedding_config: Any = None, job: str | None = None) -> Tensor:
    """Add the start of a system of TPUs; running it fails where there is none.

    Args:
      embedding_config: a `TPUEmbeddingConfiguration` for tables in the devices' own memory.
      job: the job that has the devices; the only one if None.

    Returns:
      A string tensor: the serialized `TopologyProto` of the system.
    """
    config = b"" if embedding_config is None else embedding_config.SerializeToString()
    with device(_system_device(job)):
        return configure_distributed_tpu_op(embedding_config=config)


def initialize_system_for_tpu_embedding(embedding_config: Any, job: str | None = None) -> Operation:
    """Add the set-up of a started system for tables in the devices' own memory.

    `embedding_config` is a `TPUEmbeddingConfiguration`; the job with devices is the only one if
    None.
    """
    with device(_system_device(job)):
        return configure_tpu_embedding_op(config=embedding_config.SerializeToString())


@export("tpu.shutdown_system", "contrib.tpu.shutdown_system")
def shutdown_system(job: str | None = None) -> Operation:
    """Add the shutdown of a system of TPUs; running it fails where there is none.

    Args:
      job: the job that has the devices; the only one if None.
    """
    with device(_system_device(job)):
        return shutdown_distributed_tpu_op()


@export("tpu.core", "contrib.tpu.core")
def core(num: int) -> str:
    """Return the device string of a core of a replicated computation.

    Args:
      num: which of the cores that one replica has.
    """
    return f"device:TPU_REPLICATED_CORE:{num}"
