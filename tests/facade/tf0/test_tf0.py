"""Programs of TensorFlow 0.x, as `python -m stillflow --tf0` runs them."""

from __future__ import annotations

import pytest

NAMES = """
import numpy as np
import tensorflow as tf
from tensorflow.python import control_flow_ops
from tensorflow.python.ops import array_ops

x = tf.constant([[1., 2.], [3., 4.]])
session = tf.Session()
show = lambda *values: print(*(v.tolist() for v in session.run(values)))
show(tf.mul(x, x), tf.sub(x, x), tf.neg(x))
show(tf.inv([[1., 2.], [4., 8.]]))
show(tf.pack([1, 2]), tf.unpack(tf.constant([5, 6]))[1], array_ops.pack([[1], [2]]))
show(tf.concat(0, [[1], [2]]), tf.concat([[1], [2]], 0))
show(tf.split(1, 2, x)[0], tf.split(x, 2, 1)[1])
show(tf.select([True, False], [1, 2], [3, 4]), tf.batch_matmul(x, x, adj_y=True))
show(tf.reverse(x, [True, False]), tf.reverse(x, [1]))
show(tf.reverse(x, tf.constant([True]) & [True, False]))
show(tf.listdiff([1, 2, 3], [2])[0])
show(control_flow_ops.cond(tf.constant(True), lambda: x, lambda: -x))
show(tf.zeros_initializer([2]), tf.ones_initializer()([1]))
show(tf.image.resize_images(x[None, :, :, None], 1, 1))
sparse = tf.SparseTensor(indices=[[0, 1]], values=[5], shape=[1, 2])
show(tf.sparse_tensor_to_dense(sparse)); print(isinstance(sparse, tf.SparseTensor))
array = tf.TensorArray(tf.float32, 2).unpack(x)
show(array.pack())
print(tf.RegisterShape("Mine")(len) is len, tf.python_io.TFRecordWriter.__name__)
"""

LOSSES = """
import tensorflow as tf
logits, labels = tf.constant([[0., 0.]]), tf.constant([[0., 1.]])
losses = [
    tf.nn.softmax_cross_entropy_with_logits(logits, labels),
    tf.nn.sparse_softmax_cross_entropy_with_logits(logits, [1]),
    tf.nn.sigmoid_cross_entropy_with_logits(logits, targets=labels),
    tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
    tf.nn.weighted_cross_entropy_with_logits(logits, labels, 2.),
    tf.nn.nce_loss(tf.zeros([5, 2]), tf.zeros([5]), logits, tf.constant([[1]]), 1, 5),
    tf.nn.seq2seq.sequence_loss([logits], [[1]], [[1.]], softmax_loss_function=
        lambda inputs, labels: tf.nn.sparse_softmax_cross_entropy_with_logits(inputs, labels)),
]
print([round(float(v.sum()), 3) for v in tf.Session().run(losses[:5] + losses[6:])])
"""

TRAINING = """
import tensorflow as tf
flags = tf.app.flags
flags.DEFINE_integer("steps", 30, "")
FLAGS = flags.FLAGS
FLAGS._parse_flags()
FLAGS.units = 4
print(sorted(FLAGS.__flags.items()))

def main(_):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.variable_scope("net") as scope:
        weights = tf.get_variable("w", [2, FLAGS.units])
        scope.reuse_variables()
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1))
        train = tf.train.AdamOptimizer(.1).minimize(loss)
    tf.scalar_summary("the loss", loss)
    tf.histogram_summary("w", weights)
    summaries = tf.merge_all_summaries()
    with tf.Session() as session:
        session.run(tf.initialize_all_variables())
        writer = tf.train.SummaryWriter("logs", session.graph)
        for step in range(FLAGS.steps):
            value, summary, _ = session.run([loss, summaries, train], {x: [[1, 2], [2, 1]]})
            writer.add_summary(summary, step)
        writer.close()
    parsed = tf.Summary.FromString(summary)
    print([value.tag for value in parsed.value], value < 1e-2)

if __name__ == "__main__":
    tf.app.run()
"""


