"""tf.tpu.replicate and rewrite: build a function's operations as one computation for TPUs.

The graphs are TensorFlow's; as on any machine without TPUs, running them fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.contrib.tpu.arguments import argument_error
from stillflow.contrib.tpu.context import TPUReplicateContext
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group, identity, no_op
from stillflow.ops.tpu.replication import (
    tpu_compilation_result_op,
    tpu_replicate_metadata_op,
    tpu_replicated_input_op,
    tpu_replicated_output_op,
)
from stillflow.ops.tpu.shards import tpu_shard_context
from stillflow.ops.tpu.system import core
from stillflow.platform import tf_logging as logging
from stillflow.platform.config import get_soft_device_placement
from stillflow.protos import AttrValue
from stillflow.variables.variable_scope import get_variable_scope
from stillflow.xla.clusters import Leaving, is_flat

_NO_TENSORS = (
    "TPU function return values must all either be Operations or convertible to Tensors. Got "
)
_LEAVING = Leaving(
    no_tensors=_NO_TENSORS + "'{}'",
    no_tensors_inside=_NO_TENSORS + 'error: "{}"',
    order=(
        "TPU functions must return zero-or more Tensor values followed by zero or more Operations."
    ),
    operation=(
        "tpu.rewrite does not support Operation as return value in non-flat output structure. You "
        "can set returned Operations as control dependencies of returned Tensors so Operations "
        "are triggered when Tensors are evaluated."
    ),
    core=core(0),
    mark="_tpu_output_identity",
)


@export("tpu.replicate", "contrib.tpu.replicate")
def replicate(
    computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None,
    device_assignment: Any = None, name: str | None = None, maximum_shapes: Any = None,
) -> list[Any]:  # fmt: skip
    """Build a computation that several TPUs run, each with inputs of its own.

    Args:
      computation: gives tensors in any structure, or tensors followed by operations.
      inputs: for each replica a list of what it is called with; one without inputs if None.
      infeed_queue: an `InfeedQueue` whose tensors follow the inputs.
      device_assignment: must be None: there are no devices to assign.
      name: has no effect.
      maximum_shapes: must be None.

    Returns:
      For each replica the computation's outputs; the op that runs it if it has no tensors.

    Raises:
      TypeError: if the inputs are no lists, or the function does not take them.
      ValueError: if replicas have different inputs, or outputs are of another kind.
      NotImplementedError: if devices are to be assigned, inputs to be padded, or it uses a
        reference variable.
    """
    return split_compile_and_replicate(
        computation, inputs, infeed_queue, device_assignment, name, maximum_shapes=maximum_shapes
    )[1]


def split_compile_and_replicate(
    computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None,
    device_assignment: Any = None, name: str | None = None, use_tpu: bool = True,
    maximum_shapes: Any = None,
) -> list[Any]:  # fmt: skip
    """Replicate like `replicate`; return the result of the compilation, and the replicas'.

    `use_tpu` is False for what XLA compiles for otherwise.
    """
    _refuse(device_assignment, maximum_shapes)
    soft = get_soft_device_placement()
    given = [[]] if inputs is None else inputs
    replicas = _converted(given)
    if not replicas:
        return []
    _check_arguments(computation, given[0], infeed_queue)
    entering = [
        tpu_replicated_input_op(list(each), name=f"input{index}")
        for index, each in enumerate(zip(*replicas, strict=True))
    ]
    cluster = get_default_graph().unique_name("cluster")
    context = TPUReplicateContext(cluster, len(replicas), no_op(name=f"{cluster}/pivot"))
    context.Enter()
    try:
        metadata = tpu_replicate_metadata_op(
            num_replicas=len(replicas), use_tpu=use_tpu, allow_soft_placement=soft,
            step_marker_location=getattr(
                computation, "step_marker_location", "STEP_MARK_AT_ENTRY"
            ),
        )  # fmt: skip
        with tpu_shard_context(len(replicas)), control_dependencies([metadata]):
            outputs = _called(computation, entering, given[0], infeed_queue, len(replicas))
        flat = is_flat(outputs)
        tensors, operations = _LEAVING.flat(outputs) if flat else (_LEAVING.structure(outputs), [])
        context.ExitResult(tensors)
    finally:
        context.report_unsupported_operations()
        context.Exit()
    _tell_cores(metadata, context.HostComputeCore())
    status = _compiled(metadata, cluster, use_tpu)
    results = _left(tensors, operations, len(replicas))
    return [status, results if flat else [nest.pack_sequence_as(outputs, one) for one in results]]


def _refuse(device_assignment: Any, maximum_shapes: Any) -> None:
    for argument, value in (
        ("device_assignment", device_assignment), ("maximum_shapes", maximum_shapes),
    ):  # fmt: skip
        if value is not None:
            raise NotImplementedError(
                f"tf.tpu.replicate: `{argument}` is not supported by Stillflow: TPUs are not"
            )


def _converted(inputs: Any) -> list[list[Any]]:
    """Each replica's inputs as a flat list of tensors."""
    if not isinstance(inputs, list) or not all(isinstance(one, (list, tuple)) for one in inputs):
        raise TypeError("tpu.replicate() inputs must be a list of lists/tuples")
    for one in inputs[1:]:
        nest.assert_same_structure(inputs[0], one)
    replicas = [[convert_to_tensor(value) for value in nest.flatten(one)] for one in inputs]
    types = [[value.dtype for value in one] for one in replicas]
    for index, found in enumerate(types):
        if len(inputs[index]) != len(inputs[0]):
            raise ValueError(
                "Replicas must have the same number of inputs. Replica 0 had "
                f"{len(inputs[0])} inputs, replica {index} had {len(inputs[index])} inputs."
            )
        if found != types[0]:
            raise ValueError(
                "Replicas must have matching input types. Replica 0 had input types "
                f"{types[0]}, replica {index} had input types {found}"
            )
    return replicas


