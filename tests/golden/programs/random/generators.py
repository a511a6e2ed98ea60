"""Rare random numbers: generator variables, gradients of draws, invalid arguments."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def generator_draws(tf):
    gen = tf.random.experimental.Generator.from_seed(12345)
    fetches = {}
    draws = [
        ("normal", gen.normal([3], 1.0, 2.0)),
        ("truncated", gen.truncated_normal([2, 2])),
        ("uniform", gen.uniform([3], 2, 5)),
        ("double", gen.uniform((), dtype=tf.float64)),
        ("ints", gen.uniform([4], 0, 10, tf.int32)),
        ("full", gen.uniform_full_int([3])),
        ("binomial", gen.binomial([4], 10.0, 0.5)),
        ("seeds", gen.make_seeds(2)),
    ]
    # One after another: each moves the state that the next one starts from.
    runs = [Run({}, setup=[tf.global_variables_initializer()])]
    for name, draw in draws:
        fetches[name] = draw
        runs.append(Run({name: draw}))
    return [*runs, Run({"state": gen.state, "key": gen.key})]


@program
def generator_states(tf):
    class_ = tf.random.experimental.Generator
    make = tf.random.experimental.create_rng_state
    gen = class_.from_key_counter(7, [1, 2], 1)
    gen.skip(5)
    gen.reset_from_seed(3)
    gen.reset([1, 2, 3])
    gen.reset_from_key_counter(1, [2, 3])
    facts = {
        "integer": make(5, 1),
        "large": make(2 ** 130 + 2**64 * 3 + 5, 1),
        "negative": make(-1, 2),
        "vector": make([1, 2, 3, 4], 1),
        "algorithm": raised(make, 5, 9),
        "maxval": raised(gen.uniform, [2], dtype=tf.int32),
    }
    return Run({"state": gen.state}, setup=[tf.global_variables_initializer()], facts=facts)


@program
def gamma_gradients(tf):
    tf.set_random_seed(5)
    alpha = tf.constant([[0.3], [2.0], [9.0]])
    beta = tf.constant([[0.5, 2.0]])
    samples = tf.random_gamma([4], alpha, beta)
    d_alpha, d_beta = tf.gradients(tf.reduce_mean(tf.square(samples)), [alpha, beta])
    return Run({"samples": samples, "alpha": d_alpha, "beta": d_beta}, steps=2)


@program
def shapes_of_draws(tf):
    n = tf.placeholder(tf.int32, [])
    sizes = tf.placeholder(tf.int32, [2])
    lam = tf.placeholder(tf.float32, [None, 3])
    logits = tf.placeholder(tf.float32, [None, 4])
    tf.set_random_seed(6)
    fetches = {
        "pack": tf.random_normal([n, 3]),
        "fed": tf.truncated_normal(sizes),
        "dimension": tf.random_uniform([tf.Dimension(2), 3]),
        "shape": tf.random_uniform(tf.TensorShape([2, 2])),
        "int64": tf.random_uniform(tf.constant([2, 2], tf.int64)),
        "poisson": tf.random_poisson(lam, [n]),
        "gamma": tf.random_gamma(sizes, tf.constant([1.0, 2.0])),
        "classes": tf.multinomial(logits, n),
    }
    feeds = {n: 2, sizes: [2, 1], lam: np.ones([2, 3]), logits: np.zeros([3, 4])}
    return Run(fetches, feeds, steps=2)


@program
def draws_refuse_while_building(tf):
    facts = {
        "rank": raised(tf.random_uniform, [[2]]),
        "float_shape": raised(tf.random_normal, [2.5]),
        "dtype": raised(tf.random_uniform, [2], dtype=tf.uint8),
        "logits": raised(tf.multinomial, [1.0], 2),
        "num_samples": raised(tf.multinomial, [[1.0]], [2]),
        "negative_samples": raised(tf.multinomial, [[1.0]], -2),
        "seed": raised(tf.random.stateless_uniform, [2], [1, 2, 3]),
        "seed_rank": raised(tf.random.stateless_uniform, [2], 1),
        "min_vector": raised(tf.random_uniform, [2], [0, 1], 5, tf.int32),
        "classes": raised(tf.nn.uniform_candidate_sampler, [1, 2], 1, 2, True, 5),
    }
    return Run({}, facts=facts)


@program
def sizes_below_minus_one(tf):
    return Run({}, facts={"uniform": raised(tf.random_uniform, [-2])})


@program
def draws_refuse_while_running(tf):
    tf.set_random_seed(8)
    sizes = tf.placeholder(tf.int32, [None])
    whatever = tf.placeholder(tf.int32)
    floats = tf.placeholder(tf.float32)
    high = tf.placeholder(tf.int32, [])
    seed = tf.placeholder(tf.int32, [None])
    true = tf.placeholder(tf.int64, [None, None])
    logits = tf.placeholder(tf.float32, [None, None])
    return [
        Run({"size": tf.random_uniform(sizes)}, {sizes: [2, -1]}, fails=True),
        Run({"range": tf.random_uniform([2], 3, high, tf.int32)}, {high: 3}, fails=True),
        Run({"empty_range": tf.random_uniform([0], 3, high, tf.int32)}, {high: 3}),
        Run({"samples": tf.multinomial([[1.0]], high)}, {high: -3}, fails=True),
        Run({"classes": tf.multinomial(logits, 2)}, {logits: np.zeros([2, 0])}, fails=True),
        Run({"no_rows": tf.multinomial(logits, 2)}, {logits: np.zeros([0, 2])}),
        Run({"shape_rank": tf.random_uniform(whatever)}, {whatever: 2}, fails=True),
        Run({"logits_rank": tf.multinomial(floats, 2)}, {floats: [1.0]}, fails=True),
        Run({"samples_rank": tf.multinomial([[1.0]], whatever)}, {whatever: [2]}, fails=True),
        Run({"bound_rank": tf.random_uniform([2], whatever, 5, tf.int32)}, {whatever: [2]},
            fails=True),
        Run({"seed": tf.random.stateless_normal([2], seed)}, {seed: [1]}, fails=True),
        Run({"stateless": tf.random.stateless_uniform([2], seed, 2, high, tf.int32)},
            {seed: [1, 2], high: 2}, fails=True),
        Run({"columns": tf.nn.uniform_candidate_sampler(true, 1, 2, True, 5)[0]},
            {true: [[1, 2]]}, fails=True),
        Run({"too_few": tf.nn.uniform_candidate_sampler(true, 1, 6, True, 5)[0]},
            {true: [[1]]}, fails=True),
        Run({"crop": tf.random_crop(tf.zeros([3, 3]), sizes)}, {sizes: [2, 4]}, fails=True),
    ]  # fmt: skip


@program
def samplers_learn(tf):
    true = tf.placeholder(tf.int64, [None, 2])
    sampled = tf.nn.learned_unigram_candidate_sampler(true, 2, 6, False, 10, seed=3)
    feeds = [{true: [[1, 1]] * 20}, {true: [[2, 1]] * 30}, {true: [[0, 9]]}]
    return Run({"sampled": sampled, "named": sampled.true_expected_count}, feeds, steps=4)


@program
def shuffles_of_types(tf):
    tf.set_random_seed(9)
    values = {
        "uint16": np.arange(6, dtype=np.uint16),
        "bool": np.array([True, False, False, True]),
        "complex": np.arange(4) * (1 + 2j),
        "matrix": np.arange(12.0).reshape(6, 2),
        "empty_rows": np.zeros([3, 0], np.float32),
        "one": np.ones([1, 2], np.float32),
    }
    fetches = {name: tf.random_shuffle(value) for name, value in values.items()}
    fetches["scalar"] = tf.random_shuffle(3.0)
    return Run(fetches, steps=2)
