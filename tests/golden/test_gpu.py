"""Golden programs on a CUDA device, real or simulated, give the values TF 1.15.5 recorded."""

from __future__ import annotations

import itertools

import pytest

import stillflow as tf

from . import compare
from .capture import Built
from .registry import load_programs
from .test_golden import known_failures, recording

# Control flow, state and training, where values meet that were made on different devices.
FAMILIES = (
    "control", "functional_control_flow", "functional_loops", "gradients", "keras_models", "models",
    "optimizers", "rnn_loops", "sparse_tensors", "tensor_arrays", "variables", "while_gradients",
    "while_loops",
)  # fmt: skip
# Kernels of a real device add in another order.
TOLERANCES = {"rtol": 1e-3, "atol": 1e-4}


def names() -> list[str]:
    """The programs of these families that agree on the CPU."""
    failing = known_failures()
    return [
        name for name in load_programs()
        if name.partition("/")[0] in FAMILIES and name + " values" not in failing
    ]  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_agrees_with_tensorflow(name: str, cuda: str) -> None:
    program = load_programs()[name]
    expected = recording(name.partition("/")[0])[name]["values"]
    tolerances = TOLERANCES if cuda == "real" else {"rtol": program.rtol, "atol": program.atol}
    actual = Built(tf, program).record_values()
    lines = list(itertools.islice(compare.value_differences(expected, actual, **tolerances), 40))
    assert not lines, "\n" + "\n".join(lines)
