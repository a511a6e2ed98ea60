"""`tf.keras.utils.multi_gpu_model`: a model whose batches are shared among GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.session import get_session
from stillflow.keras.engine.cloning import clone_model
from stillflow.keras.engine.model import Model
from stillflow.keras.layers.functions import Lambda
from stillflow.keras.layers.merge import concatenate


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(
    model: Any, gpus: int | Sequence[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> Model:
    """Return a model that runs a copy of a model on each GPU, each with a part of the batch.

    Args:
      model: has inputs and outputs.
      gpus: how many GPUs, or their numbers.
      cpu_merge: True to concatenate the parts on the CPU, rather than on the first GPU.
      cpu_relocation: True to recreate the variables on the CPU.

    Returns:
      The model; it shares the variables of `model`, unless these were recreated.

    Raises:
      ValueError: if there are less than two GPUs, or these devices are not there.
    """
    ids = _ids(gpus)
    _check_devices(gpus, ids)
    if cpu_relocation:
        with tf.device("/cpu:0"):
            model = clone_model(model)
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for part, gpu in enumerate(ids):
        with tf.device(f"/gpu:{gpu}"), tf.name_scope(f"replica_{gpu}"):
            for tower, output in zip(_tower(model, part, len(ids)), outputs, strict=True):
                output.append(tower)
    with tf.device("/cpu:0" if cpu_merge else f"/gpu:{ids[0]}"):
        merged = [
            concatenate(parts, axis=0, name=name)
            for name, parts in zip(_distinct(model.output_names), outputs, strict=True)
        ]
        return Model(model.inputs, merged)


def _ids(gpus: Any) -> list[int]:
    is_list = isinstance(gpus, (list, tuple))
    if (len(gpus) if is_list else gpus) <= 1:
        wanted = "len(gpus)" if is_list else "gpus"
        raise ValueError(
            "For multi-gpu usage to be effective, call `multi_gpu_model` with "
            f"`{wanted} >= 2`. Received: `gpus={gpus}`"
        )
    return list(gpus) if is_list else list(range(gpus))


def device_names() -> list[str]:
    """Return the full names of the devices of Keras' session."""
    return [device.name for device in get_session().list_devices()]


def short_name(name: str) -> str:
    """Return "/gpu:0" for the full name of that device."""
    return "/" + name.lower().split("device:")[1]


def _check_devices(gpus: Any, ids: list[int]) -> None:
    wanted = ["/cpu:0", *(f"/gpu:{gpu}" for gpu in ids)]
    there = [short_name(name) for name in device_names()]
    if not set(wanted) <= set(there):
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be "
            f"available: {wanted}. However this machine only has: {there}. Try reducing `gpus`."
        )


def _slice(data: Any, i: int, parts: int) -> Tensor:
    """Return part `i` of a batch; the last one has the rest."""
    shape = tf.shape(data)
    batch, example = shape[:1], shape[1:]
    step = batch // parts
    size = batch - step * i if i == parts - 1 else step
    size = tf.concat([size, example], axis=0)
    stride = tf.concat([step, example * 0], axis=0)
    return tf.slice(data, stride * i, size)


def _tower(model: Any, part: int, parts: int) -> list[Any]:
    """Return the outputs of a model for one part of its inputs."""
    given = {"i": part, "parts": parts}
    inputs = [
        Lambda(_slice, output_shape=tuple(x.shape.as_list())[1:], arguments=given)(x)
        for x in model.inputs
    ]
    outputs = model(inputs)
    return outputs if isinstance(outputs, list) else [outputs]


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with numbers where there are several of a kind."""
    counts, seen, found = Counter(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        found.append(f"{name}_{seen[name]}" if counts[name] > 1 else name)
    return found
