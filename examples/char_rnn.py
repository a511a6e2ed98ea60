"""A character-level LSTM that learns to write Python from the standard library's own sources.

    python -m stillflow examples/char_rnn.py
    python -m stillflow examples/char_rnn.py --text shakespeare.txt --steps 2000 --save /tmp/rnn
"""

from __future__ import division, print_function

import argparse
import glob
import io
import os

import numpy as np
import tensorflow as tf


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", help="a file to learn from instead of the standard library")
    parser.add_argument("--steps", type=int, default=600, help="training steps")
    parser.add_argument("--batch", type=int, default=32, help="streams of text side by side")
    parser.add_argument("--length", type=int, default=40, help="characters per training step")
    parser.add_argument("--units", type=int, default=128, help="units of each layer")
    parser.add_argument("--layers", type=int, default=2, help="LSTM layers")
    parser.add_argument("--rate", type=float, default=0.002, help="learning rate of Adam")
    parser.add_argument("--clip", type=float, default=5.0, help="largest norm of all gradients")
    parser.add_argument("--seed", type=int, default=7, help="seed of weights and samples")
    parser.add_argument("--every", type=int, default=50, help="steps between lines of progress")
    parser.add_argument("--sample", type=int, default=400, help="characters to write at the end")
    parser.add_argument("--start", default="def ", help="how the sample begins")
    parser.add_argument("--temperature", type=float, default=0.6, help="how daring samples are")
    parser.add_argument("--save", help="prefix of a checkpoint to write")
    parser.add_argument("--restore", help="prefix of a checkpoint to start from")
    return parser.parse_args()


def read(path):
    with io.open(path, encoding="utf-8", errors="ignore") as source:
        return source.read()


def standard_library(limit=1 << 20):
    """Return the beginning of the standard library's modules, in the order of their names."""
    paths = glob.glob(os.path.join(os.path.dirname(os.__file__), "[a-z]*.py"))
    return "".join(read(path) for path in sorted(paths))[:limit]


def streams(data, batch, length):
    """Endless pairs of inputs and targets; row i goes on where row i of the last pair ended."""
    rows = data[: len(data) // batch * batch].reshape(batch, -1)
    while True:
        for start in range(0, rows.shape[1] - length, length):
            yield start == 0, rows[:, start:start + length], rows[:, start + 1:start + length + 1]


class Model(object):
    """An LSTM over characters; its state goes in as feeds and comes out as fetches."""

    def __init__(self, options, size, batch):
        self.inputs = tf.placeholder(tf.int32, [batch, None], name="inputs")
        self.targets = tf.placeholder(tf.int32, [batch, None], name="targets")
        embedding = tf.get_variable("embedding", [size, options.units])
        cell = tf.nn.rnn_cell.MultiRNNCell(
            [tf.nn.rnn_cell.BasicLSTMCell(options.units) for _ in range(options.layers)])
        self.start = cell.zero_state(batch, tf.float32)
        outputs, self.end = tf.nn.dynamic_rnn(
            cell, tf.nn.embedding_lookup(embedding, self.inputs), initial_state=self.start)
        logits = tf.layers.dense(outputs, size, name="logits")
        self.next = tf.nn.softmax(logits[:, -1] / options.temperature)
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=self.targets, logits=logits))


def train(sess, options, model, step, data):
    total, count, state = 0.0, 0, None
    batches = streams(data, options.batch, options.length)
    for number in range(1, options.steps + 1):
        begins, inputs, targets = next(batches)
        feed = {model.inputs: inputs, model.targets: targets}
        if not begins:
            feed[model.start] = state
        loss, state, _ = sess.run([model.loss, model.end, step], feed)
        total, count = total + loss, count + 1
        if number % options.every == 0 or number == options.steps:
            print("step %5d  loss %.5f" % (number, total / count))
            total, count = 0.0, 0


def write(sess, options, model, characters):
    """Return a text drawn character by character."""
    random = np.random.RandomState(options.seed)
    numbers = {character: number for number, character in enumerate(characters)}
    text, state = options.start, None
    given = [numbers.get(character, 0) for character in text]
    for _ in range(options.sample):
        feed = {model.inputs: [given]}
        if state is not None:
            feed[model.start] = state
        state, chances = sess.run([model.end, model.next], feed)
        given = [int(np.searchsorted(np.cumsum(chances[0]), random.rand() * chances[0].sum()))]
        text += characters[given[0]]
    return text


def main():
    options = parse()
    text = read(options.text) if options.text else standard_library()
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    data = np.array([numbers[character] for character in text], np.int32)
    if len(data) < options.batch * (options.length + 1):
        raise SystemExit("the text is too short for this --batch and --length")
    print("%d characters, %d of them different" % (len(data), len(characters)))

    tf.set_random_seed(options.seed)
    with tf.variable_scope("model", initializer=tf.glorot_uniform_initializer()):
        model = Model(options, len(characters), options.batch)
    with tf.variable_scope("model", reuse=True):
        writer = Model(options, len(characters), 1)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(model.loss, variables), options.clip)
    step = tf.train.AdamOptimizer(options.rate).apply_gradients(zip(gradients, variables))
    saver = tf.train.Saver(variables)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        if options.restore:
            saver.restore(sess, options.restore)
        train(sess, options, model, step, data)
        if options.save:
            print("saved as %s" % saver.save(sess, options.save))
        if options.sample:
            print(write(sess, options, writer, characters))


if __name__ == "__main__":
    main()
