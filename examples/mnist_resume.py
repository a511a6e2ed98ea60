"""Trains in sittings: every call goes on where the last one stopped, and logs for TensorBoard.

    python -m stillflow examples/mnist_resume.py --folder out/demo --epochs 3
    python -m stillflow examples/mnist_resume.py --folder out/demo --epochs 3
    python -m stillflow tensorboard --logdir out/demo
"""

from __future__ import print_function

import os

import digits
import mnist_cnn
import numpy as np
import tensorflow as tf
from tensorflow.contrib.tensorboard.plugins import projector

tf.app.flags.DEFINE_string("folder", "mnist", "Where checkpoints and logs are kept.")
FLAGS = tf.app.flags.FLAGS
SHOWN = 400  # digits in the projector


def build():
    """Return the network of mnist_cnn.py, with the names that mnist_freeze.py asks for."""
    x = tf.placeholder(tf.float32, [None, 784], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")
    logits = mnist_cnn.model(x, keep_prob)
    guess = tf.argmax(logits, 1, name="guess")
    with tf.name_scope("training"):
        step = tf.train.get_or_create_global_step()
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(guess, y), tf.float32))
    tf.summary.scalar("loss", loss)
    for variable in tf.trainable_variables():
        tf.summary.histogram(variable.op.name, variable)
    tf.summary.image("digits", tf.reshape(x, [-1, 28, 28, 1]))
    return x, y, keep_prob, step, train, accuracy


def show_digits(session, writer, x, images, labels):
    """Write the last hidden layer's output for some digits, for TensorBoard's projector."""
    hidden = tf.get_default_graph().get_tensor_by_name("Relu:0")
    side = int(np.sqrt(SHOWN))
    sheet = images[:SHOWN].reshape(side, side, 28, 28).transpose(0, 2, 1, 3)
    png = tf.image.encode_png((255 * (1 - sheet)).reshape(28 * side, 28 * side, 1).astype(np.uint8))
    table = tf.Variable(session.run(hidden, {x: images[:SHOWN]}), trainable=False, name="hidden")
    session.run(table.initializer)
    tf.train.Saver([table]).save(session, os.path.join(FLAGS.folder, "hidden.ckpt"),
                                 latest_filename="hidden")
    with open(os.path.join(FLAGS.folder, "digits.png"), "wb") as file:
        file.write(session.run(png))
    with open(os.path.join(FLAGS.folder, "digits.tsv"), "w") as file:
        file.write("".join("%d\n" % label for label in labels[:SHOWN]))
    config = projector.ProjectorConfig()
    config.model_checkpoint_path = os.path.abspath(os.path.join(FLAGS.folder, "hidden.ckpt"))
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = table.name, "digits.tsv"
    embedding.sprite.image_path = "digits.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(writer, config)


def main(_):
    (train_images, train_labels), (test_images, test_labels) = digits.load()
    tf.set_random_seed(1)
    x, y, keep_prob, step, train, accuracy = build()
    merged = tf.summary.merge_all()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        checkpoint = tf.train.latest_checkpoint(FLAGS.folder)
        if checkpoint:
            saver.restore(sess, checkpoint)
            print("going on from", os.path.basename(checkpoint))
        done = sess.run(step)
        random = np.random.RandomState(done)
        writer = tf.summary.FileWriter(FLAGS.folder, sess.graph)
        for _ in range(FLAGS.epochs):
            for images, labels in digits.batches(
                    train_images, train_labels, FLAGS.batch_size, random):
                feed = {x: images, y: labels, keep_prob: FLAGS.keep_prob}
                summary, now, _ = sess.run([merged, step, train], feed)
                if now % 10 == 0:
                    writer.add_summary(summary, now)
            value = sess.run(accuracy, {x: test_images, y: test_labels})
            now = sess.run(step)
            writer.add_summary(tf.Summary(
                value=[tf.Summary.Value(tag="test_accuracy", simple_value=value)]), now)
            saver.save(sess, os.path.join(FLAGS.folder, "model.ckpt"), global_step=now)
            print("step %4d  test accuracy %.4f" % (now, value))
        trace = tf.RunMetadata()
        sess.run(train, feed, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), trace)
        writer.add_run_metadata(trace, "step %d" % now)
        show_digits(sess, writer, x, test_images, test_labels)
        writer.close()


if __name__ == "__main__":
    tf.app.run()
