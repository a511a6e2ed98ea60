"""Borders of a replicated computation: inputs, outputs, result of the compilation."""

from __future__ import annotations

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import OutputDims

tpu_replicate_metadata_op = op(
    """
    TPUReplicateMetadata()
    num_replicas: int >= 0
    num_cores_per_replica: int = 1
    topology: string = ""
    use_tpu: bool = true
    device_assignment: list(int) = []
    computation_shape: list(int) = []
    host_compute_core: list(string) = []
    padding_map: list(string) = []
    step_marker_location: string = "STEP_MARK_AT_ENTRY"
    allow_soft_placement: bool = false
""",
    elsewhere=True,
)
tpu_replicated_input_op = op(
    "TPUReplicatedInput(inputs: N*T) -> output: T; N: int >= 1; T: type",
    differentiable=False,
    elsewhere=True,
)
tpu_replicated_output_op = op(
    """
    TPUReplicatedOutput(input: T) -> outputs: num_replicas*T
    num_replicas: int >= 1
    T: type
""",
    elsewhere=True,
)
tpu_compilation_result_op = op("TPUCompilationResult() -> output: string", elsewhere=True)


@tpu_replicated_input_op.shape
def tpu_replicated_input_shape(node: Node) -> OutputDims:
    last = len(node.inputs) - 1
    merged = node.dims(last)
    for index in reversed(range(last)):
        try:
            merged = dims_lib.merge(node.dims(index), merged)
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {index} with other shapes.") from error
    return merged


@tpu_replicated_output_op.shape
def tpu_replicated_output_shape(node: Node) -> OutputDims:
    return [node.dims(0)] * node.num_replicas


@tpu_compilation_result_op.shape
def tpu_compilation_result_shape(node: Node) -> OutputDims:
    return ()
