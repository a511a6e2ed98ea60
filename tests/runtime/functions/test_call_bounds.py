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
