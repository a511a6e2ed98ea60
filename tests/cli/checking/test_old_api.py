"""Signs of TensorFlow 0.x in a source."""

from __future__ import annotations

import ast
import json

import pytest

from stillflow.cli.checking.old_api import signs


def found(line):
    tree = ast.parse(f"import tensorflow as tf\n{line}\n")
    return [sign.name for sign in signs(tree)]


@pytest.mark.parametrize(
    "line, name",
    [
        ("tf.pack([1, 2])", "tf.pack"),
        ("f = tf.train.SummaryWriter", "tf.train.SummaryWriter"),
        ("tf.nn.seq2seq.rnn_decoder(a, b, c)", "tf.nn.seq2seq.rnn_decoder"),
        ("from tensorflow.models.rnn import rnn", "tensorflow.models.rnn.rnn"),
        ("tf.concat(-1, x)", "tf.concat"),
        ("tf.concat(concat_dim=1, values=x)", "tf.concat"),
        ("tf.split(1, n, x)", "tf.split"),
        ("tf.reverse(x, [False, True])", "tf.reverse"),
        ("tf.SparseTensor(a, b, shape=c)", "tf.SparseTensor"),
        ("tf.nn.rnn_cell.GRUCell(3, input_size=4)", "tf.nn.rnn_cell.GRUCell"),
        ("tf.image.resize_images(x, 28, 28)", "tf.image.resize_images"),
        ("tf.image.resize_images(x, h, w, 1)", "tf.image.resize_images"),
        ("tf.nn.sigmoid_cross_entropy_with_logits(x, targets=y)",
         "tf.nn.sigmoid_cross_entropy_with_logits"),
        ("F = tf.app.flags.FLAGS; F.__flags", "tf.app.flags.FLAGS.__flags"),
    ],
)  # fmt: skip
def test_lines_of_before_1_0(line, name):
    assert found(line) == [name]


@pytest.mark.parametrize(
    "line",
    [
        "tf.concat([a, b], 1)",
        "tf.concat(values=x, axis=1)",
        "tf.split(x, 2, 1)",
        "tf.split(x, num_or_size_splits=2, axis=1)",
        "tf.reverse(x, [0, 1])",
        "tf.SparseTensor(a, b, c)",
        "tf.nn.rnn_cell.GRUCell(3)",
        "tf.image.resize_images(x, [28, 28])",
        "tf.image.resize_images(x, size, 1)",
        "tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y)",
        "tf.initialize_all_variables()",
        "from tensorflow.python.ops import rnn_cell",
        "try:\n    tf.pack\nexcept AttributeError:\n    pass",
        "mul(1, 2)",
    ],
)
def test_lines_that_1_15_reads(line):
    assert found(line) == []


def test_check_says_so_beforehand(launcher):
    launcher.write("a.py", "import tensorflow as tf\n\nx = tf.concat(0, [[1], [2]])\n")
    done = launcher.run("check", "a.py")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        "written for TensorFlow 0.x, run it with `python -m stillflow --tf0`:",
        "  tf.concat  a.py:3",
    ]
    report = json.loads(launcher.run("check", "--json", "a.py").stdout)
    assert report["tf0"] == [{"name": "tf.concat", "place": "a.py:3"}]
