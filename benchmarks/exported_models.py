"""Exported networks in onnxruntime and PyTorch next to Stillflow's own run of the same graph.

    python -m benchmarks.exported_models [ROUNDS]

One image on one thread. Rounds alternate; the least processor time of each counts, so that other
programs on the machine matter little. Prints a row of a table for each network: shares of the
time that Stillflow takes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import stillflow as tf
from stillflow.export import to_onnx, to_torch

NETWORKS = {"ResNet50": "ResNet v1 50", "ResNet50V2": "ResNet v2 50", "MobileNet": "MobileNet v1"}


def runs_of(name: str, session: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return a function for each way to run a network on one image."""
    import onnxruntime

    tf.keras.backend.set_session(session)
    model = getattr(tf.keras.applications, name)(weights=None)
    session.run(tf.global_variables_initializer())
    x, y = model.inputs[0], model.outputs[0]
    image = np.random.default_rng(0).normal(size=(1, 224, 224, 3)).astype(np.float32)
    samples = {x.name: image}
    module = to_torch(session, [x], [y], samples=samples)
    to_onnx(session, [x], [y], str(folder / "model.onnx"), samples=samples)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    runtime = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tensor, feeds = torch.from_numpy(image), {y.graph.get_tensor_by_name(x.name): image}
    for switch in (op for op in y.graph.get_operations() if op.name.endswith("learning_phase")):
        feeds[switch.outputs[0]] = False

    def in_torch() -> Any:
        with torch.inference_mode():
            return module(tensor)

    return {
        "stillflow": lambda: session.run(y, feeds),
        "onnxruntime": lambda: runtime.run(None, samples),
        "torch": in_torch,
    }


def seconds(run: Callable[[], Any]) -> float:
    """Return the processor time of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    torch.set_num_threads(1)
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    print("| network | onnxruntime | PyTorch |\n|---|---|---|")
    for name, title in NETWORKS.items():
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            with tempfile.TemporaryDirectory() as folder:
                runs = runs_of(name, session, Path(folder))
            for run in runs.values():
                run()
            least = dict.fromkeys(runs, float("inf"))
            for _ in range(rounds):
                for way, run in runs.items():
                    least[way] = min(least[way], seconds(run))
        own = least.pop("stillflow")
        print(f"| {title} | {' | '.join(f'{each / own:.2f}' for each in least.values())} |")


if __name__ == "__main__":
    main()
