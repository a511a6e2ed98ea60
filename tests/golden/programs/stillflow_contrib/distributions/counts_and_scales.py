"""tf.contrib.distributions: counts, classes as vectors, locations and scales, relaxations."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

LOGITS = np.float32([[0.5, -1.0, 2.0], [0.0, 1.0, 0.5]])
PROBS = np.float32([[0.2, 0.5, 0.9], [0.4, 0.7, 0.1]])
COUNTS = np.float32([[0, 2, 5], [1, 3, 4]])
_STATISTICS = ("mean", "variance", "stddev", "mode", "entropy", "covariance",
               "batch_shape_tensor", "event_shape_tensor")
_OF_VALUES = ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function")


def everything(tf, d, x):
    """All that a distribution has, and what it says of the rest."""
    facts = {"name": d.name, "batch": str(d.batch_shape), "event": str(d.event_shape),
             "dtype": str(d.dtype), "kind": str(d.reparameterization_type),
             "parameters": sorted(d.parameters)}
    fetches = {}
    for name in _STATISTICS + _OF_VALUES + ("quantile", "sample"):
        args = [x] if name in _OF_VALUES else [0.3] if name == "quantile" else []
        kwargs = {}
        if name == "sample":
            args, kwargs = [4], {"seed": 3}
        try:
            fetches[name] = getattr(d, name)(*args, **kwargs)
        except (NotImplementedError, ValueError) as error:
            facts[name] = str(error)
    if "sample" in fetches:
        fetches["one"] = d.sample(seed=9)
    return fetches, facts


def family(name, make, x):
    def build(tf):
        tf.set_random_seed(1)
        fetches, facts = everything(tf, make(tf.contrib.distributions), tf.constant(x))
        return Run(fetches, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


ONE_HOT = np.eye(3, dtype="float32")[[2, 0]]
INSIDE = np.float32([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
for _name, _make, _x in (
    ("one_hot", lambda d: d.OneHotCategorical(logits=LOGITS, dtype=np.float32), ONE_HOT),
    ("one_hot_of_probs", lambda d: d.OneHotCategorical(probs=INSIDE[0]), np.int32(ONE_HOT)),
    ("relaxed_logarithms", lambda d: d.ExpRelaxedOneHotCategorical(0.5, logits=LOGITS),
     np.log(INSIDE)),
    ("relaxed", lambda d: d.RelaxedOneHotCategorical(0.7, probs=INSIDE), INSIDE),
    ("relaxed_checked", lambda d: d.ExpRelaxedOneHotCategorical(
        np.float32([0.5, 1.0]), logits=LOGITS, validate_args=True), np.log(INSIDE)),
    ("relaxed_bernoulli", lambda d: d.RelaxedBernoulli(0.7, logits=LOGITS), INSIDE),
    ("relaxed_bernoulli_of_probs", lambda d: d.RelaxedBernoulli(
        np.float32(0.3), probs=PROBS, name="relaxed"), INSIDE),
    ("poisson", lambda d: d.Poisson(np.float32([0.5, 2.0, 7.5])), COUNTS),
    ("poisson_of_logarithms", lambda d: d.Poisson(log_rate=LOGITS), COUNTS),
    ("poisson_checked", lambda d: d.Poisson(PROBS, validate_args=True), COUNTS),
    ("binomial", lambda d: d.Binomial(np.float32(5), probs=PROBS), COUNTS),
    ("binomial_of_logits", lambda d: d.Binomial(
        np.float32([5, 6, 7]), logits=LOGITS, validate_args=True), COUNTS),
    ("geometric", lambda d: d.Geometric(probs=PROBS), COUNTS),
    ("geometric_checked", lambda d: d.Geometric(LOGITS[0], validate_args=True), COUNTS),
    ("negative_binomial", lambda d: d.NegativeBinomial(np.float32(3.5), logits=LOGITS), COUNTS),
    ("negative_binomial_checked", lambda d: d.NegativeBinomial(
        np.float32([1, 2, 3]), probs=PROBS, validate_args=True), COUNTS),
    ("logistic", lambda d: d.Logistic(LOGITS, 2.0), COUNTS),
    ("logistic_checked", lambda d: d.Logistic(0.5, PROBS, validate_args=True), COUNTS),
    ("cauchy", lambda d: d.Cauchy(LOGITS, PROBS), COUNTS),
    ("cauchy_without_nan", lambda d: d.Cauchy(0.0, PROBS, allow_nan_stats=False), COUNTS),
):
    family(_name, _make, _x)


@program
def of_unknown_shape(tf):
    d = tf.contrib.distributions
    logits = tf.placeholder(tf.float32)
    rate = tf.placeholder(tf.float32, [None])
    one_hot, relaxed = d.OneHotCategorical(logits), d.ExpRelaxedOneHotCategorical(0.5, logits)
    poisson = d.Poisson(rate)
    fetches = {"mode": one_hot.mode(), "log_prob": one_hot.log_prob(np.int32(ONE_HOT)),
               "relaxed": relaxed.log_prob(np.log(INSIDE)), "poisson": poisson.log_prob(COUNTS),
               "shape": poisson.batch_shape_tensor(), "event": one_hot.event_shape_tensor(),
               "batch": one_hot.batch_shape_tensor()}
    return Run(fetches, {logits: LOGITS, rate: [1.0, 2.0, 3.0]})


@program
def through_samples(tf):
    """Gradients through relaxed samples, as in variational autoencoders."""
    tf.set_random_seed(4)
    d = tf.contrib.distributions
    logits = tf.Variable(LOGITS)
    q = d.RelaxedOneHotCategorical(0.6, logits=logits)
    y = q.sample(2, seed=5)
    b = d.RelaxedBernoulli(0.6, logits=logits).sample(seed=6)
    loss = tf.reduce_sum(tf.square(y)) + tf.reduce_sum(b * b)
    divergence = d.kl_divergence(d.OneHotCategorical(logits), d.OneHotCategorical(PROBS))
    fetches = {"grads": tf.gradients(loss, logits), "divergence": divergence,
               "kl_grads": tf.gradients(divergence, logits)}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def refused(tf):
    d = tf.contrib.distributions
    return Run({}, facts={
        "both": raised(d.OneHotCategorical, LOGITS, PROBS),
        "none": raised(d.RelaxedBernoulli, 0.5),
        "rates": raised(d.Poisson), "both_rates": raised(d.Poisson, 1.0, 1.0),
        "whole": raised(d.Poisson, 1), "whole_log": raised(d.Poisson, log_rate=2),
        "scale": raised(d.Logistic, 1, 2), "types": raised(d.Cauchy, 1.0, np.float64(2)),
        "binomial": raised(d.Binomial, 3.0), "geometric": raised(d.Geometric),
    })


@program
def in_other_words(tf):
    """Parameters that softplus makes positive, and what distributions compute of theirs."""
    tf.set_random_seed(5)
    d = tf.contrib.distributions
    x = tf.constant(COUNTS + 1)
    found = {
        "normal": d.NormalWithSoftplusScale(LOGITS, PROBS),
        "laplace": d.LaplaceWithSoftplusScale(LOGITS, PROBS),
        "gamma": d.GammaWithSoftplusConcentrationRate(LOGITS, PROBS),
        "exponential": d.ExponentialWithSoftplusRate(LOGITS),
        "student": d.StudentTWithAbsDfSoftplusScale(3.5, LOGITS, PROBS),
        "beta": d.BetaWithSoftplusConcentration(LOGITS, PROBS),
    }
    fetches = {name: each.log_prob(tf.constant(INSIDE) if name == "beta" else x)
               for name, each in sorted(found.items())}
    matrices = d.fill_triangular(np.float32([[1, 2, 3, 4, 5, 6]]))
    fetches.update({
        "softplus_inverse": d.softplus_inverse(np.float32([1e-6, 0.5, 3.0, 40.0])),
        "lower": matrices, "upper": d.fill_triangular(np.arange(3.0), upper=True),
        "vectors": d.fill_triangular_inverse(matrices),
        "diagonal": d.matrix_diag_transform(matrices, tf.nn.softplus),
        "weighted": d.reduce_weighted_logsumexp(LOGITS, PROBS - 0.5, axis=1),
        "three": d.tridiag(diag=[1.0, 2.0, 3.0], above=[4.0, 5.0]),
    })
    return Run(fetches)


def mixture(d, **kwargs):
    cat = d.Categorical(probs=np.float32([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9]]))
    return d.Mixture(cat, [d.Normal(LOGITS[0], 0.5), d.Normal(LOGITS[1], [1.0, 2.0, 0.1])],
                     **kwargs)


def of_vectors(d):
    parts = [d.MultivariateNormalDiag(PROBS), d.MultivariateNormalDiag(LOGITS, PROBS)]
    return d.Mixture(d.Categorical(logits=LOGITS[:, :2]), parts)


family("mixture", mixture, COUNTS)
family("mixture_checked", lambda d: mixture(d, validate_args=True, name="mixed"), COUNTS)
family("mixture_of_vectors", of_vectors, COUNTS)


@program
def mixtures_refused(tf):
    d = tf.contrib.distributions
    cat = d.Categorical(logits=LOGITS[0])
    normal = d.Normal(0.0, 1.0)
    return Run({"bound": mixture(d).entropy_lower_bound()}, facts={
        "cat": raised(d.Mixture, 3, [normal]),
        "none": raised(d.Mixture, cat, []), "count": raised(d.Mixture, cat, [normal]),
        "dtypes": raised(d.Mixture, cat, [normal, d.Poisson(np.float64(1))]),
        "events": raised(d.Mixture, cat, [normal, d.OneHotCategorical(LOGITS, dtype=np.float32)]),
        "number": raised(d.Mixture, cat, [1]),
    })
