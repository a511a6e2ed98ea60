"""OpenVINO as an engine."""

from __future__ import annotations

import importlib
import threading

import numpy as np

from stillflow.runtime.engines.onnx_models import OnnxEngine, Opened
from stillflow.runtime.engines.region import OnnxModel


def _open(model: OnnxModel, threads: int) -> Opened:
    """Return the compiled model."""
    core = importlib.import_module("openvino").Core()
    # On processors that have bfloat16 it would otherwise compute with that.
    settings = {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    network = core.read_model(model.whole())
    for node in network.get_ops():
        if "stable" in node.get_attributes():  # of equal values, the first before the others
            node.set_attribute("stable", True)
    compiled = core.compile_model(network, "CPU", settings)
    of_thread = threading.local()  # a request serves one thread at a time

    def run(feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        request = getattr(of_thread, "request", None)
        if request is None:
            request = of_thread.request = compiled.create_infer_request()
        results = request.infer(feeds, share_inputs=True)
        return [results[output] for output in compiled.outputs]

    return Opened({name for each in compiled.inputs for name in each.get_names()}, run)


ENGINE = OnnxEngine("openvino", "openvino", _open)
