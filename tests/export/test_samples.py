"""Every card's samples as modules of PyTorch: the values are those of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ops.sampling import arrays_of, build
from tests.ops.test_samples import ALL, VALUED, good

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


def exported(built: Any) -> Any:
    """The comparison of an op's module with the session."""
    with tf.Session(graph=built.graph) as session:
        with built.graph.as_default():
            program = capture(session._get_resources(), list(built.feeds), built.outputs)
        model = load_module(to_source(program))
        return compare(session, program, built.feeds, model)


@pytest.mark.parametrize("name", [name for name in VALUED if name not in NOT_EXPORTED])
def test_an_operation_goes_out(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        for known in ("ranks", "sizes"):
            built = build(card, arrays_of(card, sample), sample.attrs, known, sample.fixed)
            comparison = exported(built)
            assert not comparison.problems, (sample, comparison.message)
            if not card.signature.is_stateful:
                assert comparison.equal, (sample, comparison.differences)


@pytest.mark.parametrize("name", NOT_EXPORTED)
def test_the_list_names_no_operation_that_goes_out(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        for known in ("ranks", "sizes"):
            built = build(card, arrays_of(card, sample), sample.attrs, known, sample.fixed)
            try:
                comparison = exported(built)
            except ExportError:
                return
            if comparison.problems or not comparison.equal:
                return
    raise AssertionError(f"{name} goes out now: take it out of {LISTED.name}")
