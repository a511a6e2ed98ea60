"""Connectionist temporal classification: losses, gradients, decoders, distances."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised

LOGITS = np.random.RandomState(3).randn(6, 3, 5).astype(np.float32)


def labels(tf, values=(0, 1, 1, 2, 2, 3)):
    indices = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    return tf.SparseTensor(indices, tf.constant(values, tf.int32), [3, 3])


@program
def losses(tf):
    x = tf.placeholder(tf.float32, [6, 3, 5])
    forms = {
        "plain": tf.nn.ctc_loss(labels(tf), x, [6, 4, 2]),
        "unmerged": tf.nn.ctc_loss(labels(tf), x, [6, 4, 2], ctc_merge_repeated=False),
        "collapsed": tf.nn.ctc_loss(labels(tf), x, [6, 4, 2], preprocess_collapse_repeated=True),
        "too_short": tf.nn.ctc_loss(
            labels(tf), x, [2, 6, 0], ignore_longer_outputs_than_inputs=True),
        "batch_major": tf.nn.ctc_loss(
            labels(tf), tf.transpose(x, [1, 0, 2]), [6, 4, 2], time_major=False),
        "first_blank": tf.nn.ctc_loss_v2(
            labels(tf, (1, 2, 2, 3, 3, 4)), x, None, [6, 4, 2], blank_index=0),
    }
    names = sorted(forms)
    gradients = {name: tf.gradients(forms[name], x)[0] for name in names}
    weighted = tf.gradients(forms["plain"] * [1.0, -2.0, 0.5], x)
    return Run({"loss": forms, "gradient": gradients, "weighted": weighted}, {x: LOGITS})


@program(rtol=1e-5, reason="TF 1.15 sums the double form with the digits of floats")
def losses_in_double(tf):
    x = tf.placeholder(tf.float64, [6, 3, 5])
    loss = tf.nn.ctc_loss(labels(tf), x, [6, 4, 2])
    return Run({"loss": loss, "gradient": tf.gradients(loss, x)}, {x: LOGITS})


@program
def impossible_alignments(tf):
    x = tf.placeholder(tf.float32, [6, 3, 5])
    loss = tf.nn.ctc_loss(labels(tf, (1, 1, 1, 2, 2, 3)), x, [4, 4, 2])
    return Run({"loss": loss, "gradient": tf.gradients(loss, x)}, {x: LOGITS})


@program
def bad_labels(tf):
    x = tf.placeholder(tf.float32, [6, 3, 5])
    runs = [
        Run({"loss": tf.nn.ctc_loss(labels(tf), x, [2, 4, 2])}, {x: LOGITS}, fails=True),
        Run({"loss": tf.nn.ctc_loss(labels(tf, (0, 4, 1, 2, 2, 3)), x, [6, 4, 2])}, {x: LOGITS},
            fails=True),
        Run({"loss": tf.nn.ctc_loss(labels(tf, (0, -1, 1, 2, 2, 3)), x, [6, 4, 2])}, {x: LOGITS},
            fails=True),
        Run({"loss": tf.nn.ctc_loss(labels(tf), x, [7, 4, 2])}, {x: LOGITS}, fails=True),
    ]
    runs.append(Run(facts={"dense": raised(tf.nn.ctc_loss, tf.zeros([3, 3]), x, [6, 4, 2])}))
    return runs


@program
def decoders(tf):
    x = tf.placeholder(tf.float32, [6, 3, 5])
    fetches = {
        "greedy": tf.nn.ctc_greedy_decoder(x, [6, 4, 2]),
        "unmerged": tf.nn.ctc_greedy_decoder(x, [6, 4, 0], merge_repeated=False),
        "beams": tf.nn.ctc_beam_search_decoder(x, [6, 4, 2], beam_width=4, top_paths=3),
        "best": tf.nn.ctc_beam_search_decoder(x, [6, 4, 2], merge_repeated=False),
        "v2": tf.nn.ctc_beam_search_decoder_v2(x, [6, 4, 2], beam_width=7, top_paths=2),
    }
    found = tf.cast(fetches["greedy"][0][0], tf.int32)
    fetches["distance"] = tf.edit_distance(found, labels(tf))
    fetches["raw_distance"] = tf.edit_distance(found, labels(tf), normalize=False)
    return Run(fetches, {x: LOGITS})


@program
def few_beams(tf):
    """So few that beams fall out whose own turn has not come yet."""
    random = np.random.RandomState(8)
    x = tf.placeholder(tf.float32, [None, 4, None])
    lengths = tf.placeholder(tf.int32, [4])
    fetches = {
        f"{width}_beams": tf.nn.ctc_beam_search_decoder(
            x, lengths, beam_width=width, top_paths=min(width, 2), merge_repeated=width % 2 == 0)
        for width in (1, 2, 3, 5, 8)
    }
    return [
        Run(fetches, {x: scale * random.randn(20, 4, classes), lengths: [20, 17, 12, 5]})
        for classes, scale in ((3, 0.5), (6, 2.0), (12, 4.0))
    ]


@program
def repeated_labels(tf):
    x = tf.placeholder(tf.int32, [None, 4])
    collapsed = tf.nn.collapse_repeated(x, [4, 2])
    unique = tf.nn.ctc_unique_labels(x)
    return Run({"collapsed": list(collapsed), "unique": list(unique)},
               {x: [[1, 1, 2, 2], [3, 3, 3, 1]]})


@program
def losses_of_dense_labels(tf):
    logits = tf.placeholder(tf.float32, [5, 2, 4], name="logits")
    labels = tf.constant([[1, 2, 2], [3, 1, 0]], name="labels")
    lengths, steps = tf.constant([3, 2]), tf.constant([5, 4])
    loss = tf.nn.ctc_loss_v2(labels, logits, lengths, steps)
    unique = tf.nn.ctc_loss_v2(labels, logits, lengths, steps,
                               unique=tf.nn.ctc_unique_labels(labels))
    moved = tf.nn.ctc_loss_v2(labels - 1, tf.transpose(logits, [1, 0, 2]), lengths, steps,
                              logits_time_major=False, blank_index=-1, name="moved")
    gradients = [tf.gradients(y, logits)[0] for y in (loss, unique, moved)]
    return Run({"loss": loss, "unique": unique, "moved": moved, "gradients": gradients},
               {logits: wave(5, 2, 4)})


@program
def losses_of_sparse_labels_with_a_blank_anywhere(tf):
    logits = tf.constant(wave(5, 2, 4))
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 3, 1], [2, 2])
    middle = tf.nn.ctc_loss_v2(labels, logits, None, [5, 4], blank_index=2)
    last = tf.nn.ctc_loss_v2(tf.SparseTensor(labels.indices, [0, 2, 1], [2, 2]), logits, None,
                             [5, 4], blank_index=-1)
    facts = {"missing": raised(tf.nn.ctc_loss_v2, labels, logits, None, [5, 4])}
    return Run({"middle": middle, "last": last}, facts=facts)
