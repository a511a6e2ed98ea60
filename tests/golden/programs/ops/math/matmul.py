"""Matrix products of every kind."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

rng = np.random.RandomState(1)
A = rng.randn(2, 3).astype(np.float32)
B = rng.randn(3, 4).astype(np.float32)
BATCH = rng.randn(2, 3, 4).astype(np.float32)


@program
def matmul_forms(tf):
    a = tf.placeholder(tf.float32, [None, 3], name="a")
    b = tf.constant(B, name="b")
    fetches = {
        "plain": tf.matmul(a, b),
        "transpose_a": tf.matmul(a, a, transpose_a=True),
        "transpose_b": tf.matmul(a, a, transpose_b=True, name="gram"),
        "both": tf.matmul(b, a, transpose_a=True, transpose_b=True),
        "adjoint": tf.matmul([[1j, 2.0]], [[1j, 2.0]], adjoint_b=True),
        "ints": tf.matmul([[1, 2]], [[3], [4]]),
        "double": tf.matmul(tf.to_double(a), tf.to_double(b)),
        "half": tf.matmul(tf.cast(a, tf.float16), tf.cast(b, tf.float16)),
        "matvec": tf.linalg.matvec(b, [1.0, 2.0, 3.0, 4.0]),
        "empty": tf.matmul(tf.zeros([2, 0]), tf.zeros([0, 3])),
    }
    facts = {
        "shapes": raised(tf.matmul, tf.zeros([2, 3]), tf.zeros([2, 3])),
        "ranks": raised(tf.matmul, tf.zeros([3]), tf.zeros([3, 2])),
        "dtypes": raised(tf.matmul, tf.zeros([2, 2]), tf.zeros([2, 2], tf.int32)),
    }
    return Run(fetches, {a: A}, facts=facts)


@program
def batch_matmul(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    y = tf.placeholder(tf.float32)
    fetches = {
        "batch": tf.matmul(x, x, transpose_b=True),
        "transpose_a": tf.matmul(x, x, transpose_a=True),
        "broadcast": tf.matmul(x, tf.ones([4, 2])),
        "unknown": tf.matmul(x, y),
        "adjoint": tf.matmul(x, x, adjoint_a=True),
    }
    return Run(fetches, {x: BATCH, y: BATCH.transpose([0, 2, 1])})


@program
def matmul_fails_at_run_time(tf):
    x, y = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
    return Run({"z": tf.matmul(x, y)}, {x: np.ones([2, 3]), y: np.ones([2, 3])}, fails=True)


@program
def sparse_hints(tf):
    a = tf.constant([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    b = tf.constant(B)
    fetches = {
        "a_is_sparse": tf.matmul(a, b, a_is_sparse=True),
        "b_is_sparse": tf.matmul(tf.constant(A), b, b_is_sparse=True),
        "sparse_matmul": tf.sparse_matmul(a, b, a_is_sparse=True),
    }
    return Run(fetches)


@program
def tensordot_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    w = tf.constant(rng_like(4, 5))
    fetches = {
        "one": tf.tensordot(x, w, 1),
        "lists": tf.tensordot(x, w, [[2], [0]]),
        "axes": tf.tensordot(tf.constant(BATCH), tf.constant(BATCH), axes=[[1, 2], [1, 2]]),
        "zero": tf.tensordot([1.0, 2.0], [3.0, 4.0], 0),
        "full": tf.tensordot(tf.constant(A), tf.constant(A), 2),
        "static": tf.tensordot(tf.constant(BATCH), w, axes=[[-1], [0]]),
    }
    return Run(fetches, {x: BATCH})


def rng_like(*shape):
    return np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)


@program
def einsum_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    w = tf.constant(rng_like(4, 5))
    u, v = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    fetches = {
        "matmul": tf.einsum("ij,jk->ik", tf.constant(A), tf.constant(B)),
        "batch": tf.einsum("bij,jk->bik", x, w),
        "attention": tf.einsum("bij,bkj->bik", x, x),
        "outer": tf.einsum("i,j->ij", u, v),
        "dot": tf.einsum("i,i->", u, v),
        "implicit": tf.einsum("ij,jk", tf.constant(A), tf.constant(B)),
        "sum": tf.einsum("bij->bi", x),
        "permute": tf.einsum("bij->jbi", x),
        "three": tf.einsum("ij,jk,kl->il", tf.constant(A), tf.constant(B), w),
    }
    facts = {"repeated": raised(tf.einsum, "ii->i", tf.zeros([2, 2])),
             "labels": raised(tf.einsum, "ij,jk->im", tf.constant(A), tf.constant(B))}
    return Run(fetches, {x: BATCH}, facts=facts)


@program
def einsum_of_variables(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    w, r = tf.Variable(B), tf.Variable(B, use_resource=True)
    fetches = {
        "reference": tf.einsum("ij,jk->ik", x, w),
        "resource": tf.einsum("ij,jk->ik", x, r),
        "transposed": tf.einsum("ij,kj->ik", r, w),
        "itself": tf.einsum("ij->ij", w),
    }
    return Run(fetches, {x: A}, setup=[tf.global_variables_initializer()])


@program
def dense_layer_by_hand(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(B, name="w")
    b = tf.Variable(tf.zeros([4]), name="b")
    fetches = {
        "xw_plus_b": tf.nn.xw_plus_b(x, w, b),
        "relu_layer": tf.nn.relu_layer(x, w, b),
        "bias_add": tf.nn.bias_add(tf.matmul(x, w), b),
        "operator": tf.matmul(x, w) + b,
        "cross": tf.cross([[1.0, 2.0, 3.0]], [[0.0, 1.0, 0.0]]),
    }
    return Run(fetches, {x: A}, setup=[tf.global_variables_initializer()])
