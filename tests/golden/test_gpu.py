"""Golden programs on a CUDA device, real or simulated, give the values TF 1.15.5 recorded."""

from __future__ import annotations

import itertools

import pytest
from tests.golden import compare
from tests.golden.capture import Built
from tests.golden.registry import load_programs, split_name
from tests.golden.test_golden import known_failures, recording

import stillflow as tf

# Control flow, state and training, where values meet that were made on different devices.
FAMILIES = (
    "end_to_end/models", "functional/map_fn_and_scan", "keras/engine/models", "nn/recurrent",
    "ops/control_flow/cond_and_case", "ops/control_flow/while_gradients",
    "ops/control_flow/while_loops", "ops/functional/branches_and_loops", "ops/gradients",
    "ops/sparse/tensors", "ops/tensor_array", "train/optimizers", "variables/variables",
)  # fmt: skip
# Kernels of a real device add in another order.
TOLERANCES = {"rtol": 1e-3, "atol": 1e-4}


def names() -> list[str]:
    """Return the programs of these families that agree on the CPU."""
    failing = known_failures()
    return [
        name for name in load_programs()
        if split_name(name)[0] in FAMILIES and name + " values" not in failing
    ]  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_agrees_with_tensorflow(name: str, cuda: str) -> None:
    program = load_programs()[name]
    family, function = split_name(name)
    expected = recording(family)[function]["values"]
    tolerances = TOLERANCES if cuda == "real" else {"rtol": program.rtol, "atol": program.atol}
    actual = Built(tf, program).record_values()
    lines = list(itertools.islice(compare.value_differences(expected, actual, **tolerances), 40))
    assert not lines, "\n" + "\n".join(lines)
