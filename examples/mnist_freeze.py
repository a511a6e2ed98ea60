"""Freezes the last checkpoint of mnist_resume.py, and classifies digits without the program.

    python -m stillflow examples/mnist_freeze.py --folder out/demo
"""

from __future__ import print_function

import os

import digits
import numpy as np
import tensorflow as tf
from tensorflow.python.tools import freeze_graph

tf.app.flags.DEFINE_string("folder", "mnist", "Where the checkpoints are; frozen.pb gets there.")
FLAGS = tf.app.flags.FLAGS


def freeze(path):
    checkpoint = tf.train.latest_checkpoint(FLAGS.folder)
    frozen = freeze_graph.freeze_graph(
        input_graph="", input_saver="", input_binary=True, input_checkpoint=checkpoint,
        output_node_names="guess", restore_op_name="", filename_tensor_name="", output_graph=path,
        clear_devices=True, initializer_nodes="", input_meta_graph=checkpoint + ".meta")
    print("%s: %d nodes, no variables" % (os.path.basename(path), len(frozen.node)))


def guess(path, images):
    graph_def = tf.GraphDef()
    with tf.gfile.GFile(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    with tf.Graph().as_default(), tf.Session() as sess:
        found, = tf.import_graph_def(graph_def, return_elements=["guess:0"], name="")
        return sess.run(found, {"images:0": images})


def main(_):
    path = os.path.join(FLAGS.folder, "frozen.pb")
    freeze(path)
    _, (images, labels) = digits.load()
    print("test accuracy of the file %.4f" % np.mean(guess(path, images) == labels))


if __name__ == "__main__":
    tf.app.run()
