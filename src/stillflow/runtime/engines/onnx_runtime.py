"""ONNX Runtime as an engine."""

from __future__ import annotations

import importlib
from functools import partial
from math import prod
from typing import Any

import numpy as np

from stillflow.runtime.engines.onnx_models import OnnxEngine, Opened
from stillflow.runtime.engines.region import OnnxModel

# From so many bytes of results on, memory of our own takes less time than copies of its own.
_BIND_FROM = 1 << 18
_TYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64,
          "bool": np.bool_}  # fmt: skip


def _open(model: OnnxModel, threads: int) -> Opened:
    """Return the session of a model, which shares the memory of its weights."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.set_denormal_as_zero", "1")  # as in the plan
    if model.weights:
        values = [runtime.OrtValue.ortvalue_from_numpy(array) for array in model.weights.values()]
        options.add_external_initializers(list(model.weights), values)
    session = runtime.InferenceSession(model.content, options, ["CPUExecutionProvider"])
    outputs = [
        (each.name, each.shape, _TYPES[each.type[len("tensor(") : -1]])
        for each in session.get_outputs()
    ]
    run = partial(session.run, [name for name, _, _ in outputs])
    known = all(type(size) is int for _, dims, _ in outputs for size in dims)
    if known and sum(4 * prod(dims) for _, dims, _ in outputs) >= _BIND_FROM:
        run = partial(_bound, session, outputs)
    return Opened({each.name for each in session.get_inputs()}, run)


def _bound(session: Any, outputs: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Run with results in the memory of new arrays."""
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, np.ascontiguousarray(array))
    found = []
    for name, dims, kind in outputs:
        array = np.empty(dims, kind)
        binding.bind_output(name, "cpu", 0, kind, dims, array.ctypes.data)
        found.append(array)
    session.run_with_iobinding(binding)
    return found


ENGINE = OnnxEngine("onnxruntime", "onnx", _open)
