"""The tools of tensorflow.python.tools: functions and command lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow import __main__ as command_line
from stillflow import errors
from stillflow.tools import (
    freeze_graph,
    import_pb_to_tensorboard,
    inspect_checkpoint,
    optimize_for_inference,
    optimize_for_inference_lib,
    strip_unused,
    strip_unused_lib,
)

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

X = np.array([[1.0, 2.0]], np.float32)


@pytest.fixture
def model(tmp_path):
    """Return a trained linear layer: a checkpoint and its graph.

    Gives the folder and what it answers.
    """
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[2.0], [3.0]])
        b = tf.get_variable("b", initializer=[1.0])
        tf.add(tf.matmul(x, w), b, name="out")
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, str(tmp_path / "model"))
            tf.train.write_graph(sess.graph, str(tmp_path), "graph.pbtxt")
            tf.train.write_graph(sess.graph, str(tmp_path), "graph.pb", as_text=False)
    return tmp_path


def answer(graph_def, feeds=(("x:0", X),), fetch="out:0"):
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as sess:
            return sess.run(fetch, dict(feeds))


def read_graph(path):
    return tf.GraphDef.FromString(path.read_bytes())


@pytest.mark.parametrize("source", [
    ["--input_graph={}/graph.pbtxt"], ["--input_graph={}/graph.pb", "--input_binary"],
    ["--input_meta_graph={}/model.meta", "--input_binary=true"],
])
def test_freezing(model, source):
    status = freeze_graph.main([
        *(option.format(model) for option in source), f"--input_checkpoint={model}/model",
        f"--output_graph={model}/frozen.pb", "--output_node_names=out",
    ])
    assert status == 0
    frozen = read_graph(model / "frozen.pb")
    assert {node.op for node in frozen.node} == {
        "Const", "Placeholder", "MatMul", "Add", "Identity"}
    assert answer(frozen).tolist() == [[9.0]]


def test_freezing_by_the_program_s_own_command_line(model, monkeypatch):
    options = [
        f"--input_graph={model}/graph.pb", "--input_binary", f"--input_checkpoint={model}/model",
        f"--output_graph={model}/frozen.pb", "--output_node_names=out",
    ]
    monkeypatch.setattr(sys, "argv", ["wrapper.py", *options])
    with pytest.raises(SystemExit) as ended:
        freeze_graph.run_main()
    assert not ended.value.code
    assert answer(read_graph(model / "frozen.pb")).tolist() == [[9.0]]


def test_freezing_some_variables_only(model):
    frozen = freeze_graph.freeze_graph(
        f"{model}/graph.pb", "", True, f"{model}/model", "out", "", "", "", True, "",
        variable_names_blacklist="b")
    assert [node.name for node in frozen.node if node.op == "VariableV2"] == ["b"]


def test_what_cannot_be_frozen(model):
    def freeze(**changes):
        given = {"input_graph": f"{model}/graph.pb", "input_checkpoint": f"{model}/model",
                 "output_node_names": "out", **changes}
        with tf.Graph().as_default():
            return freeze_graph.freeze_graph(
                given["input_graph"], "", True, given["input_checkpoint"],
                given["output_node_names"], "", "", f"{model}/frozen.pb", True, "")

    with pytest.raises(ValueError, match="checkpoint '/no' doesn't exist!"):
        freeze(input_checkpoint="/no")
    with pytest.raises(ValueError, match="supply the name of a node to --output_node_names"):
        freeze(output_node_names="")
    with pytest.raises(OSError, match="Input graph file '/no' does not exist!"):
        freeze(input_graph="/no")
    with pytest.raises(errors.InvalidArgumentError, match="is no GraphDef in serialized form"):
        freeze(input_graph=f"{model}/graph.pbtxt")
    freeze()
    with pytest.raises(ValueError, match="You cannot freeze a graph twice"):
        freeze(input_graph=f"{model}/frozen.pb")


def linear(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    hidden = tf.identity(tf.matmul(x, tf.constant([[2.0], [3.0]])), name="hidden")
    tf.add(hidden, 1.0, name="out")
    tf.multiply(hidden, 2.0, name="unused")
    return tf.get_default_graph().as_graph_def()


def test_stripping(tmp_path, capsys):
    tf.train.write_graph(linear(tf), str(tmp_path), "graph.pbtxt")
    status = strip_unused.main([
        f"--input_graph={tmp_path}/graph.pbtxt", f"--output_graph={tmp_path}/out.pb",
        "--input_node_names=hidden", "--output_node_names=out",
    ])
    assert status == 0
    assert capsys.readouterr().out == "3 ops in the final graph.\n"
    stripped = read_graph(tmp_path / "out.pb")
    assert [(node.name, node.op) for node in stripped.node] == [
        ("hidden", "Placeholder"), ("out/y", "Const"), ("out", "Add")]
    assert answer(stripped, [("hidden:0", [5.0])]).tolist() == [6.0]


def test_what_cannot_be_stripped(tmp_path, capsys):
    graph_def = linear(tf)
    with pytest.raises(KeyError, match=r"input nodes were not found: \{'no'\}"):
        strip_unused_lib.strip_unused(graph_def, ["no"], ["out"], 1)
    with pytest.raises(ValueError, match="'hidden:0' appears to refer to a Tensor"):
        strip_unused_lib.strip_unused(graph_def, ["hidden:0"], ["out"], 1)
    assert strip_unused.main([f"--input_graph={tmp_path}/no"]) == 1
    assert "does not exist!" in capsys.readouterr().out


@pytest.mark.parametrize("depthwise", [False, True])
def test_folding_batch_norms(tmp_path, depthwise):
    noise = np.random.RandomState(0)
    images = noise.rand(1, 5, 5, 3).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 5, 5, 3], name="x")
    filters = tf.constant(noise.rand(2, 2, 3, 2), tf.float32)
    if depthwise:
        conv = tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")
    else:
        conv = tf.nn.conv2d(x, filters, [1, 1, 1, 1], "SAME")
    channels = conv.shape.as_list()[3]
    scale, offset, mean, variance = (
        tf.constant(noise.rand(channels) + 0.5, tf.float32) for _ in range(4))
    normal, _, _ = tf.nn.fused_batch_norm(
        conv, scale, offset, mean, variance, is_training=False, epsilon=0.01)
    tf.nn.relu(normal, name="out")
    graph_def = tf.get_default_graph().as_graph_def()
    for node in graph_def.node:  # graphs of that time have the first version of the op
        if node.op == "FusedBatchNormV3":
            node.op = "FusedBatchNorm"
            del node.attr["U"]
    (tmp_path / "in.pb").write_bytes(graph_def.SerializeToString())
    assert optimize_for_inference.main([
        f"--input={tmp_path}/in.pb", f"--output={tmp_path}/out.pb", "--input_names=x",
        "--output_names=out",
    ]) == 0
    optimized = read_graph(tmp_path / "out.pb")
    assert "FusedBatchNorm" not in {node.op for node in optimized.node}
    assert "BiasAdd" in {node.op for node in optimized.node}
    before, after = (answer(each, [("x:0", images)]) for each in (graph_def, optimized))
    np.testing.assert_allclose(before, after, rtol=1e-5)


def test_fusing_resizing_and_padding_with_a_convolution():
    def node(name, op, *inputs):
        return tf.NodeDef(name=name, op=op, input=inputs)

    nodes = [node("x", "Placeholder"), node("size", "Const"), node("pads", "Const"),
             node("filter", "Const"), node("resize", "ResizeBilinear", "x", "size"),
             node("pad", "MirrorPad", "resize", "pads"), node("conv", "Conv2D", "pad", "filter"),
             node("resized", "Conv2D", "resize", "filter"), node("out", "Add", "conv", "resized")]
    fused = optimize_for_inference_lib.fuse_resize_and_conv(tf.GraphDef(node=nodes), ["out"])
    found = {each.name: (each.op, list(each.input)) for each in fused.node}
    assert found["conv"] == ("FusedResizeAndPadConv2D", ["x", "size", "pads", "filter"])
    assert found["resized"] == (
        "FusedResizeAndPadConv2D", ["x", "size", "resized_dummy_paddings", "filter"])
    assert "pad" not in found


def test_graphs_that_are_not_well_formed_are_refused():
    check = optimize_for_inference_lib.ensure_graph_is_valid
    one = tf.NodeDef(name="a", op="Const")
    with pytest.raises(ValueError, match="Duplicate node names"):
        check(tf.GraphDef(node=[one, one]))
    with pytest.raises(ValueError, match="not found"):
        check(tf.GraphDef(node=[tf.NodeDef(name="a", op="Identity", input=["b"])]))


def test_a_graph_is_written_for_tensorboard(model, capsys):
    assert import_pb_to_tensorboard.main(
        [f"--model_dir={model}/graph.pb", f"--log_dir={model}/logs"]) == 0
    [path] = (model / "logs").iterdir()
    graph = [event.graph_def for event in tf.train.summary_iterator(str(path))][1]
    names = {node.name for node in tf.GraphDef.FromString(graph).node}
    assert names == {node.name for node in read_graph(model / "graph.pb").node}
    assert "tensorboard --logdir=" in capsys.readouterr().out


def test_a_checkpoint_is_printed(model, capsys):
    assert inspect_checkpoint.main([f"--file_name={model}/model"]) == 0
    assert capsys.readouterr().out == (
        "b (DT_FLOAT) [1]\nw (DT_FLOAT) [2,1]\n\n# Total number of params: 3\n")
    inspect_checkpoint.main([f"--file_name={model}/model", "--tensor_name=b"])
    assert capsys.readouterr().out == (
        "tensor_name:  b\n[1.]\n# Total number of params: 3\n")
    inspect_checkpoint.main([
        f"--file_name={model}/model", "--all_tensor_names", "--count_exclude_pattern=^b"])
    assert capsys.readouterr().out == (
        "tensor_name:  b\ntensor_name:  w\n"
        "# Excluding 1 tensors (1 params) that match ^b when counting.\n"
        "# Total number of params: 2\n")
    inspect_checkpoint.main([f"--file_name={model}/model.index"])
    assert f"--file_name={model}/model\n" in capsys.readouterr().out
    assert inspect_checkpoint.main([]) == 1


@pytest.mark.parametrize("command", [
    ["-m", "tensorflow.python.tools.strip_unused"], ["strip_unused"],
])
def test_tools_are_modules_and_commands(tmp_path, command):
    tf.train.write_graph(linear(tf), str(tmp_path), "graph.pbtxt")
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", *command, f"--input_graph={tmp_path}/graph.pbtxt",
         f"--output_graph={tmp_path}/out.pb", "--input_node_names=hidden",
         "--output_node_names=out"],
        capture_output=True, text=True, timeout=60,
        env={"PYTHONPATH": str(Path(tf.__file__).parents[1]), "PATH": ""},
    )
    assert (done.returncode, done.stdout) == (0, "3 ops in the final graph.\n"), done.stderr
    assert (tmp_path / "out.pb").exists()


@pytest.mark.parametrize("arguments, said", [
    (["freeze_graph"], "Input checkpoint '' doesn't exist!"),
    (["freeze_graph", "--input_graph=missing.pb"], "Input graph file 'missing.pb' does not exist!"),
    (["strip_unused", "--input_graph=graph.pb", "--output_node_names=out"],
     "; it is one in serialized form"),
    (["strip_unused", "--input_graph=graph.pb", "--input_binary", "--input_node_names=nothing",
      "--output_node_names=out"], "The following input nodes were not found: {'nothing'}"),
    (["strip_unused", "--input_graph=graph.pb", "--input_binary", "--input_node_names=hidden",
      "--output_node_names=nothing"], "nothing is not in graph"),
    (["strip_unused", "--input_graph=cut.pb", "--input_binary", "--output_node_names=out"],
     "; it is the beginning of a serialized one, the rest is cut off"),
    (["saved_model_cli", "show", "--dir", "."], "SavedModel file does not exist at: ."),
])  # fmt: skip
def test_as_commands_they_say_in_a_sentence_what_is_wrong(
    tmp_path, monkeypatch, capsys, arguments, said
):
    monkeypatch.chdir(tmp_path)
    serialized = linear(tf).SerializeToString()
    Path("graph.pb").write_bytes(serialized)
    Path("cut.pb").write_bytes(serialized[:-30])
    assert command_line.main(arguments) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"{arguments[0]}: ") and last.endswith(said)
