"""Whole sequences by one operation: what its steps give one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph", "either_way")
TIME, BATCH, INPUTS, CELLS = 5, 3, 4, 2


def arguments():
    random = np.random.RandomState(0)
    shapes = [(BATCH, CELLS), (BATCH, CELLS), (INPUTS + CELLS, 4 * CELLS), (CELLS,), (CELLS,),
              (CELLS,), (4 * CELLS,)]  # fmt: skip
    made = [tf.constant(random.randn(*shape).astype(np.float32)) for shape in shapes]
    x = tf.constant(random.randn(TIME, BATCH, INPUTS).astype(np.float32))
    weights = tf.constant(random.randn(TIME, BATCH, CELLS).astype(np.float32))
    return x, made, weights


def steps(x, cs, h, rest, length, options):
    memories, outputs = [], []
    for t in range(TIME):
        if t >= length:
            memories.append(tf.zeros_like(cs))
            outputs.append(tf.zeros_like(cs))
            continue
        step = tf.raw_ops.LSTMBlockCell(x=x[t], cs_prev=cs, h_prev=h, **rest, **options)
        cs, h = step.cs, step.h
        memories.append(cs)
        outputs.append(h)
    return tf.stack(memories), tf.stack(outputs)


@pytest.mark.parametrize("length", [0, 1, TIME])
@pytest.mark.parametrize("options", [
    {"use_peephole": False, "cell_clip": 3.0, "forget_bias": 1.0},
    {"use_peephole": True, "cell_clip": -1.0, "forget_bias": 0.5},
    {"use_peephole": True, "cell_clip": 0.3, "forget_bias": 0.0},
])  # fmt: skip
def test_a_sequence_is_its_steps(options, length):
    x, (cs, h, w, wci, wcf, wco, b), weights = arguments()
    rest = {"w": w, "wci": wci, "wcf": wcf, "wco": wco, "b": b}
    whole = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(length, tf.int64), x=x, cs_prev=cs, h_prev=h, **rest, **options
    )
    sources = [cs, h, w, b, *((wci, wcf, wco) if options["use_peephole"] else ())]
    results = []
    for memory, output in ((whole.cs, whole.h), steps(x, cs, h, rest, length, options)):
        total = tf.reduce_sum(output * output * weights) + tf.reduce_sum(memory * weights)
        grads = tf.gradients(total, [x, *sources])
        results.append([memory, output, *[g if g is not None else tf.constant(0.0) for g in grads]])
    with tf.Session() as session:
        found, expected = session.run(results)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, np.broadcast_to(other, one.shape), rtol=1e-4, atol=1e-5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_a_step_is_what_its_formulas_say():
    random = np.random.RandomState(1)
    batch, cells = 7, 33
    x = np.zeros((batch, 1), np.float32)
    w = np.zeros((1 + cells, 4 * cells), np.float32)
    c = random.uniform(-2, 2, (batch, cells)).astype(np.float32)
    h = np.eye(batch, cells, dtype=np.float32)  # row k of the weights are the gates of batch k
    w[1 : 1 + batch] = random.uniform(-1, 1, (batch, 4 * cells)) * 10 ** random.uniform(
        -6, 2, (batch, 4 * cells)
    )
    found = tf.raw_ops.LSTMBlockCell(
        x=x, cs_prev=c, h_prev=h, w=w, wci=c[0], wcf=c[0], wco=c[0],
        b=np.zeros(4 * cells, np.float32), forget_bias=1.0, cell_clip=-1.0,
    )  # fmt: skip
    i, ci, f, o = np.split(w[1 : 1 + batch].astype(np.float64), 4, 1)
    with np.errstate(over="ignore"):
        i, f, o, ci = sigmoid(i), sigmoid(f + 1), sigmoid(o), np.tanh(ci)
    cs = i * ci + f * c
    expected = [i, cs, f, o, ci, np.tanh(cs), o * np.tanh(cs)]
    with tf.Session() as session:
        for one, other in zip(session.run(found), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-37)


def test_no_number_stays_none():
    x, (cs, h, w, wci, wcf, wco, b), _ = arguments()
    found = tf.raw_ops.LSTMBlockCell(
        x=x[0] * np.float32(np.nan), cs_prev=cs, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b
    )
    with tf.Session() as session:
        assert np.isnan(session.run(found.h)).all()
