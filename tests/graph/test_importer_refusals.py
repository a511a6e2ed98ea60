"""GraphDefs that cannot be imported: what is said of them is what TensorFlow says."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

import stillflow as tf
from stillflow import errors

CONST = """node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }"""
BODY = """node { name: "call" op: "f" input: "c" } library { function {
  signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
              output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "n" op: "Neg" input: "%s" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "n:y:0" } } }"""


def load(text: str) -> None:
    message = text_format.Parse(text, tf.GraphDef())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")


@pytest.mark.parametrize(
    "value, problem",
    [
        ("i: 3", "AttrValue had value with type 'int' when 'type' expected"),
        ('s: "x"', "AttrValue had value with type 'string' when 'type' expected"),
        ("list { i: 3 }", "AttrValue had value with type 'list(int)' when 'type' expected"),
        ("", "AttrValue missing value with expected type 'type'"),
        ("type: 999", "AttrValue has invalid DataType enum: 999"),
    ],
)
def test_attributes_of_another_kind(value: str, problem: str) -> None:
    node = f'node {{ name: "n" op: "Neg" input: "c" attr {{ key: "T" value {{ {value} }} }} }}'
    with pytest.raises(ValueError) as raised:
        load(CONST + node)
    assert str(raised.value).splitlines()[:2] == [problem, "\t for attr 'T'"]


def test_lists_of_another_kind() -> None:
    node = """node { name: "n" op: "Squeeze" input: "c" attr { key: "T" value { type: DT_FLOAT } }
              attr { key: "squeeze_dims" value { %s } } }"""
    load(CONST + node % "list {}")
    for value, found in (("i: 3", "int"), ('list { s: "x" }', "list(string)")):
        with pytest.raises(ValueError, match="when 'list\\(int\\)' expected") as raised:
            load(CONST + node % value)
        assert f"type '{found}'" in str(raised.value)


def test_functions_that_cannot_be_put_in_order() -> None:
    load(CONST + BODY % "x")
    with pytest.raises(ValueError, match=r"^2 nodes in a cycle"):  # the node, and the output
        load(CONST + BODY % "n:y:0")
    with pytest.raises(ValueError, match=r"^input gone is not found: {{node n}}"):
        load(CONST + BODY % "gone:y:0")


OLD = """versions { producer: %d }
  node { name: "t" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "v" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "y" op: "BatchNormWithGlobalNormalization"
         input: "t" input: "v" input: "v" input: "v" input: "v"
         attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "variance_epsilon" value { f: 0 } }
         attr { key: "scale_after_normalization" value { b: true } } }"""


def test_operations_of_old_graphs_run_in_old_graphs_only() -> None:
    message = text_format.Parse(OLD % 8, tf.GraphDef())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        feed = {"t:0": np.full([1, 1, 1, 2], 6.0), "v:0": [4.0, 1.0]}
        assert session.run("y:0", feed).tolist() == [[[[8.0, 6.0]]]]
    problem = "has been removed in version 9. Use tf.nn.batch_normalization"
    with pytest.raises(errors.UnimplementedError, match=problem):
        load(OLD % 9)


def test_lists_that_are_too_short() -> None:
    node = """node { name: "n" op: "AddN" attr { key: "T" value { type: DT_FLOAT } }
              attr { key: "N" value { i: 0 } } }"""
    with pytest.raises(ValueError, match="Value for attr 'N' of 0 must be at least minimum 1"):
        load(node)


def test_loops_that_nothing_enters() -> None:
    loop = """node { name: "m" op: "Merge" input: "n" input: "n"
                attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } }
              node { name: "n" op: "NextIteration" input: "m"
                attr { key: "T" value { type: DT_FLOAT } } }"""
    with pytest.raises(ValueError, match="2 nodes in a cycle"):
        load(loop)


def test_attributes_that_are_missing() -> None:
    with pytest.raises(ValueError, match=r"^NodeDef missing attr 'T' from Op<name=Neg"):
        load(CONST + 'node { name: "n" op: "Neg" input: "c" }')


@pytest.mark.parametrize("kind", ["Exit", "NextIteration"])
def test_parts_of_loops_that_nothing_enters_do_not_run(kind: str) -> None:
    node = f"""node {{ name: "n" op: "{kind}" input: "c"
                attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}"""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(text_format.Parse(CONST + node, tf.GraphDef()), name="")
        problem = f"^{kind} is not in a while context"
        with pytest.raises(errors.InvalidArgumentError, match=problem):
            session.run("n:0")


def test_negative_numbers_of_outputs_are_no_names():
    graph_def = tf.GraphDef()
    graph_def.node.add(name="y", op="NoOp")
    with pytest.raises(ValueError, match=r"^Cannot convert 'y:-1' to a tensor name"):
        tf.import_graph_def(graph_def, return_elements=["y:-1"])
