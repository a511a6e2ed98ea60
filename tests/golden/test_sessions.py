"""Some golden programs in every kind of session; the option `--golden-session` runs them all."""

from __future__ import annotations

import pytest
from tests.expected_failures import ExpectedFailures
from tests.golden import sessions
from tests.golden.registry import load_programs
from tests.golden.test_golden import differences

WAYS = [way for way in sessions.WAYS if way != "plain"]
# Programs of many kinds that take little time.
QUICK = [
    "ops/arrays/reshaping/one_hot_forms",
    "ops/batching/operations",
    "ops/control_flow/cond_and_case/gradient_of_cond",
    "data/pipelines/filtered",
    "stillflow_contrib/factorization/matrices_and_mixtures/no_copies",
    "feature_column/columns/dense_features",
    "ops/functional/branches_and_loops/case_forms",
    "ops/functional/branches_and_loops/cond_gradients",
    "functional/defun/defun_in_a_loop",
    "ops/gradients/custom_gradient",
    "stillflow_contrib/graph_editor/rewiring",
    "train/hooks/end_of_input",
    "ops/control_flow/imported_loops/what_enters_a_loop_that_it_has_left",
    "metrics/several_classes",
    "ops/nn/convolution/conv1d_forms",
]
# Those that use a session freely, which is never one on a copy.
FREE = [
    "ops/array_operands/stacks_taken_from_twice",
    "summary/event_files/summaries_of_steps",
    "variables/variables/functions_read_variables_of_new_shapes",
    "variables/variables/variables_of_new_shapes",
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
