"""Operations and their measures as a `ProfileProto`, of TensorFlow's command-line profiler."""

from __future__ import annotations

from typing import Any

from stillflow.profiler.measures import Execution, Measured, is_accelerator
from stillflow.profiler.model import Model
from stillflow.protos import ExecProfile, ProfileNode, ProfileProto


def profile_proto(model: Model) -> Any:
    """Return the message of a model."""
    result = ProfileProto(
        steps=sorted(model.steps), has_trace=model.has_trace, id_to_string=model.words
    )
    for item in model.items():
        result.nodes[item.number].CopyFrom(_node(item, model))
    return result


def _node(item: Measured, model: Model) -> Any:
    node = ProfileNode(
        id=item.number, name=item.name, op=item.op_type, op_types=sorted(item.types),
        canonical_device=item.device, host_device=_host(item.device), float_ops=item.float_ops,
        shape=item.shape,
    )  # fmt: skip
    for number, name in item.inputs.items():
        node.inputs[number] = model.number_of(name)
        node.src_output_index[model.number_of(name)] = item.sources[name]
    for number, dims in item.output_shapes.items():
        node.output_shapes[number].int64_values.extend(dims)
    for name in item.attrs or ():
        node.attrs[name].CopyFrom(item.attrs[name])
    node.trace.traces.extend(item.trace)
    for step, run in item.executions.items():
        node.execs[step].CopyFrom(_execution(run))
    return node


def _host(device: str) -> str:
    if not is_accelerator(device):
        return device
    kind = "gpu:" if "gpu" in device else "device:sycl:"
    return f"{device.partition(kind)[0]}cpu:0"


def _execution(run: Execution) -> Any:
    made = ExecProfile(
        run_count=run.run_count, all_start_micros=run.started, latest_end_micros=run.ended,
        memory_execs=run.memories, devices=sorted(run.devices),
    )  # fmt: skip
    for device, times in run.times.items():
        execs = made.accelerator_execs if device in run.accelerators else made.cpu_execs
        for start, duration in times:
            execs[device].times.add(int64_values=[start, duration])
    return made


def model_of_profile(proto: Any) -> Model:
    """Return the model that a `ProfileProto` is of."""
    model = Model(None)
    model.steps = set(proto.steps)
    model.has_trace = proto.has_trace
    model.words = dict(proto.id_to_string)
    names = {number: node.name for number, node in proto.nodes.items()}
    for number in sorted(proto.nodes):
        model.add(_item(proto.nodes[number], names))
    return model


def _item(node: Any, names: dict[int, str]) -> Measured:
    return Measured(
        node.name, node.op, node.id, set(node.op_types), node.canonical_device, list(node.shape),
        {index: names[number] for index, number in node.inputs.items()},
        {names[number]: index for number, index in node.src_output_index.items()},
        {index: list(dims.int64_values) for index, dims in node.output_shapes.items()},
        node.attrs, node.float_ops, list(node.trace.traces),
        {step: _run(made) for step, made in sorted(node.execs.items())},
    )  # fmt: skip


def _run(made: Any) -> Execution:
    run = Execution()
    run.run_count, run.memories = made.run_count, list(made.memory_execs)
    run.started, run.ended = made.all_start_micros, made.latest_end_micros
    run.devices, run.accelerators = set(made.devices), set(made.accelerator_execs)
    for execs in (made.accelerator_execs, made.cpu_execs):
        for device, times in execs.items():
            pairs = [tuple(time.int64_values) for time in times.times]
            run.times.setdefault(device, []).extend(pairs)
    return run
