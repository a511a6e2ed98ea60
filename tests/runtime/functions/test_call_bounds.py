"""Functions that call functions: how many and how deep, known before any is taken apart."""

from __future__ import annotations

import time
from typing import Any

import pytest
from google.protobuf import text_format

import stillflow as tf
from stillflow.runtime.functions.call_bounds import DEEPEST, MOST_CALLS

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
FED = 'node { name: "c" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'


def chain(count: int, calls: int) -> str:
    """Functions that each call the next one, the last of which negates."""
    functions = []
    for number in range(count):
        callee = f'op: "f{number + 1}"' if number + 1 < count else f'op: "Neg" {FLOAT}'
        nodes, value = [], "x"
        for step in range(calls):
            nodes.append(f'node_def {{ name: "n{step}" {callee} input: "{value}" }}')
            value = f"n{step}:y:0"
        functions.append(
            f'function {{ signature {{ name: "f{number}" input_arg {{ name: "x" type: DT_FLOAT }} '
            f'output_arg {{ name: "y" type: DT_FLOAT }} }} {" ".join(nodes)} '
            f'ret {{ key: "y" value: "{value}" }} }}'
        )
    return " ".join(functions)


def run(count: int, calls: int) -> Any:
    graph_def = tf.GraphDef()
    call = f'{FED} node {{ name: "r" op: "f0" input: "c" }}'
    text_format.Parse(f"{call} library {{ {chain(count, calls)} }}", graph_def)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("r:0", {"c:0": 2.0})


def test_calls_inside_calls_run() -> None:
    assert run(6, 2) == 2.0
    assert run(40, 1) == -2.0


def test_too_many_calls_are_an_error_at_once() -> None:
    begin = time.monotonic()
    with pytest.raises(tf.errors.ResourceExhaustedError, match=f"limit is {MOST_CALLS}") as raised:
        run(31, 2)
    assert time.monotonic() - begin < 20
    assert raised.value.op.name == "r"


def test_too_deep_calls_are_an_error() -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError, match=f"more than {DEEPEST} deep"):
        run(1500, 1)


def nested(count: int) -> Any:
    """Return a function that calls another one twice, and so on; the innermost one negates."""
    function: Any = tf.function(lambda x: -x)
    for _ in range(count):
        function = (lambda inner: tf.function(lambda x: inner(inner(x))))(function)
    return function


def test_functions_of_pipelines_are_bounded() -> None:
    begin = time.monotonic()
    with tf.Graph().as_default(), tf.Session() as session:
        results = [
            tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(2.0).map(nested(count)))
            for count in (4, 31)
        ]
        assert session.run(results[0].get_next()) == 2.0
        with pytest.raises(tf.errors.ResourceExhaustedError, match=f"limit is {MOST_CALLS}"):
            session.run(results[1].get_next())
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("name", ["If", "StatelessIf"])
def test_branches_are_bounded(name: str) -> None:
    graph_def = tf.GraphDef()
    text_format.Parse(f'{FED} node {{ name: "r" op: "f0" input: "c" }}'
                      f" library {{ {chain(31, 2)} }}", graph_def)  # fmt: skip
    for function in graph_def.library.function:
        for node in function.node_def:
            if node.op.startswith("f"):
                for branch in ("then_branch", "else_branch"):
                    node.attr[branch].func.name = node.op
                for kinds in ("Tin", "Tout"):
                    node.attr[kinds].list.type.append(tf.float32.as_datatype_enum)
                node.attr["Tcond"].type = tf.float32.as_datatype_enum
                node.op = name
                value = node.input.pop().replace(":y:", ":output:")
                node.input.extend([value, value])
                function.ret["y"] = function.ret["y"].replace(":y:", ":output:")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        with pytest.raises(tf.errors.ResourceExhaustedError, match=f"limit is {MOST_CALLS}"):
            session.run("r:0", {"c:0": 2.0})
