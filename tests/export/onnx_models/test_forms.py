"""Table of operations' forms in ONNX, and the nodes of small graphs; ONNX need not be installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.export import ExportError
from stillflow.export.onnx_models.forms import FORMS
from stillflow.export.onnx_models.graph import to_graph
from stillflow.export.torch_export import capture_of
from stillflow.graph.card import load_all


def nodes(session: Any, inputs: list[Any], output: Any) -> Any:
    def by_torch(*_: Any) -> Any:
        raise ExportError("PyTorch is not asked here")

    return to_graph(capture_of(session, inputs, [output], for_onnx=True), by_torch)


def test_the_table_names_operations_that_there_are() -> None:
    assert not FORMS.keys() - load_all().keys()


def test_forms_make_nodes_with_constants_of_the_inputs_types() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 3], "x")
        y = tf.div_no_nan(tf.floormod(x, 2.0), tf.reverse(x, [1]))
        writer = nodes(session, [x], y)
    kinds = [kind for kind, *_ in writer.nodes]
    assert kinds == ["Div", "Floor", "Mul", "Sub", "Slice", "Equal", "Div", "Where"]
    types = {array.dtype for array in writer.constants.values()}
    assert types == {np.dtype(np.float64), np.dtype(np.int64)}


def test_equal_constants_are_one() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        y = tf.add_n([x + tf.constant(np.eye(3, dtype=np.float32)) for _ in range(3)])
        writer = nodes(session, [x], y)
    assert len(writer.constants) == 1


def test_operations_without_a_form_are_named_with_a_cut() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3, 3], "x")
        y = tf.linalg.cholesky(x, name="root") + 1.0
        with pytest.raises(ExportError, match=r"root.*PyTorch is not asked.*\n.*root:0"):
            nodes(session, [x], y)
