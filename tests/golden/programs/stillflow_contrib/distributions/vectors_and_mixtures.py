"""tf.contrib.distributions: of matrices and vectors, of points, made of others; statistics."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.stillflow_contrib.distributions.counts_and_scales import (
    COUNTS,
    LOGITS,
    PROBS,
    everything,
)
from tests.golden.registry import Run, program, raised

MATRICES = np.float32([[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]])
FACTOR = np.float32([[1.5, 0.0], [0.4, 0.8]])
PAIRS = np.float32([[0.3, -1.2], [0.8, 2.0]])


def family(name, make, x):
    def build(tf):
        tf.set_random_seed(1)
        fetches, facts = everything(tf, make(tf.contrib.distributions), tf.constant(x))
        return Run(fetches, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


def components(d, **kwargs):
    cat = d.Categorical(probs=np.float32([0.3, 0.5, 0.2]))
    return d.MixtureSameFamily(cat, d.Normal(LOGITS, PROBS), **kwargs)


def components_of_vectors(d):
    cat = d.Categorical(logits=PAIRS)
    parts = d.MultivariateNormalDiag(np.float32(MATRICES), scale_identity_multiplier=0.7)
    return d.MixtureSameFamily(cat, parts, name="mixed")


def static_mixture(d):
    cat = d.Categorical(probs=np.float32([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9]]))
    parts = [d.Normal(LOGITS[0], 0.5), d.Normal(LOGITS[1], [1.0, 2.0, 0.1])]
    return d.Mixture(cat, parts, use_static_graph=True)


def low_rank(d, **kwargs):
    return d.MultivariateNormalDiagPlusLowRank(
        PAIRS[0], scale_diag=np.float32([1.0, 2.0]), scale_perturb_factor=PAIRS.T, **kwargs
    )


for _name, _make, _x in (
    ("chi2", lambda d: d.Chi2(COUNTS + 1), COUNTS + 0.5),
    ("chi2_checked", lambda d: d.Chi2(3.0, validate_args=True), COUNTS + 0.5),
    ("chi2_of_whole", lambda d: d.Chi2WithAbsDf(-COUNTS - 1.5), COUNTS + 0.5),
    ("inverse_gamma", lambda d: d.InverseGamma(COUNTS, PROBS), COUNTS + 1),
    ("inverse_gamma_checked", lambda d: d.InverseGamma(
        3.0, PROBS, validate_args=True, allow_nan_stats=False), COUNTS + 1),
    ("inverse_gamma_of_softplus", lambda d: d.InverseGammaWithSoftplusConcentrationRate(
        LOGITS, PROBS), COUNTS + 1),
    ("half_normal", lambda d: d.HalfNormal(PROBS), COUNTS),
    ("half_normal_checked", lambda d: d.HalfNormal(2.0, validate_args=True), LOGITS),
    ("point", lambda d: d.Deterministic(COUNTS), np.round(COUNTS)),
    ("point_within", lambda d: d.Deterministic(
        LOGITS, atol=0.1, rtol=0.5, validate_args=True), COUNTS),
    ("vector", lambda d: d.VectorDeterministic(PAIRS), PAIRS),
    ("vector_within", lambda d: d.VectorDeterministic(
        PAIRS, rtol=0.1, validate_args=True), PAIRS * 1.05),
    ("independent", lambda d: d.Independent(d.Normal(LOGITS, PROBS)), COUNTS),
    ("independent_all", lambda d: d.Independent(
        d.Bernoulli(logits=LOGITS), 2, validate_args=True), np.int32(COUNTS > 1)),
    ("same_family", components, COUNTS[:, 0]),
    ("same_family_of_vectors", components_of_vectors, PAIRS),
    ("static_mixture", static_mixture, COUNTS),
    ("reshaped", lambda d: d.BatchReshape(d.Normal(LOGITS, PROBS), [3, 1, 2]),
     np.reshape(COUNTS, [3, 1, 2])),
    ("reshaped_checked", lambda d: d.BatchReshape(
        d.MultivariateNormalDiag(LOGITS, PROBS), [2, -1], validate_args=True),
     np.reshape(COUNTS, [2, 1, 3])),
    ("reshaped_too_few", lambda d: d.BatchReshape(d.Normal(LOGITS, PROBS), [6]), COUNTS),
    ("poisson_of_lognormal", lambda d: d.PoissonLogNormalQuadratureCompound(
        np.float32([0.0, -0.5, 1.0]), np.float32([1.0, 0.5, 0.3])), COUNTS),
    ("poisson_of_lognormal_checked", lambda d: d.PoissonLogNormalQuadratureCompound(
        0.5, 1.0, quadrature_size=3, validate_args=True,
        quadrature_fn=d.quadrature_scheme_lognormal_gauss_hermite), COUNTS),
    ("quantized", lambda d: d.QuantizedDistribution(d.Normal(LOGITS, 2.0)), COUNTS),
    ("quantized_bounded", lambda d: d.QuantizedDistribution(
        d.Logistic(LOGITS, PROBS), low=0.0, high=3.0, validate_args=True), COUNTS),
    ("quantized_from_below", lambda d: d.QuantizedDistribution(
        d.Uniform(0.0, PROBS * 5), low=1.0), COUNTS),
    ("full_covariance", lambda d: d.MultivariateNormalFullCovariance(PAIRS, MATRICES), PAIRS),
    ("full_covariance_checked", lambda d: d.MultivariateNormalFullCovariance(
        covariance_matrix=MATRICES[0], validate_args=True), PAIRS),
    ("low_rank", low_rank, PAIRS),
    ("low_rank_checked", lambda d: low_rank(
        d, scale_perturb_diag=np.float32([0.5, 1.5]), validate_args=True), PAIRS),
    ("low_rank_of_none", lambda d: d.MultivariateNormalDiagPlusLowRank(
        PAIRS, scale_identity_multiplier=2.0, validate_args=True), PAIRS),
    ("vector_laplace", lambda d: d.VectorLaplaceDiag(PAIRS, [1.0, 2.0]), PAIRS),
    ("vector_laplace_of_one", lambda d: d.VectorLaplaceDiag(
        scale_diag=PAIRS, scale_identity_multiplier=0.5, validate_args=True), PAIRS),
    ("vector_exponential", lambda d: d.VectorExponentialDiag(PAIRS, [1.0, 2.0]), PAIRS + 3),
    ("vector_exponential_of_none", lambda d: d.VectorExponentialDiag(
        scale_diag=[1.0, 2.0], validate_args=True), PAIRS + 3),
    ("wishart", lambda d: d.WishartFull(5.0, MATRICES), MATRICES),
    ("wishart_checked", lambda d: d.WishartFull(
        np.float32([2.0, 4.0]), MATRICES, validate_args=True), MATRICES),
    ("wishart_of_factors", lambda d: d.WishartCholesky(3.0, FACTOR), MATRICES),
    ("wishart_in_factors", lambda d: d.WishartCholesky(
        3.0, FACTOR, cholesky_input_output_matrices=True, validate_args=True), FACTOR),
):  # fmt: skip
    family(_name, _make, _x)


@program
def autoregressive(tf):
    tf.set_random_seed(2)
    d = tf.contrib.distributions

    def following(before=None):
        loc = tf.zeros([3]) if before is None else tf.cumsum(before, axis=-1, exclusive=True)
        return d.Independent(d.Normal(0.5 * loc, 1.0), 1)

    auto = d.Autoregressive(following)
    fetches, facts = everything(tf, auto, tf.constant(PROBS))
    facts["steps"] = auto.num_steps
    facts["none"] = raised(d.Autoregressive, following, None, 0)
    facts["unknown"] = raised(
        d.Autoregressive, lambda: d.Independent(d.Normal(tf.placeholder(tf.float32), 1.0), 1)
    )
    return Run(fetches, facts=facts)


@program
def of_wishart(tf):
    d = tf.contrib.distributions
    df = tf.placeholder(tf.float32)
    tril = tf.placeholder(tf.float32)
    unknown = d.WishartCholesky(df, tril, validate_args=True)
    wishart = d.WishartFull(4.0, MATRICES)
    fetches = {
        "mean_log_det": wishart.mean_log_det(),
        "scale": wishart.scale(),
        "log_normalization": wishart.log_normalization(),
        "unknown": unknown.log_prob(MATRICES),
        "entropy": unknown.entropy(),
    }
    return Run(fetches, {df: 4.0, tril: FACTOR}, facts={
        "dimension": str(wishart.dimension.dtype),
        "few": raised(d.WishartFull, 1.0, MATRICES),
        "few_of_two": raised(d.WishartFull, np.float32([1.0, 3.0]), MATRICES),
        "whole": raised(d.WishartCholesky, 1, np.int32([[1]])),
        "deviation": raised(d.WishartCholesky(3.0, FACTOR, True).stddev),
    })  # fmt: skip


@program
def divergences(tf):
    d = tf.contrib.distributions
    p = d.Independent(d.Normal(LOGITS, PROBS))
    q = d.Independent(d.Normal(PROBS, 1.0))
    unknown = d.Independent(d.Normal(tf.placeholder_with_default(LOGITS, [None, None]), 1.0), 1)
    low = d.kl_divergence(low_rank(d), d.MultivariateNormalFullCovariance(PAIRS, MATRICES))
    return Run({"known": d.kl_divergence(p, q), "low": low,
                "entropy": p.cross_entropy(q), "log_prob": unknown.log_prob(COUNTS),
                "event": unknown.event_shape_tensor(), "batch": unknown.batch_shape_tensor()},
               facts={"shapes": raised(d.kl_divergence, p, d.Independent(d.Normal(PROBS, 1.0), 2)),
                      "static": str(unknown.event_shape)})  # fmt: skip


@program
def percentiles(tf):
    percentile = tf.contrib.distributions.percentile
    x = tf.constant(np.random.RandomState(3).randn(4, 5, 3).astype("float32"))
    partly = tf.placeholder(tf.float32, [None, 5, None])
    q = tf.placeholder(tf.float32, [])
    whole = tf.constant([[3, 1, 2], [9, 7, 8]])
    fetches = {
        "all": percentile(x, 30.0), "axis": percentile(x, 50, axis=1),
        "axes": percentile(x, 72.5, axis=[0, -1], interpolation="lower", keep_dims=True),
        "higher": percentile(x, 33, axis=[2], interpolation="higher"),
        "kept": percentile(whole, 40, keep_dims=True),
        "checked": percentile(partly, q, axis=[1, 2], validate_args=True, name="checked"),
        "ends": percentile(whole, 100.0, axis=-1), "first": percentile(whole, 0.0, axis=0),
    }  # fmt: skip
    return Run(fetches, {partly: np.ones([2, 5, 2]), q: 20.0}, facts={
        "shapes": [str(value.shape) for _, value in sorted(fetches.items())],
        "interpolation": raised(percentile, x, 3.0, None, "linear")["class"],
        "axis": raised(percentile, whole, 3.0, 2), "negative": raised(percentile, whole, 3.0, -3),
        "vector": raised(percentile, whole, [1.0])["class"],
        "matrix": raised(percentile, whole, 1.0, [[1]])["class"],
        "unknown": raised(percentile, tf.placeholder(tf.float32), 1.0, 0)["class"],
    })  # fmt: skip


@program
def percentile_out_of_range(tf):
    q = tf.placeholder(tf.float32, [])
    percentile = tf.contrib.distributions.percentile
    return Run({"p": percentile([1.0, 2.0], q, validate_args=True)}, {q: 101.0}, fails=True)


@program
def moving_statistics(tf):
    d = tf.contrib.distributions
    value = tf.constant(PAIRS)
    mean, variance = d.moving_mean_variance(value, decay=0.9, name="moving")
    with tf.variable_scope("own"):
        own = [tf.get_variable(name, initializer=PAIRS) for name in ("mean", "variance")]
        log = tf.get_variable("log", initializer=np.float32([0.5, 1.0]))
    updated = d.assign_moving_mean_variance(own[0], own[1], value * 2, 0.5)
    logs = d.assign_log_moving_mean_exp(log, [1.0, -2.0], 0.25)
    whole = tf.get_variable("whole", initializer=3)
    return Run({"updates": [mean, variance, updated, logs]},
                         setup=[tf.global_variables_initializer()], facts={
        "dtype": raised(d.assign_log_moving_mean_exp, whole, 1, 0.5),
        "other": raised(d.assign_moving_mean_variance, own[0], whole, 1.0, 0.5),
        "value": raised(d.moving_mean_variance, 1, 0.5),
    })  # fmt: skip


@program
def conjugates(tf):
    d = tf.contrib.distributions
    prior = d.Normal(LOGITS, PROBS)
    seen = tf.constant(COUNTS)
    after = d.normal_conjugates_known_scale_posterior(prior, 2.0, seen, 7)
    following = d.normal_conjugates_known_scale_predictive(prior, 2.0, seen, 7)
    return Run({"after": [after.loc, after.scale], "following": [following.loc, following.scale]},
               facts={"prior": raised(d.normal_conjugates_known_scale_posterior, 3, 1, seen, 1),
                      "dtype": raised(d.normal_conjugates_known_scale_posterior, prior, 1,
                                      tf.constant(1), 1)})  # fmt: skip


@program
def seeds(tf):
    stream = tf.contrib.distributions.SeedStream(7, salt="here")
    again = tf.contrib.distributions.SeedStream(stream, salt="there")
    none = tf.contrib.distributions.SeedStream(None, "here")
    return Run(
        {},
        facts={
            "seeds": [str(stream()), str(stream()), str(again())],
            "none": none(),
            "salt": again.salt,
            "seed": again.original_seed,
        },
    )


@program
def conditional(tf):
    d = tf.contrib.distributions

    class Shifted(d.ConditionalDistribution):
        def __init__(self):
            super().__init__(tf.float32, d.FULLY_REPARAMETERIZED, False, True)

        def _batch_shape(self):
            return tf.TensorShape([])

        def _event_shape(self):
            return tf.TensorShape([])

        def _sample_n(self, n, seed=None, by=0.0):
            return tf.random_normal([n], seed=seed) + by

        def _log_prob(self, x, by=0.0):
            return -tf.square(x - by)

        def _prob(self, x, by=0.0):
            return tf.exp(-tf.square(x - by))

        def _cdf(self, x, by=0.0):
            return tf.sigmoid(x - by)

        def _survival_function(self, x, by=0.0):
            return tf.sigmoid(by - x)

        def _log_cdf(self, x, by=0.0):
            return tf.log_sigmoid(x - by)

        def _log_survival_function(self, x, by=0.0):
            return tf.log_sigmoid(by - x)

    class Times(d.bijectors.ConditionalBijector):
        def __init__(self):
            super().__init__(forward_min_event_ndims=0, is_constant_jacobian=False)

        def _forward(self, x, factor=1.0):
            return x * factor

        def _inverse(self, y, factor=1.0):
            return y / factor

        def _inverse_log_det_jacobian(self, y, factor=1.0):
            return -tf.log(factor)

    tf.set_random_seed(3)
    x = tf.constant(PROBS)
    shifted = Shifted()
    both = d.ConditionalTransformedDistribution(shifted, Times(), name="both")
    given = {
        "bijector_kwargs": {"factor": tf.constant(2.0)},
        "distribution_kwargs": {"by": tf.constant(1.5)},
    }
    fetches = {"sample": shifted.sample(3, seed=1, by=2.0), "plain": shifted.log_prob(x)}
    fetches["both"] = both.sample([2, 2], seed=1, **given)
    for method in (
        "log_prob",
        "prob",
        "log_cdf",
        "cdf",
        "survival_function",
        "log_survival_function",
    ):
        fetches[method] = getattr(shifted, method)(x, by=0.5)
        fetches["both_" + method] = getattr(both, method)(x, **given)
    return Run(fetches)  # fmt: skip


@program
def auto_correlations(tf):
    x = tf.constant(np.random.RandomState(5).randn(3, 6).astype("float32"))
    found = tf.contrib.distributions.auto_correlation
    partly = tf.placeholder_with_default(x, [None, 6])
    return Run(
        {
            "all": found(x),
            "of_unknown": found(partly, max_lags=3),
            "two": found(x, axis=0, max_lags=1, center=False),
            "raw": found(x, normalize=False),
        }
    )


@program
def reshaped_of_unknown(tf):
    d = tf.contrib.distributions
    loc, x = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    shape = tf.placeholder(tf.int32, [None])
    found = d.BatchReshape(d.Normal(loc, 1.0), shape, validate_args=True)
    normal = d.Normal(LOGITS, PROBS)
    return Run({"log_prob": found.log_prob(x), "mean": found.mean(), "entropy": found.entropy(),
                "batch": found.batch_shape_tensor(), "event": found.event_shape_tensor()},
               {loc: LOGITS, x: np.reshape(COUNTS, [3, 2]), shape: [3, -1]}, facts={
        "rank": raised(d.BatchReshape, normal, 6), "size": raised(d.BatchReshape, normal, [4]),
        "zero": raised(d.BatchReshape, d.Normal(tf.placeholder(tf.float32), 1.0), [0]),
        "few": raised(d.BatchReshape(normal, [3, 2]).log_prob, COUNTS[0]),
        "other": raised(d.BatchReshape(normal, [3, 2]).log_prob, COUNTS),
    })  # fmt: skip


@program
def regression_head(tf):
    d = tf.contrib.distributions
    made = []

    def normal(logits):
        made.append(logits.name)
        return d.Normal(logits[..., 0], tf.nn.softplus(logits[..., 1]))

    head = d.estimator_head_distribution_regression(normal, logits_dimension=2)
    logits = tf.constant(PAIRS)
    trained = head.create_model_fn_ops(
        {},
        tf.contrib.learn.ModeKeys.TRAIN,
        labels=tf.constant([[1.0], [2.0]]),
        logits=logits,
        train_op_fn=lambda loss: tf.identity(loss, name="step"),
    )
    partly = tf.placeholder_with_default(np.float32([[1.0], [3.0]]), [None, 1])
    evaluated = head.create_model_fn_ops(
        {}, tf.contrib.learn.ModeKeys.EVAL, labels=partly, logits=logits + 1
    )
    return Run({"loss": trained.loss, "train": trained.train_op, "eval": evaluated.loss,
                "predictions": evaluated.predictions}, facts={
        "made": made, "metrics": sorted(evaluated.eval_metric_ops),
        "none": raised(d.estimator_head_distribution_regression, 3),
        "dimension": head.logits_dimension, "kept": len(head.distributions),
    })  # fmt: skip
