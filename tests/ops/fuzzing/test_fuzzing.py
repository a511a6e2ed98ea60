"""Random arguments of every operation: a value, or a typed error that names the operation.

`pytest tests/ops/fuzzing --fuzz-rounds 20 --fuzz-seed 5` makes other calls, and more of them;
`python -m tests.ops.fuzzing` runs as long as one likes, each operation in a process of its own.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.ops.fuzzing import choice, outcomes
from tests.ops.fuzzing.arguments import Arguments

import stillflow as tf
from stillflow.graph import card as cards

GROUPS = 24


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(GROUPS))
def test_calls_end_well(
    group: int, cpu: None, pytestconfig: pytest.Config, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)  # random names of files are relative
    seed = pytestconfig.getoption("--fuzz-seed")
    faults = []
    for name in choice.operations()[group::GROUPS]:
        for number in range(pytestconfig.getoption("--fuzz-rounds")):
            try:
                outcomes.check(cards.get(name), f"{seed}.{number}")
            except outcomes.Fault as fault:
                faults.append(str(fault))
    assert not faults, "\n".join(faults)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, seed",
    [
        ("QuantizedConcat", "20261130.8"),  # of int8
        ("SparseReduceSum", "20261130.0"),  # a shape that is a matrix
        ("StackPopV2", "20261130.1"),  # of a tensor array
        ("SymbolicGradient", "20261130.3"),  # of more arguments than the function has
        ("TensorArrayCloseV3", "20261130.1"),  # of a variable
        ("TensorArraySizeV3", "20261130.2"),  # of a stack
    ],
)
def test_calls_that_ended_badly_end_well(name: str, seed: str, cpu: None) -> None:
    assert outcomes.check(cards.get(name), seed)


def test_calls_are_the_same_every_time() -> None:
    for name in ("Conv2D", "Concat", "ScatterNd"):
        first, second = (Arguments(random.Random(f"1/{name}"), cards.get(name)) for _ in range(2))
        assert outcomes.describe(first) == outcomes.describe(second)


def test_calls_are_of_many_kinds() -> None:
    """Some run, some are errors while they are built and others while they run."""
    ends = {outcomes.check(cards.get("Concat"), f"kinds.{number}") for number in range(60)}
    assert {"ran", "refused"} <= ends


def _leaks(node: object) -> object:
    def run(x: object) -> object:
        return {}[str(x)]

    return run


def _is_bare(node: object) -> object:
    def run(x: object) -> object:
        raise ValueError("size of tensor a (3) must match the size of tensor b (2)")

    return run


@pytest.mark.parametrize("kernel", [_leaks, _is_bare])
def test_faults_are_found(kernel: object, monkeypatch: pytest.MonkeyPatch) -> None:
    card = cards.get("Rint")
    monkeypatch.setattr(card, "kernel_part", kernel)
    monkeypatch.setattr(card, "value_part", None)
    with pytest.raises(outcomes.Fault, match=r"Rint seed|fault of Stillflow|size of tensor"):
        for number in range(30):
            outcomes.check(card, f"fault.{number}")


def test_an_error_of_a_library_tells_inputs_and_not_its_own_text() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        total = tf.raw_ops.Atan2(y=x, x=y)
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(total, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})
        assert raised.value.op.type == "Atan2"
        assert __file__ in raised.value.message  # the program's line
