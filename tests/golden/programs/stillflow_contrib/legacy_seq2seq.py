"""The older sequence-to-sequence models, unrolled over time."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program


def symbols(tf, count, offset=0):
    """Placeholders for symbols, and what to feed them."""
    holders = [tf.placeholder(tf.int32, [2]) for _ in range(count)]
    return holders, {h: [(i + offset) % 5, (2 * i + 1) % 5] for i, h in enumerate(holders)}


def trained(tf, outputs, state, feeds):
    gradients = tf.gradients([tf.reduce_sum(o * o) for o in outputs], tf.trainable_variables())
    dense = [tf.convert_to_tensor(g) for g in gradients if g is not None]
    facts = {"variables": [f"{v.name} {v.shape}" for v in tf.global_variables()]}
    flat = tf.contrib.framework.nest.flatten(state)
    return Run({"outputs": outputs, "state": flat, "gradients": dense}, feeds,
               setup=[tf.global_variables_initializer()], facts=facts)


@program
def basic(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [2, 3, 2])
    parts = tf.unstack(x, axis=1)
    outputs, state = tf.contrib.legacy_seq2seq.basic_rnn_seq2seq(
        parts, parts[:2], tf.nn.rnn_cell.GRUCell(3))
    return trained(tf, outputs, state, {x: wave(2, 3, 2)})


@program
def tied(tf):
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [2, 3, 2])
    parts = tf.unstack(x, axis=1)
    outputs, state = tf.contrib.legacy_seq2seq.tied_rnn_seq2seq(
        parts, parts[:2], tf.nn.rnn_cell.BasicLSTMCell(2), loop_function=lambda y, i: y * 0.5)
    return trained(tf, outputs, state, {x: wave(2, 3, 2)})


@program
def embedded(tf):
    tf.set_random_seed(3)
    encoder, feeds = symbols(tf, 3)
    decoder, more = symbols(tf, 2, 1)
    feeds.update(more)
    outputs, state = tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(
        encoder, decoder, tf.nn.rnn_cell.BasicLSTMCell(3), 5, 6, 2)
    return trained(tf, outputs, state, feeds)


@program
def embedded_either_way(tf):
    tf.set_random_seed(4)
    encoder, feeds = symbols(tf, 3)
    decoder, more = symbols(tf, 2, 1)
    feeds.update(more)
    previous = tf.placeholder(tf.bool, [])
    feeds[previous] = True
    outputs, state = tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(
        encoder, decoder, tf.nn.rnn_cell.GRUCell(3), 5, 6, 2, feed_previous=previous)
    fed = dict(feeds)
    fed[previous] = False
    return Run({"outputs": outputs, "state": state}, [feeds, fed], steps=2,
               setup=[tf.global_variables_initializer()])


@program
def attentive(tf):
    tf.set_random_seed(5)
    encoder, feeds = symbols(tf, 3)
    decoder, more = symbols(tf, 3, 1)
    feeds.update(more)
    outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(
        encoder, decoder, tf.nn.rnn_cell.BasicLSTMCell(3), 5, 6, 2, num_heads=2,
        initial_state_attention=True)
    return trained(tf, outputs, state, feeds)


@program
def attentive_on_its_own_outputs(tf):
    tf.set_random_seed(6)
    encoder, feeds = symbols(tf, 3)
    decoder, more = symbols(tf, 3, 1)
    feeds.update(more)
    projection = (tf.get_variable("w", [3, 6]), tf.get_variable("b", [6]))
    outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(
        encoder, decoder, tf.nn.rnn_cell.GRUCell(3), 5, 6, 2, output_projection=projection,
        feed_previous=True)
    return trained(tf, outputs, state, feeds)


@program
def buckets(tf):
    tf.set_random_seed(7)
    library = tf.contrib.legacy_seq2seq
    encoder, feeds = symbols(tf, 3)
    decoder, more = symbols(tf, 3, 1)
    feeds.update(more)
    weights = [tf.constant([1.0, 0.5]) for _ in decoder]
    _, losses = library.model_with_buckets(
        encoder, decoder, decoder, weights, [(2, 1), (3, 3)],
        lambda x, y: library.embedding_rnn_seq2seq(x, y, tf.nn.rnn_cell.GRUCell(3), 5, 5, 2))
    return Run({"losses": losses}, feeds, setup=[tf.global_variables_initializer()])
