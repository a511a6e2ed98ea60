"""Embeddings in one table or several, of dense and of sparse ids."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


def parts(strategy, count=3):
    if strategy == "mod":
        return [TABLE[start::count] for start in range(count)]
    return np.array_split(TABLE, count)


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), ()])
def test_tables_may_be_split(strategy, shape):
    ids = np.array([3, 0, 9, 7, 3, 5])[: int(np.prod(shape))].reshape(shape)
    found = tf.nn.embedding_lookup(parts(strategy), ids, strategy)
    assert found.shape == (*shape, 2)
    np.testing.assert_array_equal(run(found), TABLE[ids])


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_gradients_reach_the_rows_that_were_looked_up(strategy):
    tables = [tf.constant(part) for part in parts(strategy)]
    found = tf.nn.embedding_lookup(tables, [3, 0, 9, 3], strategy)
    grads = run(tf.gradients(found, tables))
    dense = [np.zeros_like(part) for part in parts(strategy)]
    for grad, target in zip(grads, dense, strict=True):
        np.add.at(target, grad.indices, grad.values)
    counts = np.zeros_like(TABLE)
    np.add.at(counts, [3, 0, 9, 3], 1)
    if strategy == "mod":
        expected = [counts[start::3] for start in range(3)]
    else:
        expected = np.array_split(counts, 3)
    for target, wanted in zip(dense, expected, strict=True):
        np.testing.assert_array_equal(target, wanted)


def test_long_rows_are_cut_to_a_norm():
    found = run(tf.nn.embedding_lookup(TABLE, [0, 1, 9], max_norm=5.0))
    norms = np.linalg.norm(found, axis=-1)
    np.testing.assert_allclose(norms, [1, np.hypot(2, 3), 5], rtol=1e-6)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match="Unrecognized partition strategy: rest"):
        tf.nn.embedding_lookup(parts("mod"), [1], "rest")
    with pytest.raises(ValueError, match="Need at least one param"):
        tf.nn.embedding_lookup([], [1])


def sparse(rows, values, dtype, size=(4, 3)):
    return tf.SparseTensor(rows, np.array(values, dtype), size)


ROWS = [[0, 0], [0, 1], [1, 0], [3, 2]]


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_sparse_ids_are_combined(combiner, weighted):
    ids = sparse(ROWS, [1, 2, 5, 7], np.int64)
    weights = np.float32([0.5, 2, 1, 3]) if weighted else np.ones(4, np.float32)
    given = sparse(ROWS, weights, np.float32) if weighted else None
    found = run(tf.nn.embedding_lookup_sparse(TABLE, ids, given, combiner=combiner))
    groups = [([1, 2], weights[:2]), ([5], weights[2:3]), ([], []), ([7], weights[3:])]
    for row, (chosen, each) in enumerate(groups):
        if not chosen:
            assert not np.nan_to_num(found[row]).any()  # 0 / 0 where weights are summed
            continue
        total = (TABLE[chosen] * np.array(each)[:, None]).sum(0)
        divisor = {"sum": 1, "mean": np.sum(each), "sqrtn": np.sqrt(np.sum(np.square(each)))}
        np.testing.assert_allclose(found[row], total / divisor[combiner], rtol=1e-6)


def test_invalid_ids_are_left_out_and_empty_rows_filled():
    ids = sparse(ROWS, [1, -1, -1, 7], np.int64)
    found = run(tf.nn.safe_embedding_lookup_sparse([tf.constant(TABLE)], ids, combiner="sum"))
    np.testing.assert_array_equal(found, [TABLE[1], [0, 0], [0, 0], TABLE[7]])
    filled = tf.nn.safe_embedding_lookup_sparse([tf.constant(TABLE)], ids, default_id=2)
    np.testing.assert_array_equal(run(filled), [TABLE[1], TABLE[2], TABLE[2], TABLE[7]])


def sampled(ids):
    """Candidates that were given, not drawn."""
    return np.array(ids), np.full((2, 1), 0.5, np.float32), np.full(len(ids), 0.25, np.float32)


def test_an_accidental_hit_does_not_count_against_an_example():
    weights, biases = TABLE / 10, np.zeros(10, np.float32)
    inputs, labels = np.float32([[1, 0], [0, 1]]), np.array([[3], [4]])

    def loss(ids, **how):
        return tf.nn.sampled_softmax_loss(
            weights, biases, labels, inputs, len(ids), 10, sampled_values=sampled(ids), **how
        )

    with_hit, without = run([loss([3, 5]), loss([5])])
    assert with_hit[0] == pytest.approx(without[0], rel=1e-6)  # 3 is the first example's own
    assert with_hit[1] > without[1]
    kept = run(loss([3, 5], remove_accidental_hits=False))
    assert kept[0] > with_hit[0]


def test_noise_contrastive_loss_is_a_sum_of_logistic_losses():
    weights, biases = TABLE / 10, np.linspace(-1, 1, 10).astype(np.float32)
    inputs, labels = np.float32([[1, 0], [0.5, 1]]), np.array([[3], [4]])
    loss = run(
        tf.nn.nce_loss(weights, biases, labels, inputs, 2, 10, sampled_values=sampled([1, 7]))
    )
    for row in range(2):
        chosen = [labels[row][0], 1, 7]
        logits = weights[chosen] @ inputs[row] + biases[chosen] - np.log([0.5, 0.25, 0.25])
        expected = np.log1p(np.exp(-logits[0])) + np.log1p(np.exp(logits[1:])).sum()
        np.testing.assert_allclose(loss[row], expected, rtol=1e-5)
