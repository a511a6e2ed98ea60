"""Every card's samples as modules of PyTorch: the values are those of the session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.ops.sampling import arrays_of, build
from tests.ops.test_samples import ALL, NEEDS_SIZES, VALUED, good

import stillflow as tf
from stillflow.export.capture import capture
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import load_module
from stillflow.export.torch_writer import to_source
from stillflow.export.verification import compare

# Operations that do not go out, with the reason.
LISTED = Path(__file__).with_name("not_exported.tsv")
NOT_EXPORTED = dict(
    line.split("\t") for line in LISTED.read_text(encoding="utf-8").splitlines() if line
)


pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's, of samples without elements


def knowledge(name: str) -> tuple[str, ...]:
    """Return what the graph may know of an op's inputs."""
    return ("sizes",) if name in NEEDS_SIZES else ("ranks", "sizes")


def exported(built: Any) -> Any:
    """Compare an op's module with the session."""
    with tf.Session(graph=built.graph) as session, built.graph.as_default():
        program = capture(session._get_resources(), list(built.feeds), built.outputs)
        model = load_module(to_source(program))
        return compare(session, program, built.feeds, model)


@pytest.mark.parametrize("name", [name for name in VALUED if name not in NOT_EXPORTED])
def test_an_operation_goes_out(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        for known in knowledge(name):
            built = build(card, arrays_of(card, sample), sample.attrs, known, sample.fixed)
            comparison = exported(built)
            assert not comparison.problems, (sample, comparison.message)
            if not card.signature.is_stateful:
                assert comparison.equal, (sample, comparison.differences)


@pytest.mark.parametrize("name", NOT_EXPORTED)
def test_the_list_names_no_operation_that_goes_out(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        for known in knowledge(name):
            built = build(card, arrays_of(card, sample), sample.attrs, known, sample.fixed)
            try:
                comparison = exported(built)
            except ExportError:
                return
            if comparison.problems or not comparison.equal:
                return
    raise AssertionError(f"{name} goes out now: take it out of {LISTED.name}")


def test_the_page_lists_these_operations() -> None:
    root = Path(__file__).parents[2]
    arguments = [sys.executable, str(root / "tools" / "export_table.py")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
