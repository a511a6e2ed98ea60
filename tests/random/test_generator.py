from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.random import generator as generators

Generator = tf.random.experimental.Generator


def test_a_copy_draws_the_same_and_moves_alone() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first = Generator.from_seed(3)
        second = Generator(copy_from=first)
        session.run(first.state.initializer)
        session.run(second.state.initializer)
        one, other = first.normal([4]), second.normal([4])
        drawn = session.run(one)
        np.testing.assert_array_equal(session.run(other), drawn)
        assert not np.array_equal(session.run(one), drawn)


def test_skipping_is_drawing() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        gen = Generator.from_seed(3)
        gen.skip(10)
        (skip,) = [op for op in graph.get_operations() if op.type == "RngSkip"]
        draw = gen.uniform([10])
        session.run(gen.state.initializer)
        session.run(skip)
        skipped = session.run(gen.state)
        session.run(gen.state.initializer)
        session.run(draw)
        np.testing.assert_array_equal(session.run(gen.state), skipped)


def test_unforeseeable_states_differ() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        states = [Generator.from_non_deterministic_state().state for _ in range(2)]
        session.run(tf.global_variables_initializer())
        one, other = session.run(states)
        assert one.shape == (3,)
        assert not np.array_equal(one, other)


def test_splitting_needs_values() -> None:
    with tf.Graph().as_default(), pytest.raises(AttributeError):
        Generator.from_seed(3).split(2)


def test_refusals() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with pytest.raises(ValueError, match="Unsupported algorithm id: 7"):
            Generator.from_seed(3, alg=7)
        with pytest.raises(ValueError, match="only have one dimension"):
            generators.create_rng_state([[1, 2], [3, 4]], 1)
        gen = Generator.from_seed(3, alg=2)
        session.run(gen.state.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported algorithm id: 2"):
            session.run(gen.uniform([2]))
        with pytest.raises(tf.errors.NotFoundError):
            session.run(Generator.from_seed(4).uniform([2]))
        del graph


def test_the_global_generator_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_global_generator", None)
    with tf.Graph().as_default():
        shared = tf.random.experimental.get_global_generator()
        assert tf.random.experimental.get_global_generator() is shared
        other = Generator.from_seed(1)
        tf.random.experimental.set_global_generator(other)
        assert tf.random.experimental.get_global_generator() is other
