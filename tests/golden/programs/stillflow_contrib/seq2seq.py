"""Sequence-to-sequence models: attention, helpers, decoders, beam search, losses."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def memory(tf):
    values = tf.placeholder(tf.float32, [2, 5, 4])
    lengths = tf.placeholder(tf.int32, [2])
    return values, lengths, {values: wave(2, 5, 4), lengths: [5, 3]}


def attentive(tf, make, helper=None, **options):
    """Return a decoder with attention, trained on known inputs; gradients of its loss."""
    tf.set_random_seed(11)
    contrib = tf.contrib.seq2seq
    values, lengths, feeds = memory(tf)
    cell = contrib.AttentionWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3), make(values, lengths), **options)
    x = tf.placeholder(tf.float32, [2, None, 2])
    n = tf.placeholder(tf.int32, [2])
    decoder = contrib.BasicDecoder(
        cell, contrib.TrainingHelper(x, n), cell.zero_state(2, tf.float32),
        output_layer=tf.layers.Dense(6))
    outputs, state, final = contrib.dynamic_decode(decoder, impute_finished=True)
    targets = tf.placeholder(tf.int32, [2, None])
    weights = tf.sequence_mask(n, dtype=tf.float32)
    loss = contrib.sequence_loss(outputs.rnn_output, targets, weights)
    gradients = [g for g in tf.gradients(loss, tf.trainable_variables()) if g is not None]
    feeds.update({x: wave(2, 4, 2), n: [4, 2], targets: [[1, 2, 3, 4], [5, 0, 0, 0]]})
    fetches = {"outputs": list(outputs), "lengths": final, "loss": loss, "gradients": gradients,
               "alignments": state.alignments}
    facts = {"variables": [f"{v.name} {v.shape}" for v in tf.global_variables()]}
    return Run(fetches, feeds, setup=[tf.global_variables_initializer()], facts=facts)


@program
def bahdanau(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.BahdanauAttention(
        3, m, memory_sequence_length=n), attention_layer_size=4)


@program
def bahdanau_normalized(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.BahdanauAttention(
        3, m, memory_sequence_length=n, normalize=True), output_attention=False)


@program
def luong(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.LuongAttention(
        3, m, memory_sequence_length=n), attention_layer_size=3)


@program
def luong_scaled(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.LuongAttention(
        3, m, scale=True, probability_fn=tf.contrib.seq2seq.hardmax), alignment_history=True)


@program
def monotonic_parallel(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.BahdanauMonotonicAttention(
        3, m, memory_sequence_length=n, sigmoid_noise=0.5, sigmoid_noise_seed=2,
        score_bias_init=-0.5), attention_layer_size=3)


@program
def monotonic_recursive(tf):
    return attentive(tf, lambda m, n: tf.contrib.seq2seq.LuongMonotonicAttention(
        3, m, memory_sequence_length=n, scale=True, mode="recursive"))


@program
def two_mechanisms(tf):
    contrib = tf.contrib.seq2seq
    return attentive(tf, lambda m, n: [
        contrib.LuongMonotonicAttention(3, m, mode="hard"),
        contrib.BahdanauAttention(2, m, memory_sequence_length=n)], attention_layer_size=[3, 2])


def inference(tf, make, **options):
    tf.set_random_seed(12)
    contrib = tf.contrib.seq2seq
    embedding = tf.get_variable("embedding", [6, 2])
    cell = tf.nn.rnn_cell.GRUCell(4)
    decoder = contrib.BasicDecoder(
        cell, make(embedding), cell.zero_state(3, tf.float32),
        output_layer=tf.layers.Dense(6, use_bias=False))
    outputs, state, lengths = contrib.dynamic_decode(decoder, maximum_iterations=5, **options)
    return Run({"outputs": list(outputs), "state": state, "lengths": lengths},
               setup=[tf.global_variables_initializer()])


@program
def greedy(tf):
    return inference(tf, lambda e: tf.contrib.seq2seq.GreedyEmbeddingHelper(e, [1, 2, 3], 0))


@program
def sampling(tf):
    return inference(tf, lambda e: tf.contrib.seq2seq.SampleEmbeddingHelper(
        e, [1, 2, 3], 0, softmax_temperature=0.5, seed=4), output_time_major=True)


@program
def own_functions(tf):
    tf.set_random_seed(13)
    contrib = tf.contrib.seq2seq
    cell = tf.nn.rnn_cell.GRUCell(3)
    helper = contrib.CustomHelper(
        lambda: (tf.constant([False, False]), tf.ones([2, 3])),
        lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
        lambda time, outputs, state, sample_ids: (time >= [1, 3], outputs * 2.0, state))
    first = contrib.dynamic_decode(
        contrib.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32)), impute_finished=True)
    inference_helper = contrib.InferenceHelper(
        lambda outputs: outputs, [3], tf.float32, tf.ones([2, 3]),
        lambda sample_ids: tf.reduce_sum(sample_ids, 1) > 10.0)
    second = contrib.dynamic_decode(
        contrib.BasicDecoder(cell, inference_helper, cell.zero_state(2, tf.float32)),
        maximum_iterations=tf.constant(3))
    fetches = {"first": [first[0].rnn_output, first[0].sample_id, first[1], first[2]],
               "second": [second[0].rnn_output, second[1], second[2]]}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def scheduled_outputs(tf):
    tf.set_random_seed(14)
    contrib = tf.contrib.seq2seq
    x = tf.placeholder(tf.float32, [None, None, 3])
    n = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.GRUCell(3)
    helper = contrib.ScheduledOutputTrainingHelper(x, n, 0.5, seed=3)
    decoder = contrib.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, state, lengths = contrib.dynamic_decode(decoder)
    return Run({"outputs": list(outputs), "state": state, "lengths": lengths},
               {x: wave(2, 4, 3), n: [4, 2]}, setup=[tf.global_variables_initializer()])


def beams(tf, attention=True, **options):
    tf.set_random_seed(15)
    contrib, width = tf.contrib.seq2seq, 3
    embedding = tf.get_variable("embedding", [6, 2])
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    feeds = None
    if attention:
        values, lengths, feeds = memory(tf)
        values, lengths = contrib.tile_batch((values, lengths), width)
        mechanism = contrib.LuongAttention(4, values, memory_sequence_length=lengths)
        cell = contrib.AttentionWrapper(
            cell, mechanism, attention_layer_size=4, alignment_history=True)
    decoder = contrib.BeamSearchDecoder(
        cell, embedding, [1, 2], 0, cell.zero_state(2 * width, tf.float32), width,
        output_layer=tf.layers.Dense(
            6, kernel_initializer=tf.random_normal_initializer(stddev=2.0, seed=1)), **options)
    outputs, state, lengths = contrib.dynamic_decode(decoder, maximum_iterations=5)
    fetches = {"ids": outputs.predicted_ids, "lengths": lengths, "log_probs": state.log_probs,
               "steps": list(outputs.beam_search_decoder_output)}
    if attention:
        fetches["history"] = state.cell_state.alignment_history.stack()
    return Run(fetches, feeds, setup=[tf.global_variables_initializer()])


@program
def beam_search(tf):
    return beams(tf, attention=False)


@program
def beam_search_with_attention(tf):
    return beams(tf)


@program
def beam_search_with_penalties(tf):
    return beams(tf, length_penalty_weight=0.6, coverage_penalty_weight=0.3)


@program
def losses(tf):
    logits = tf.placeholder(tf.float32, [2, 3, 4])
    targets = tf.constant([[0, 1, 2], [3, 0, 1]])
    weights = tf.constant([[1.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    loss = tf.contrib.seq2seq.sequence_loss

    def form(time, batch, sum_time=False, sum_batch=False):
        return loss(logits, targets, weights, time, batch, sum_time, sum_batch)

    fetches = {"mean": form(True, True), "time": form(True, False), "batch": form(False, True),
               "all": form(False, False), "sum": form(False, False, True, True),
               "sum_batch": form(False, False, False, True)}
    facts = {"both": raised(form, True, True, True),
             "rank": raised(loss, targets, targets, weights)}
    return Run(fetches, {logits: wave(2, 3, 4)}, facts=facts)


@program
def trees(tf):
    ids = tf.constant([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]])
    parents = tf.constant([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    tree = tf.contrib.seq2seq.gather_tree
    fetches = {"tree": tree(ids, parents, [3], 10), "ended": tree(ids, parents, [3], 5),
               "short": tree(ids, parents, [2], 10),
               "tiled": tf.contrib.seq2seq.tile_batch(tf.constant([[1, 2], [3, 4]]), 2),
               "cumprod": tf.contrib.seq2seq.safe_cumprod([[0.5, 0.2, 1.0]], axis=1)}
    bad = tree(ids, tf.constant([[[0, 0, 0]], [[0, -1, 1]], [[2, 1, 2]]]), [3], 10)
    return [Run(fetches), Run({"bad": bad}, fails=True)]


@program
def refusals(tf):
    contrib = tf.contrib.seq2seq
    cell = tf.nn.rnn_cell.GRUCell(3)
    values = tf.zeros([2, 3, 4])
    mechanism = contrib.LuongAttention(3, values)
    return Run(facts={
        "decoder": raised(contrib.dynamic_decode, cell)["class"],
        "helper": raised(contrib.BasicDecoder, cell, cell, None)["class"],
        "mechanism": raised(contrib.AttentionWrapper, cell, cell),
        "mechanisms": raised(contrib.AttentionWrapper, cell, [mechanism, cell]),
        "sizes": raised(contrib.AttentionWrapper, cell, mechanism, attention_layer_size=[1, 2]),
        "memory": raised(
            contrib.LuongAttention, 3, tf.placeholder(tf.float32, [2, 3, None])),
        "tokens": raised(contrib.GreedyEmbeddingHelper, tf.zeros([3, 2]), 1, 2),
        "lengths": raised(contrib.TrainingHelper, values, 3),
        "mode": raised(contrib.monotonic_attention, values[:, :, 0], values[:, :, 0], "soft"),
    })
