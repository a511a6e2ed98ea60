"""Some golden programs in every kind of session; the option `--golden-session` runs them all."""

from __future__ import annotations

import pytest
from tests.expected_failures import ExpectedFailures

from . import sessions
from .registry import load_programs
from .test_golden import differences

WAYS = [way for way in sessions.WAYS if way != "plain"]
# Programs of many kinds that take little time.
QUICK = [
    "arrays/one_hot_forms",
    "batching/operations",
    "control/gradient_of_cond",
    "data_pipelines/filtered",
    "factorization/no_copies",
    "feature_columns/dense_features",
    "functional_control_flow/case_forms",
    "functional_control_flow/cond_gradients",
    "functions/defun_in_a_loop",
    "gradients/custom_gradient",
    "graph_editor/rewiring",
    "hooks/end_of_input",
    "imported_loops/what_enters_a_loop_that_it_has_left",
    "metrics/several_classes",
    "nn_convolution/conv1d_forms",
]
# Those that use a session freely, which is never one on a copy.
FREE = [
    "array_operands/stacks_taken_from_twice",
    "event_files/summaries_of_steps",
    "variables/functions_read_variables_of_new_shapes",
    "variables/variables_of_new_shapes",
]


def cases() -> list[tuple[str, str]]:
    free = [way for way in WAYS if way not in sessions.COPIES]
    return [(way, name) for way in WAYS for name in QUICK] + [
        (way, name) for way in free for name in FREE
    ]


@pytest.mark.parametrize("way, name", cases())
def test_values_do_not_depend_on_the_session(way: str, name: str) -> None:
    assert not list(differences(name, "values", way))


def test_listed_differences_are_those_of_programs() -> None:
    listed = ExpectedFailures(sessions.LIST)
    rows = {f"{way}::{name}" for way in WAYS for name in load_programs()}
    assert not listed.without_test(rows)
