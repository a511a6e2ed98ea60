"""Random ops: seeds of graph and op, implicit op seeds, every distribution."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def known_first_values(tf):
    tf.set_random_seed(87654321)
    return Run({"uniform": tf.random_uniform([4], seed=42),
                "truncated_normal": tf.truncated_normal([5], seed=42)}, steps=2)


@program
def graph_seed_only(tf):
    tf.set_random_seed(1234)
    a = tf.random_uniform([3])
    tf.constant(0)
    b = tf.random_normal([2, 2])
    c = tf.random_uniform([3])
    return Run({"a": a, "b": b, "c": c}, steps=3)


@program
def op_seed_only(tf):
    a = tf.random_uniform([3], seed=1)
    b = tf.random_uniform([3], seed=1)
    c = tf.random_normal([3], seed=2)
    return Run({"a": a, "b": b, "c": c}, steps=2)


@program
def both_seeds(tf):
    tf.set_random_seed(99)
    fetches = {
        "a": tf.random_uniform([3], seed=1),
        "b": tf.random_uniform([3], seed=2),
        "zero": tf.random_uniform([3], seed=0),
    }
    tf.set_random_seed(0)
    fetches["graph_zero"] = tf.random_uniform([3], seed=0)
    fetches["large"] = tf.random_uniform([3], seed=2 ** 31 + 5)
    return Run(fetches, steps=2)


@program
def implicit_op_seeds_inside_scopes(tf):
    tf.set_random_seed(7)
    with tf.name_scope("a"):
        x = tf.random_normal([2, 3])
        with tf.control_dependencies([x]):
            y = tf.random_uniform([2])
    with tf.Graph().as_default():
        tf.random_normal([1])
    with tf.variable_scope("b"):
        w = tf.get_variable("w", [2, 2])
        z = tf.nn.dropout(tf.ones([8]), 0.5)
    return Run({"x": x, "y": y, "w": w, "z": z}, setup=[w.initializer])


@program
def uniform_distributions(tf):
    tf.set_random_seed(3)
    n = tf.placeholder(tf.int32, [])
    fetches = {
        "range": tf.random_uniform([4], -1.0, 1.0),
        "ints": tf.random_uniform([10], minval=0, maxval=7, dtype=tf.int32),
        "int64": tf.random_uniform([6], -5, 2 ** 40, tf.int64),
        "double": tf.random_uniform([3], dtype=tf.float64),
        "half": tf.random_uniform([5], dtype=tf.float16),
        "dynamic": tf.random_uniform([n, 2], maxval=10.0),
        "scalar": tf.random_uniform([]),
        "new_name": tf.random.uniform([2], 0, 5, tf.int32),
        "empty": tf.random_uniform([0]),
        "long": tf.random_uniform([9, 7]),
    }
    facts = {"no_maxval": raised(tf.random_uniform, [2], dtype=tf.int32),
             "text": raised(tf.random_uniform, "shape")}
    empty_range = tf.random_uniform([n], 3, 3, tf.int32)
    return [Run(fetches, {n: 3}, steps=2, facts=facts),
            Run({"bad": empty_range}, {n: 3}, fails=True)]


@program
def normal_distributions(tf):
    tf.set_random_seed(4)
    fetches = {
        "standard": tf.random_normal([7]),
        "moved": tf.random_normal([2, 3], mean=5.0, stddev=0.5),
        "double": tf.random_normal([5], dtype=tf.float64),
        "half": tf.random_normal([4], dtype=tf.float16),
        "vector_mean": tf.random_normal([2, 2], mean=[0.0, 100.0]),
        "truncated": tf.truncated_normal([30]),
        "truncated_moved": tf.truncated_normal([5], 1.0, 0.1, seed=8),
        "truncated_double": tf.truncated_normal([3], dtype=tf.float64),
        "new_name": tf.random.normal([3]),
        "random_truncated": tf.random.truncated_normal([3], stddev=2.0),
    }
    return Run(fetches, steps=2)


@program
def thousands_of_normals(tf):
    tf.set_random_seed(5)
    normal, truncated = tf.random_normal([3000]), tf.truncated_normal([3000])
    uniform = tf.random_uniform([5000])
    ints = tf.random_uniform([5000], 0, 100, tf.int32)
    return Run({
        "normal_tail": normal[-5:],
        "truncated_tail": truncated[-5:],
        "uniform_tail": uniform[-5:],
        "ints_tail": ints[-9:],
        "truncated_within": tf.reduce_all(tf.abs(truncated) < 2.0),
        "mean": tf.reduce_mean(tf.to_double(normal)),
        "every": uniform[::611],
    }, steps=2)


@program
def shuffles_and_crops(tf):
    tf.set_random_seed(6)
    x = tf.placeholder(tf.int32, [None])
    fetches = {
        "shuffle": tf.random_shuffle(x),
        "seeded": tf.random_shuffle(x, seed=3),
        "rows": tf.random.shuffle(tf.reshape(x, [5, 2]), seed=4),
        "crop": tf.random_crop(tf.reshape(x, [5, 2]), [2, 1]),
        "strings": tf.random_shuffle(["a", "b", "c"], seed=1),
    }
    return Run(fetches, {x: np.arange(10)}, steps=2)


@program
def categorical_and_multinomial(tf):
    tf.set_random_seed(8)
    logits = tf.log([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    fetches = {
        "multinomial": tf.multinomial(logits, 6),
        "seeded": tf.multinomial(logits, num_samples=4, seed=1),
        "int32": tf.multinomial(logits, 3, output_dtype=tf.int32),
        "categorical": tf.random.categorical(logits, 5, seed=2),
    }
    return Run(fetches, steps=2)


@program
def gamma_and_poisson(tf):
    tf.set_random_seed(9)
    fetches = {
        "gamma": tf.random_gamma([4], 2.0),
        "gamma_small": tf.random_gamma([4], [0.5], beta=2.0, seed=3),
        "gamma_vector": tf.random_gamma([2], alpha=[0.5, 3.0]),
        "poisson": tf.random_poisson([3.0], [5]),
        "poisson_large": tf.random.poisson(lam=[40.0], shape=[4], seed=1),
        "poisson_int": tf.random_poisson(2.0, [4], dtype=tf.int32, seed=5),
    }
    return Run(fetches, steps=2)


@program
def stateless_random(tf):
    seed = tf.placeholder(tf.int32, [2])
    fetches = {
        "uniform": tf.random.stateless_uniform([4], seed=[1, 2]),
        "dynamic": tf.random.stateless_uniform([2, 2], seed, minval=-1.0),
        "ints": tf.random.stateless_uniform([5], [3, 4], 0, 10, tf.int32),
        "normal": tf.random.stateless_normal([5], [5, 6]),
        "truncated": tf.random.stateless_truncated_normal([5], [7, 8]),
        "categorical": tf.random.stateless_categorical(tf.log([[0.3, 0.7]]), 5, [9, 10]),
    }
    return Run(fetches, {seed: [11, 12]}, steps=2)


@program
def reset_restarts_the_sequence(tf):
    tf.set_random_seed(10)
    x = tf.random_uniform([2])

    def use(session):
        with tf.Session(graph=session.graph) as other:
            return {"same_session": session.run(x), "next": session.run(x),
                    "new_session": other.run(x), "new_next": other.run(x)}

    return Run(call=use)


@program
def two_reads_of_one_random_op(tf):
    tf.set_random_seed(11)
    x = tf.random_normal([2])
    y = x * 2.0
    v = tf.Variable(x)
    return Run({"x": x, "y": y, "v": v}, setup=[v.initializer])


@program
def dropout_masks(tf):
    tf.set_random_seed(12)
    x = tf.ones([4, 3])
    keep = tf.placeholder(tf.float32)
    fetches = {
        "keep_prob": tf.nn.dropout(x, keep_prob=0.5),
        "placeholder": tf.nn.dropout(x, keep),
        "rate": tf.nn.dropout(x, rate=0.25, seed=1),
        "noise_shape": tf.nn.dropout(x, 0.5, noise_shape=[4, 1]),
        "all": tf.nn.dropout(x, 1.0),
    }
    facts = {"too_large": raised(tf.nn.dropout, x, rate=1.5)}
    return Run(fetches, {keep: 0.8}, steps=2, facts=facts)


@program
def samplers_of_candidates(tf):
    tf.set_random_seed(13)
    true = tf.constant([[1], [3]], tf.int64)
    fetches = {
        "uniform": tf.nn.uniform_candidate_sampler(true, 1, 4, True, 8, seed=1),
        "log_uniform": tf.nn.log_uniform_candidate_sampler(true, 1, 4, True, 20, seed=2),
        "learned": tf.nn.learned_unigram_candidate_sampler(true, 1, 3, True, 8, seed=3),
        "fixed": tf.nn.fixed_unigram_candidate_sampler(
            true, 1, 3, True, 5, unigrams=[1, 5, 3, 2, 9], seed=4),
        "with_repeats": tf.nn.uniform_candidate_sampler(true, 1, 6, False, 4, seed=5),
        "hits": tf.nn.compute_accidental_hits(true, tf.constant([1, 2, 3], tf.int64), 1),
    }
    return Run(fetches, steps=2)