def _check_arguments(computation: Callable[..., Any], inputs: Any, queue: Any) -> None:
    complaint = argument_error(computation, len(inputs), queue)
    if complaint is None:
        return
    more = ""
    if queue is not None:
        more = f" and {queue.number_of_tuple_elements} additional inputs from infeed"
    raise TypeError(
        "Supplied computation cannot be called with the specified inputs. You specified "
        f"{len(inputs)} inputs: {[value.name for value in inputs]}{more}, but the "
        f"computation needs {complaint}"
    )


def _called(
    computation: Callable[..., Any], entering: list[Any], structure: Any, queue: Any, count: int
) -> Any:
    """Call the function with the inputs inside; even unused ones have a consumer there."""
    inside = [
        identity(value, name=f"replicated_input_{index}") for index, value in enumerate(entering)
    ]
    for value in inside:
        value.op._set_attr("_tpu_input_identity", AttrValue(b=True))
    arguments = nest.pack_sequence_as(structure, inside)
    if queue is not None:
        queue.set_number_of_shards(count)
        arguments = [*arguments, *queue.generate_dequeue_op()]
    return _with_resources(computation, arguments)


def _with_resources(computation: Callable[..., Any], arguments: Any) -> Any:
    """Call it where `get_variable` makes resource variables in one piece."""
    scope = get_variable_scope()
    before, getter_before = scope.use_resource, scope.custom_getter

    def whole(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        partitioner = kwargs["partitioner"]
        if partitioner is not None:
            kwargs["partitioner"] = None
            logging.warning(
                "Partitioned variables are not supported on TPU. Got `partitioner` that is "
                f"{partitioner} for variable {name}. Setting `partitioner` to `None`."
            )
        if getter_before is None:
            return getter(name, *args, **kwargs)
        return getter_before(getter, name, *args, **kwargs)

    scope.set_use_resource(True)
    scope.set_custom_getter(whole)
    try:
        return computation(*arguments)
    finally:
        scope.set_use_resource(before)
        scope.set_custom_getter(getter_before)


def _tell_cores(metadata: Operation, cores: list[str]) -> None:
    if cores:
        value = AttrValue()
        value.list.s.extend(each.encode() for each in cores)
        metadata._set_attr("host_compute_core", value)


def _compiled(metadata: Operation, cluster: str, use_tpu: bool) -> Any:
    """Return the result of the compilation."""
    with control_dependencies([metadata]):
        if not use_tpu:
            return no_op(name="compilation_status")
        status = tpu_compilation_result_op()
    status.op._set_attr("_tpu_compilation_status", AttrValue(s=cluster.encode()))
    return status


def _left(tensors: list[Any], operations: list[Any], count: int) -> list[Any]:
    """Return each replica's outputs, which depend on the operations as well."""
    if not tensors:
        return [group(*operations, name=f"shard_{index}") for index in range(count)]
    results: list[list[Any]] = [[] for _ in range(count)]
    for index, tensor in enumerate(tensors):
        leaving = tpu_replicated_output_op(tensor, num_replicas=count, name=f"output{index}")
        with control_dependencies(operations):
            for replica in range(count):
                results[replica].append(
                    identity(leaving[replica], name=f"output_{index}_shard_{replica}")
                )
    return results


@export("tpu.rewrite", "contrib.tpu.rewrite")
def rewrite(
    computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None,
    device_assignment: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Build a computation that one TPU runs.

    Args:
      computation, infeed_queue, device_assignment, name: as in `replicate`.
      inputs: a list of its operands.

    Returns:
      The computation's outputs; the op that runs it if it has no tensors.
    """
    each = None if inputs is None else [inputs]
    return replicate(computation, each, infeed_queue, device_assignment, name)[0]
