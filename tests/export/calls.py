"""Small graphs of operations that have no samples, as modules of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.export.capture import Program
from stillflow.export.torch_export import capture_of, load_module
from stillflow.export.torch_writer import to_source
from stillflow.export.verification import compare, sample_inputs

Case = Callable[[Callable[..., Any]], Any]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


class Cases:
    """The cases of one file, and the list of the operations that they are for."""

    def __init__(self, listed: str) -> None:
        self.listed = Path(__file__).with_name(listed)
        self.cases: dict[str, Case] = {}
        self.old: dict[str, int] = {}  # versions of the graphs of cases that old TensorFlow wrote

    def __call__(self, *names: str, version: int = 0) -> Callable[[Case], Case]:
        """Register a graph that has these operations."""

        def register(build: Case) -> Case:
            self.cases[" ".join(names)] = build
            self.old[" ".join(names)] = version
            return build

        return register

    def check(self, names: str) -> None:
        """Compare the module of a case with the session."""
        given: dict[str, Any] = {}

        def fed(value: Any) -> Any:
            array = np.asarray(value)
            x = tf.placeholder(tf.as_dtype(array.dtype), array.shape, f"x{len(given)}")
            given[x.name] = array
            return x

        with tf.Graph().as_default() as graph, tf.Session() as session:
            graph._producer = self.old[names] or graph._producer
            made = self.cases[names](fed)
            outputs = list(made) if isinstance(made, (list, tuple)) else [made]
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            inputs = [graph.get_tensor_by_name(name) for name in given]
            program = capture_of(session, inputs, outputs, given)
            assert set(names.split()) <= operations(program)
            model = load_module(to_source(program))
            comparison = compare(session, program, sample_inputs(program, given), model)
        assert not comparison.problems, comparison.message
        assert comparison.equal, comparison.message

    def check_list(self) -> None:
        """Compare the list with the operations of the cases."""
        named = self.listed.read_text(encoding="utf-8").split()
        assert named == sorted({name for names in self.cases for name in names.split()})


def operations(program: Program) -> set[str]:
    """Return the types of the operations that a program runs."""
    found = {op.type for step in program.steps for op in (step.op, *step.joined) if op is not None}
    found |= {op.type for op in program.targets}
    return found | {tensor.op.type for tensor in program.tracer.values}
