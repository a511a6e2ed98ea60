"""tf.contrib.distributions.VectorDiffeomixture: vectors between two ways to stretch them."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.stillflow_contrib.distributions.counts_and_scales import everything
from tests.golden.registry import Run, program, raised

X = np.float32([[0.5, -1.0, 2.0], [0.0, 1.0, 0.5]])
TRIL = np.float32([[1.5, 0.0, 0.0], [0.4, 0.8, 0.0], [-0.3, 0.2, 1.1]])


def family(name, make, x=X):
    def build(tf):
        tf.set_random_seed(1)
        fetches, facts = everything(tf, make(tf, tf.contrib.distributions), tf.constant(x))
        return Run(fetches, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


def scaled(tf, multiplier, rows=3):
    return tf.linalg.LinearOperatorScaledIdentity(
        rows, np.float32(multiplier), is_positive_definite=True)


def diagonal(tf, diag):
    return tf.linalg.LinearOperatorDiag(np.float32(diag), is_positive_definite=True)


def of_identities(tf, d):
    return d.VectorDiffeomixture(
        [[0.0], [1.0]], [1.0], d.Normal(loc=0.0, scale=1.0),
        loc=[None, np.float32([2.0, 1.0, 0.0])],
        scale=[scaled(tf, 1.1), scaled(tf, 0.4)], quadrature_size=3)


def of_diagonals(tf, d):
    return d.VectorDiffeomixture(
        [[0.5], [1.0]], [0.7], d.Normal(loc=0.5, scale=2.0),
        loc=[np.float32([1.0, 0.0, -1.0]), np.float32([2.0, 1.0, 0.0])],
        scale=[scaled(tf, 1.1), diagonal(tf, [2.5, 1.0, 3.5])], quadrature_size=4,
        validate_args=True, name="checked")


def of_triangles(tf, d):
    return d.VectorDiffeomixture(
        [0.3], [1.5], d.Normal(loc=0.0, scale=0.5), loc=[np.float32([1.0, 0.0, -1.0]), None],
        scale=[tf.linalg.LinearOperatorLowerTriangular(TRIL), diagonal(tf, [1.0, 2.0, 0.5])],
        quadrature_size=2)


def of_batches(tf, d):
    return d.VectorDiffeomixture(
        [[0.0], [-1.0]], [[0.5], [2.0]], d.Laplace(loc=0.0, scale=1.0),
        scale=[tf.linalg.LinearOperatorIdentity(3), diagonal(tf, [[1.0, 2.0, 3.0],
                                                                  [0.5, 0.4, 0.3]])],
        quadrature_size=3, allow_nan_stats=False)


family("identities", of_identities)
family("diagonals", of_diagonals)
family("triangles", of_triangles, X[0])
family("batches", of_batches)


@program
def parts(tf):
    mixture = of_diagonals(tf, tf.contrib.distributions)
    return Run({
        "grid": mixture.grid, "probs": mixture.mixture_distribution.probs,
        "ends": [affine.forward(tf.constant(X)) for affine in mixture.endpoint_affine],
        "between": [affine.shift for affine in mixture.interpolated_affine],
    }, facts={"distribution": type(mixture.distribution).__name__})


@program
def quadratures(tf):
    d = tf.contrib.distributions
    loc = tf.placeholder(tf.float32, name="loc")
    known = np.float32([[0.5], [-1.0]])
    fn = d.quadrature_scheme_softmaxnormal_quantiles
    scale = tf.placeholder_with_default([2.0], None)
    return Run({
        "known": fn(known, np.float32([1.5]), 4),
        "unknown": fn(loc, [[2.0]], 3, validate_args=True),
    }, {loc: known}, facts={"checked": raised(fn, known, scale, 2, True, "named")})


@program
def gradients(tf):
    d = tf.contrib.distributions
    loc, temperature = tf.constant([[0.5]]), tf.constant([1.5])
    diag = tf.constant([1.0, 2.0, 0.5])
    mixture = d.VectorDiffeomixture(
        loc, temperature, d.Normal(loc=0.0, scale=1.0), loc=[None, diag + 1],
        scale=[scaled(tf, 1.1), tf.linalg.LinearOperatorDiag(diag, is_positive_definite=True)],
        quadrature_size=3)
    ys = [mixture.log_prob(X[0]), mixture.sample(3, seed=2)]
    return Run({"gradients": [tf.gradients(y, [loc, temperature, diag]) for y in ys]})


@program
def refused(tf):
    d = tf.contrib.distributions
    normal = d.Normal(loc=0.0, scale=1.0)
    ends = [scaled(tf, 1.0), scaled(tf, 2.0)]
    make = d.VectorDiffeomixture
    double = tf.linalg.LinearOperatorScaledIdentity(3, 2.0 * np.ones([]))
    indefinite = tf.linalg.LinearOperatorDiag(np.float32([1, 2, 3]))
    return Run({"x": tf.zeros([])}, facts={
        "no scale": raised(make, [0.0], [1.0], normal),
        "one scale": raised(make, [0.0], [1.0], normal, scale=ends[:1]),
        "three": raised(make, [0.0], [1.0], normal, scale=ends + ends[:1]),
        "locs": raised(make, [0.0], [1.0], normal, loc=[None], scale=ends),
        "types": raised(make, [0.0], [1.0], normal, scale=[ends[0], double]),
        "definite": raised(make, [0.0], [1.0], normal, scale=[ends[0], indefinite],
                           validate_args=True),
        "scalar": raised(make, 0.0, 1.0, normal, scale=ends),
        "components": raised(make, [0.0, 1.0], [1.0, 1.0], normal, scale=ends),
        "batch": raised(make, [0.0], [1.0], d.Normal(loc=[0.0], scale=1.0), scale=ends),
        "operator": raised(make, [0.0], [1.0], normal, scale=[
            ends[0], tf.linalg.LinearOperatorFullMatrix(TRIL)]),
    })
