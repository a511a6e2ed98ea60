"""Reports on models of TensorFlow Lite."""

from __future__ import annotations

import collections
from typing import Any

from stillflow import errors
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.kinds import Kind
from stillflow.lite.model_tensors import ModelTensor
from stillflow.lite.schema import read_model
from stillflow.lite.translation import Subgraph

Report = dict[str, Any]


def describe_lite_model(kind: Kind) -> Report:
    """Return a model file's inputs, outputs and unsupported operators.

    InvalidArgumentError if it is damaged.
    """
    with open_file(kind.path) as file, os_errors(kind.path):
        content = file.read()
    try:
        model = read_model(content)
        graph = Subgraph(model)
    except ValueError as error:
        raise errors.invalid_argument(f"{kind.path}: {error}") from None
    constants = [tensor.value for tensor in graph.tensors if tensor.value is not None]
    return {
        "version": model.version,
        "description": model.description,
        "inputs": _tensors(graph, graph.inputs),
        "outputs": _tensors(graph, graph.outputs),
        "constants": {"count": len(constants), "bytes": sum(value.nbytes for value in constants)},
        "operators": dict(collections.Counter(kind for kind, *_ in graph.operators).most_common()),
        "not supported": dict(sorted(graph.lacking.items())),
    }


def _tensors(graph: Subgraph, indices: list[int]) -> Report:
    return {graph.tensors[index].name: _described(graph.tensors[index]) for index in indices}


def _described(tensor: ModelTensor) -> str:
    kind = "string" if tensor.dtype.hasobject else str(tensor.dtype)
    text = f"{kind} ({','.join(map(str, tensor.shape))})"
    if tensor.quantization is None:
        return text
    scale, zero_point = tensor.quantization.scale, tensor.quantization.zero_point
    return f"{text}, one is {scale:.6g}, zero is {zero_point}"
