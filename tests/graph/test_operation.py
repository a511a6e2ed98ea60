"""Operations made by hand, changed edges, and what operations know of their making."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import stillflow as tf
from stillflow.graph.autograph_status import ControlStatusCtx, Status
from stillflow.graph.explicit import node_def


def test_an_operation_is_made_of_a_node_def():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(2.0)
    with graph.device("/gpu:0"), graph.control_dependencies([x]):
        op = tf.Operation(node_def("Sqrt", "root", device="/cpu:0"), graph, [x])
    assert op is graph.get_operation_by_name("root")
    assert (op.device, op.control_inputs, op.inputs) == ("/cpu:0", [], [x])
    with tf.Session(graph=graph) as session:
        assert session.run(op.outputs[0]) == pytest.approx(2**0.5)


@pytest.mark.parametrize("name", ["", "_a", "-a", "/a", "a:0"])
def test_names_of_operations_are_checked(name):
    with pytest.raises(ValueError, match="is not a valid node name"):
        tf.Operation(node_def("NoOp", name), tf.Graph())


def test_names_are_taken_once():
    graph = tf.Graph()
    tf.Operation(node_def("NoOp", "a"), graph)
    with pytest.raises(ValueError, match="Duplicate node name in graph: 'a'"):
        tf.Operation(node_def("NoOp", "a"), graph)
    with pytest.raises(ValueError, match="Duplicate node name in graph: 'a'"):
        graph.create_op("NoOp", [], [], name="a/")
    with graph.as_default():
        assert tf.no_op(name="a").name == "a_1"


def test_constructor_refuses_what_is_no_part_of_an_operation():
    graph = tf.Graph()
    with pytest.raises(TypeError, match="node_def needs to be a NodeDef"):
        tf.Operation("NoOp", graph)
    with pytest.raises(TypeError, match="g needs to be a Graph"):
        tf.Operation(node_def("NoOp", "a"), None)
    with pytest.raises(TypeError, match="input needs to be a Tensor"):
        tf.Operation(node_def("Sqrt", "a"), graph, [1.0])
    with pytest.raises(TypeError, match="Control input must be an Operation"):
        tf.Operation(node_def("NoOp", "a"), graph, control_inputs=["b"])
    with graph.as_default():
        x = tf.constant(1.0)
    with pytest.raises(TypeError, match="In op 'a', input types"):
        tf.Operation(node_def("Sqrt", "a"), graph, [x], input_types=[tf.int32])


def test_inputs_are_read_only_and_concatenate_with_lists():
    x = tf.constant(1)
    op = (x + 2).op
    assert op.inputs == list(op.inputs) and op.inputs + [x] == [*op.inputs, x]
    assert [x] + op.inputs == [x, *op.inputs]
    with pytest.raises(AttributeError, match="'_InputList' object has no attribute 'append'"):
        op.inputs.append(x)


def test_consumers_are_listed_once_for_each_input():
    x = tf.constant(1)
    op = (x + x).op
    assert x.consumers() == [op, op]
    y = tf.constant(2)
    op._update_input(0, y)
    assert (x.consumers(), y.consumers()) == ([op], [op])
    with tf.Session() as session:
        assert session.run(op.outputs[0]) == 3


def test_changed_edges_are_checked():
    with tf.Graph().as_default():
        other = tf.constant(0)
    graph = tf.Graph()
    with graph.as_default():
        x, text = tf.constant([1]), tf.constant(["a"])
        total = tf.add(x, x, name="total")
        wide = tf.constant([[1, 2]])
    with pytest.raises(ValueError, match="must be from the same graph"):
        total.op._update_input(0, other)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"Input index \[2\] is greater than"):
        total.op._update_input(2, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"incompatible shapes: \[1,2\] and"):
        total.op._update_input(0, wide)
    total.op._update_input(0, text)
    with tf.Session(graph=graph) as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="Input 0 of node total was passed string from Const_1:0 incompatible with",
        ):
            session.run(total)


def test_a_cycle_is_refused_when_it_runs():
    graph = tf.Graph()
    with graph.as_default():
        x, y = tf.constant(1), tf.constant(2)
    x.op._add_control_input(y.op)
    y.op._add_control_input(x.op)
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle with 2 nodes"):
            session.run(x)


def test_operations_know_the_lines_of_their_scopes():
    with tf.Graph().as_default():
        a = tf.constant(1, name="a")
        with tf.device("/cpu:0"), tf.device(lambda op: "/job:worker"):
            b = tf.constant(1)
        with tf.colocate_with(a):
            c = tf.constant(1)
    inner, outer = b.op._device_assignments
    assert outer.obj == "/cpu:0" and "test_operation.py" in inner.obj
    assert os.path.basename(outer.filename) == "test_operation.py"
    assert list(c.op._colocation_dict) == ["a"]
    assert os.path.basename(c.op._colocation_dict["a"].filename) == "test_operation.py"


def test_tracebacks_come_with_the_lines_where_functions_start():
    op = tf.constant(1).op
    frames = op.traceback_with_start_lines
    assert [frame[:4] for frame in frames] == op.traceback
    assert all(frame[4] <= frame[1] for frame in frames if frame[2] != "<module>")


def test_operations_are_no_tensors():
    with pytest.raises(TypeError, match=r"Can't convert Operation 'NoOp.*' to Tensor"):
        tf.convert_to_tensor(tf.no_op())


def test_advice_depends_on_autograph():
    x = tf.constant(True)
    with pytest.raises(TypeError, match="not allowed in Graph"):
        bool(x)
    with ControlStatusCtx(Status.ENABLED), pytest.raises(TypeError, match="did not convert"):
        iter(x)
    with ControlStatusCtx(Status.DISABLED), pytest.raises(TypeError, match="is disabled"):
        bool(x)


def test_tensors_of_two_graphs_do_not_mix():
    with tf.Graph().as_default():
        x = tf.constant(1)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must be from the same graph"):
            _ = tf.constant(2) * x


def test_tensors_are_numbered_as_they_are_made():
    made = [tf.constant(1), *tf.split(tf.zeros([4]), 2), tf.placeholder(tf.float32)]
    assert sorted(made, key=lambda tensor: tensor._id) == made
    assert len({tensor._id for tensor in made}) == len(made)


def test_tracebacks_begin_in_the_program_under_the_launcher(tmp_path):
    (tmp_path / "program.py").write_text("""\
import tensorflow as tf
def make():
    return tf.constant(1).op
print([frame[1:3] for frame in make().traceback][:2])
print([frame[1:3] for frame in make().traceback_with_start_lines][:2])
""")
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", str(tmp_path / "program.py")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line, text in zip((4, 5), done.stdout.splitlines(), strict=True):
        assert text == f"[({line}, '<module>'), (3, 'make')]"