def test_names_and_orders(launcher):
    launcher.write("program.py", NAMES)
    done = launcher.run("--tf0", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[[1.0, 4.0], [9.0, 16.0]] [[0.0, 0.0], [0.0, 0.0]] [[-1.0, -2.0], [-3.0, -4.0]]",
        "[[1.0, 0.5], [0.25, 0.125]]",
        "[1, 2] 6 [[1], [2]]",
        "[1, 2] [1, 2]",
        "[[1.0], [3.0]] [[2.0], [4.0]]",
        "[1, 4] [[5.0, 11.0], [11.0, 25.0]]",
        "[[3.0, 4.0], [1.0, 2.0]] [[2.0, 1.0], [4.0, 3.0]]",
        "[[3.0, 4.0], [1.0, 2.0]]",
        "[1, 3]",
        "[[1.0, 2.0], [3.0, 4.0]]",
        "[0.0, 0.0] [1.0]",
        "[[[[1.0]]]]",
        "[[0, 5]]",
        "True",
        "[[1.0, 2.0], [3.0, 4.0]]",
        "True TFRecordWriter",
    ]


def test_losses_by_position(launcher):
    launcher.write("program.py", LOSSES)
    done = launcher.run("--tf0", "program.py")
    assert done.stdout == "[0.693, 0.693, 1.386, 1.386, 2.079, 0.693]\n", done.stderr


def test_training_with_flags_and_summaries_gives_no_notices(launcher):
    launcher.write("program.py", TRAINING)
    done = launcher.run("--tf0", "program.py", "--steps=60")
    assert done.stdout.splitlines() == [
        "[('steps', 60), ('units', 4)]",
        "['the loss', 'w'] True",
    ], done.stderr
    assert "deprecated" not in done.stderr


def test_cells_and_networks_are_found_where_they_were(launcher):
    launcher.write(
        "program.py",
        """
        import tensorflow as tf
        from tensorflow.models.rnn import rnn, rnn_cell, seq2seq
        from tensorflow.models.rnn.ptb import reader
        from tensorflow.python.ops.rnn_cell import _linear
        print(rnn_cell.LSTMCell is tf.nn.rnn_cell.LSTMCell, rnn.rnn is tf.nn.rnn)
        print(rnn_cell.linear is _linear, seq2seq.sequence_loss is tf.nn.seq2seq.sequence_loss)
        print([step[0].tolist() for step in reader.ptb_iterator(range(9), 2, 2)])
        print(rnn_cell.BasicLSTMCell(3).state_size)
        """,
    )
    done = launcher.run("--tf0=0.9", "program.py")
    assert done.stdout.splitlines() == ["True True", "True True", "[[[0, 1], [4, 5]]]", "6"], (
        done.stderr
    )


def test_an_unknown_version_is_told(launcher):
    done = launcher.run("--tf0=1.4", "program.py")
    assert done.returncode == 2 and "give a version from 0.5 to 0.12" in done.stderr


@pytest.mark.parametrize(
    "line, name",
    [
        ("tf.mul(1., 2.)", "tf.mul"),
        ("tf.concat(0, [[1.], [2.]])", "tf.concat"),
        ("tf.split(\n    0, 2, tf.zeros([4, 4]))", "tf.split"),
        ("tf.nn.softmax_cross_entropy_with_logits([[1.]], [[1.]])", "tf.nn.softmax_cross"),
        ("tf.flags.FLAGS._parse_flags()", "tf.flags.FLAGS._parse_flags"),
    ],
)
def test_an_error_that_0x_would_not_give_offers_the_option(launcher, line, name):
    launcher.write("program.py", f"import tensorflow as tf\n{line}\n")
    done = launcher.run("program.py")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"stillflow: {name}")
    assert last.endswith("line 2, is that of TensorFlow 0.x: python -m stillflow --tf0 program.py")


def test_other_errors_offer_nothing(launcher):
    launcher.write("program.py", "import tensorflow as tf\nx = tf.concat([[1], [2]], 0)\n1 / 0\n")
    assert "--tf0" not in launcher.run("program.py").stderr
