"""Initializers of tf.contrib.framework: kernels of convolutions that keep lengths."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised

_RANKS = ("1d", "2d", "3d")


def _initializer(tf, name, **more):
    return getattr(tf.contrib.framework, "convolutional_" + name)(**more)


@program
def kernels_that_are_zero_but_in_the_middle(tf):
    make = _initializer(tf, "delta_orthogonal", gain=2.0, seed=3)
    kernels = [make([3, 2, 4]), make([3, 3, 2, 3]), make([2, 1, 3, 1, 2])]
    return Run({"products": [tf.tensordot(k, k, [[*range(len(k.shape) - 2), -1]] * 2)
                             for k in kernels],
                "shapes": [tf.shape(k) for k in kernels]})


@program(rtol=1e-4, atol=1e-5, reason="products of five orthogonal matrices in single precision")
def kernels_that_keep_lengths(tf):
    kernels = [_initializer(tf, "orthogonal_" + rank, seed=1)([3] * n + [2, 3])
               for n, rank in enumerate(_RANKS, 1)]
    return Run({"squares": [tf.reduce_sum(tf.square(k)) for k in kernels],
                "sums_are_orthogonal": [
                    tf.matmul(total, total, transpose_b=True)
                    for total in (tf.reduce_sum(k, list(range(len(k.shape) - 2)))
                                  for k in kernels)],
                "shapes": [tf.shape(k) for k in kernels]})


@program
def shapes_refused(tf):
    delta = _initializer(tf, "delta_orthogonal")
    facts = {"delta": [raised(delta, [3, 2]), raised(delta, [3, 4, 2])]}
    for n, rank in enumerate(_RANKS, 1):
        make = _initializer(tf, "orthogonal_" + rank)
        facts[rank] = [raised(make, [3] * n + [2]), raised(make, [3] * n + [3, 2]),
                       raised(make, [3, 2, 3][:n] + [2, 3]) if n > 1 else ""]
    return Run(facts=facts)
