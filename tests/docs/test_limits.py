"""docs/limits.md names every feature of TensorFlow for which the sources raise an error."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import stillflow
from stillflow.tools import graph_transforms

SOURCES = Path(stillflow.__file__).parents[1]
PAGE = (SOURCES.parent / "docs" / "limits.md").read_text(encoding="utf-8")
# The page's texts about the errors in each module, in the order of the module.
NAMED = {
    "stillflow_contrib/learn/datasets/base.py": ["load_boston(data_path)"],
    "stillflow_contrib/tensorrt/conversion.py": ["tf.contrib.tensorrt.create_inference_graph"],
    "stillflow_contrib/tpu/infeed.py": ["`InfeedQueue` with `device_assignment`"],
    "stillflow/contrib/tpu/estimator.py": ["`use_tpu=True`", "its exports"],
    "stillflow/contrib/tpu/replication.py": ["tf.tpu.replicate"],
    # Of `unsupported`, for all:
    "stillflow/distribute/strategy.py": ["`tf.distribute.experimental.TPUStrategy`"],
    "stillflow/eager/profiler.py": ["start_profiler_server"],
    "stillflow/facade/feeding_functions.py": ["_enqueue_data"],
    "stillflow/facade/op_registry.py": ["without a card"],
    "stillflow/functional/parallel_for.py": ["reductions of a `pfor`", "Jacobians whose number"],
    "stillflow/keras/engine/replica_checks.py": ["models of several replicas"],
    "stillflow/keras/estimator.py": ["models on `gs://`", 'checkpoint_format="checkpoint"'],
    "stillflow/layers/autocast_variable.py": ["mixed precision of variables"],
    "stillflow/lite/converter.py": [
        "experimental_enable_mlir_converter", "inference_type", "output_format",
        "from_concrete_functions",
    ],
    "stillflow/lite/custom_operators.py": ["anywhere but at the end of a graph"],
    "stillflow/lite/detection.py": ["several classes for each detection"],
    "stillflow/lite/float_operators.py": ["SIGN_BIT", "strides that differ"],
    "stillflow/lite/interpreter.py": ["delegates", "operators that are not there",
                            "operators that are not there", "delegates"],
    "stillflow/lite/quantized_operators.py": ["strides that differ"],
    "stillflow/lite/translation.py": 2 * ["operators that are not there"],
    "stillflow/ops/nn/depth_to_space.py": ["NCHW_VECT_C"],
    "stillflow/ops/data/as_graph.py": ["_as_serialized_graph"],
    "stillflow/ops/debug/cards.py": ["debug URLs with `grpc://`"],
    "stillflow/ops/raw_ops.py": ["tf.raw_ops"],
    "stillflow/ops/strings/regex.py": [r"`\C`"],
    "stillflow/ops/summary/writer_cards.py": ["create_db_writer"],
    "stillflow/platform/load_library.py": ["tf.load_file_system_library"],
    "stillflow/runtime/functions/collectives.py": ["collectives"],
    "stillflow/runtime/cluster/master.py": ["debuggers that watch tensors"],
    "stillflow/runtime/cluster/partial_runs.py": ["steps of partial runs"],
    "stillflow/runtime/cluster/plan_by_device.py": ["a device that is fed"],
    "stillflow/runtime/cluster/packed.py": ["sent to another task"],
    "stillflow/runtime/cluster/tensor_coding.py": ["sent to another task"],
    "stillflow/runtime/cluster/worker_service.py": ["Session.partial_run"],
    "stillflow/runtime/loops/repeats.py": ["steps of partial runs"],
    "stillflow/tools/graph_transforms/__init__.py": ["TransformGraph"],
}  # fmt: skip
# They say what to install, or that a version is served which is not asked for.
NO_LIMITS = {
    "stillflow/facade/notebook.py",
    "stillflow/keras/applications/library.py",
    "stillflow/ops/custom/interface.py",
    "stillflow/runtime/cluster/grpc_port.py",
    "stillflow/runtime/cluster/wire.py",
}


def refusals(path: Path) -> int:
    """Return the number of a module's `raise` statements for unsupported features."""
    source = path.read_bytes()
    if b"Stillflow" not in source:
        return 0
    raised = [  # what `unsupported()` of strategies gives is raised elsewhere
        node for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise)
        or (isinstance(node, ast.FunctionDef) and node.name == "unsupported")
    ]  # fmt: skip
    texts = [
        " ".join(part.value for part in ast.walk(node)
                 if isinstance(part, ast.Constant) and isinstance(part.value, str))
        for node in raised
    ]  # fmt: skip
    return sum("Stillflow" in text for text in texts)


def test_every_refusal_has_its_line() -> None:
    found = Counter({
        path.relative_to(SOURCES).as_posix(): refusals(path) for path in SOURCES.rglob("*.py")
    })  # fmt: skip
    found = Counter({name: count for name, count in found.items() if name not in NO_LIMITS})
    assert +found == Counter({name: len(said) for name, said in NAMED.items()})
    missing = [(name, text) for name, said in NAMED.items() for text in said if text not in PAGE]
    assert not missing


def test_every_row_says_how_often_programs_use_it_and_why_it_is_there() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len(rows) > 30 and {len(row) for row in cells} == {4}
    assert all(row[2] for row in cells)
    told = [row[1] for row in cells if row[0] != "unsupported"]
    assert [text for text in told if not re.match(r"none$|\d+", text)] == []


def test_transforms_that_lack_are_named() -> None:
    row = next(line for line in PAGE.splitlines() if "of `TransformGraph`" in line)
    assert set(re.findall(r"`([a-z0-9_]+)`", row)) == graph_transforms._LACKING


def test_packages_of_contrib_that_lack_are_empty() -> None:
    packages = re.findall(r"`(\w+)`", PAGE.partition("## Packages of tf.contrib")[2])
    program = f"""
import importlib
import stillflow
stillflow.install(revive=False)
for name in {packages}:
    module = importlib.import_module("tensorflow.contrib." + name)
    there = [one for one in dir(module) if not one.startswith("_") and hasattr(module, one)]
    print(name, *(one for one in there if type(getattr(module, one)) is not type(module)))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )  # fmt: skip
    assert len(packages) > 5
    assert done.stdout.splitlines() == packages, done.stderr
