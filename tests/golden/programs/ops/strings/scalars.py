"""Strings without dimensions: operations that arrange arrays leave them as they are."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

NONE = np.zeros([0], np.int32)
NO_PAIRS = np.zeros([0, 2], np.int32)


@program
def arranged(tf):
    x = tf.placeholder(tf.string, [], name="x")
    several = tf.placeholder(tf.string, None, name="several")
    arranged = {
        "slice": tf.slice(x, NONE, NONE),
        "pad": tf.pad(x, NO_PAIRS),
        "pad_v2": tf.pad(x, NO_PAIRS, constant_values=b"q"),
        "mirror": tf.pad(x, NO_PAIRS, mode="REFLECT"),
        "strided_slice": tf.strided_slice(x, NONE, NONE, NONE),
        "reverse": tf.reverse(x, []),
        "tile": tf.tile(x, NONE),
        "transpose": tf.transpose(x),
        "broadcast_to": tf.broadcast_to(x, NONE),
        "squeeze": tf.squeeze(x),
        "where": tf.where(tf.constant(True), x, x),
        "reshape": tf.reshape(several, []),
        "gather": tf.gather([x], 0),
        "gather_nd": tf.gather_nd([x], [0]),
        "unstack": tf.unstack([x])[0],
        "new axis": x[tf.newaxis],
        "stack": tf.stack([x]),
    }
    fetches = {}
    for name, value in sorted(arranged.items()):
        fetches[name] = value
        fetches[f"length: {name}"] = tf.strings.length(value)
        fetches[f"bucket: {name}"] = tf.string_to_hash_bucket_fast(value, 100)
    return Run(fetches, {x: b"abc", several: [b"abcd"]})


@program
def padded_in_datasets(tf):
    def pad(text):
        padded = tf.pad(tf.slice(text, NONE, NONE), NO_PAIRS)
        chosen = tf.cond(tf.equal(padded, ""), lambda: tf.constant("none"), lambda: padded)
        return chosen, tf.string_to_hash_bucket_fast(chosen, 1000)

    dataset = tf.data.Dataset.from_tensor_slices([b"abc", b"", b"d"]).map(pad).batch(3)
    iterator = tf.data.make_initializable_iterator(dataset)
    texts, buckets = iterator.get_next()
    return Run({"texts": texts, "buckets": buckets}, setup=[iterator.initializer])
