"""Freezes the last checkpoint of mnist_resume.py, and classifies digits without the program.

    python -m stillflow examples/mnist_freeze.py --folder out/demo
"""

from __future__ import print_function

import os

import digits
import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_string("folder", "mnist", "Where the checkpoints are; frozen.pb gets there.")
FLAGS = tf.app.flags.FLAGS


def freeze(path):
    checkpoint = tf.train.latest_checkpoint(FLAGS.folder)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(checkpoint + ".meta")
        saver.restore(sess, checkpoint)
        frozen = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["guess"])
    with tf.gfile.GFile(path, "wb") as file:
        file.write(frozen.SerializeToString())
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
