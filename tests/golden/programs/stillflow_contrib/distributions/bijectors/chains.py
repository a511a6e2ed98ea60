"""tf.contrib.distributions.bijectors: chains, matrices, permutations, flows."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.stillflow_contrib.distributions.counts_and_scales import (
    COUNTS,
    LOGITS,
    PROBS,
    everything,
)
from tests.golden.registry import Run, program, raised

INSIDE = np.float32([[0.2, 0.5, 0.9], [0.4, 0.7, 0.1]])
GROWING = np.float32([[-1.0, 0.5, 2.0], [0.1, 0.3, 0.9]])
TRIANGLES = np.float32([[[1.5, 0.0], [0.4, 0.8]], [[0.5, 0.0], [-2.0, 3.0]]])
TRIANGLE = np.float32([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.3, -0.2, 0.7]])
VECTORS = np.float32([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]])


def everything_of(b, x, y, forward_ndims, inverse_ndims):
    """All that a bijector says of constants x and y of events of these ranks."""
    facts = {
        "name": b.name,
        "ranks": [b.forward_min_event_ndims, b.inverse_min_event_ndims],
        "constant": b.is_constant_jacobian,
        "dtype": str(b.dtype),
    }
    calls = {
        "forward": lambda: b.forward(x),
        "inverse": lambda: b.inverse(y),
        "again": lambda: b.inverse(b.forward(x)),
        "forward_log_det": lambda: b.forward_log_det_jacobian(x, forward_ndims),
        "inverse_log_det": lambda: b.inverse_log_det_jacobian(y, inverse_ndims),
        "forward_shape": lambda: b.forward_event_shape_tensor(x.shape[-forward_ndims:]),
        "inverse_shape": lambda: b.inverse_event_shape_tensor(y.shape[-inverse_ndims:]),
    }
    fetches = {}
    for name, call in sorted(calls.items()):
        try:
            fetches[name] = call()
        except (NotImplementedError, ValueError) as error:
            facts[name] = str(error)
    facts["static"] = [
        str(b.forward_event_shape(x.shape[-forward_ndims:])),
        str(b.inverse_event_shape(y.shape[-inverse_ndims:])),
    ]
    return fetches, facts


def family(name, make, x, y, forward_ndims=1, inverse_ndims=1):
    def build(tf):
        bijector = make(tf, tf.contrib.distributions.bijectors)
        fetches, facts = everything_of(
            bijector, tf.constant(x), tf.constant(y), forward_ndims, inverse_ndims
        )
        return Run(fetches, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


def stretched(tf, b):
    return b.Chain([b.Softsign(), b.AffineScalar(1.5, LOGITS[0] + 3), b.Gumbel(0.5, 2.0)])


def covariances(tf, b):
    return b.Chain([b.CholeskyOuterProduct(), b.ScaleTriL(diag_bijector=b.Exp())])


for _name, _make, _x, _y, *_ranks in (
    ("absolute", lambda tf, b: b.AbsoluteValue(), LOGITS, PROBS),
    ("absolute_checked", lambda tf, b: b.AbsoluteValue(True, "positive"), LOGITS, PROBS),
    ("square", lambda tf, b: b.Square(), PROBS, COUNTS),
    ("square_checked", lambda tf, b: b.Square(validate_args=True), PROBS, COUNTS),
    ("softsign", lambda tf, b: b.Softsign(), LOGITS, PROBS),
    ("softsign_checked", lambda tf, b: b.Softsign(validate_args=True), LOGITS, PROBS),
    ("gumbel", lambda tf, b: b.Gumbel(), LOGITS, INSIDE),
    ("gumbel_checked", lambda tf, b: b.Gumbel(LOGITS, PROBS, validate_args=True), LOGITS, INSIDE),
    ("kumaraswamy", lambda tf, b: b.Kumaraswamy(2.0, PROBS), INSIDE, INSIDE),
    ("kumaraswamy_checked", lambda tf, b: b.Kumaraswamy(PROBS, 0.5, True), INSIDE, INSIDE),
    ("sinh_arcsinh", lambda tf, b: b.SinhArcsinh(), LOGITS, PROBS),
    ("sinh_arcsinh_checked", lambda tf, b: b.SinhArcsinh(PROBS, 1.5, True), LOGITS, PROBS),
    ("affine_scalar", lambda tf, b: b.AffineScalar(), LOGITS, PROBS),
    ("affine_scalar_checked", lambda tf, b: b.AffineScalar(1.0, PROBS, True), LOGITS, PROBS),
    ("affine", lambda tf, b: b.Affine(), LOGITS, PROBS),
    ("affine_multiplied", lambda tf, b: b.Affine(
        LOGITS[0], scale_identity_multiplier=2.0, validate_args=True), LOGITS, PROBS),
    ("affine_diagonal", lambda tf, b: b.Affine(
        LOGITS, scale_diag=PROBS, validate_args=True), LOGITS, PROBS),
    ("affine_triangle", lambda tf, b: b.Affine(
        scale_identity_multiplier=0.5, scale_diag=PROBS[0], scale_tril=TRIANGLE,
        validate_args=True), LOGITS, PROBS),
    ("affine_perturbed", lambda tf, b: b.Affine(
        LOGITS[1], scale_identity_multiplier=1.5, scale_perturb_factor=VECTORS.T,
        scale_perturb_diag=[1.0, 0.5]), LOGITS, PROBS),
    ("affine_perturbed_triangle", lambda tf, b: b.Affine(
        scale_diag=[1.0, 2.0, 3.0], scale_perturb_factor=VECTORS.T), LOGITS, PROBS),
    ("chain", stretched, LOGITS, np.float32(INSIDE / 4 + 0.6)),
    ("chain_of_nothing", lambda tf, b: b.Chain(), LOGITS, PROBS),
    ("chain_of_ranks", covariances, VECTORS, np.matmul(TRIANGLES, TRIANGLES.transpose(0, 2, 1)),
     1, 2),
    ("inline", lambda tf, b: b.Inline(
        forward_fn=tf.exp, inverse_fn=tf.log, forward_log_det_jacobian_fn=lambda x: x,
        forward_min_event_ndims=0), LOGITS, PROBS),
    ("inline_without", lambda tf, b: b.Inline(
        forward_event_shape_fn=lambda s: s[:-1], forward_event_shape_tensor_fn=lambda s: s[:-1],
        inverse_event_shape_fn=lambda s: s, inverse_event_shape_tensor_fn=lambda s: s + 1,
        inverse_min_event_ndims=1, name="nothing"), LOGITS, PROBS),
    ("products", lambda tf, b: b.CholeskyOuterProduct(), TRIANGLES,
     np.matmul(TRIANGLES, TRIANGLES.transpose(0, 2, 1)), 2, 2),
    ("products_checked", lambda tf, b: b.CholeskyOuterProduct(validate_args=True), TRIANGLE,
     np.matmul(TRIANGLE, TRIANGLE.T), 2, 2),
    ("inverses", lambda tf, b: b.MatrixInverseTriL(), TRIANGLES, TRIANGLES, 2, 2),
    ("inverses_checked", lambda tf, b: b.MatrixInverseTriL(validate_args=True), TRIANGLES,
     TRIANGLE, 2, 2),
    ("triangles", lambda tf, b: b.FillTriangular(), VECTORS, TRIANGLES, 1, 2),
    ("triangles_checked", lambda tf, b: b.FillTriangular(
        upper=True, validate_args=True), VECTORS, TRIANGLES, 1, 2),
    ("diagonals", lambda tf, b: b.TransformDiagonal(b.Exp()), TRIANGLES, TRIANGLES, 2, 2),
    ("scales", lambda tf, b: b.ScaleTriL(), VECTORS, TRIANGLES, 1, 2),
    ("scales_without_shift", lambda tf, b: b.ScaleTriL(
        b.Exp(), None, validate_args=True), VECTORS, TRIANGLES, 1, 2),
    ("ordered", lambda tf, b: b.Ordered(), GROWING, LOGITS),
    ("ordered_checked", lambda tf, b: b.Ordered(validate_args=True), GROWING, LOGITS),
    ("permute", lambda tf, b: b.Permute([2, 0, 1]), LOGITS, PROBS),
    ("permute_checked", lambda tf, b: b.Permute(
        tf.placeholder_with_default([1, 2, 0], [None]), True, "turn"), LOGITS, PROBS),
    ("reshape", lambda tf, b: b.Reshape([2, -1], [4]), np.ones([3, 4], "float32"),
     np.ones([3, 2, 2], "float32"), 1, 2),
    ("reshape_checked", lambda tf, b: b.Reshape(
        tf.placeholder_with_default([2, 2], [2]), [-1], True), np.ones([3, 4], "float32"),
     np.ones([3, 2, 2], "float32"), 1, 2),
    ("inverted_chain", lambda tf, b: b.Invert(stretched(tf, b)), np.float32(INSIDE / 4 + 0.6),
     LOGITS),
):  # fmt: skip
    family(_name, _make, _x, _y, *_ranks)


def distribution(name, make, x):
    def build(tf):
        tf.set_random_seed(1)
        fetches, facts = everything(tf, make(tf.contrib.distributions), tf.constant(x))
        return Run(fetches, facts=facts)

    build.__name__, build.__module__ = name, __name__
    return program(build)


for _name, _make, _x in (
    ("bent", lambda d: d.SinhArcsinh(LOGITS, 2.0), COUNTS),
    ("bent_and_leaning", lambda d: d.SinhArcsinh(
        0.5, PROBS, skewness=0.3, tailweight=1.5, validate_args=True), COUNTS),
    ("bent_of_laplace", lambda d: d.SinhArcsinh(
        0.5, PROBS, distribution=d.Laplace(0.0, 1.0)), COUNTS),
    ("bent_vectors", lambda d: d.VectorSinhArcsinhDiag(LOGITS, PROBS[0]), COUNTS),
    ("bent_vectors_leaning", lambda d: d.VectorSinhArcsinhDiag(
        scale_diag=PROBS, scale_identity_multiplier=0.5, skewness=[0.1, 0.2, -0.3],
        distribution=d.Laplace(0.0, 1.0), validate_args=True), COUNTS),
    ("of_kumaraswamy", lambda d: d.Kumaraswamy(COUNTS + 0.5, 1.5), INSIDE),
    ("of_kumaraswamy_checked", lambda d: d.Kumaraswamy(
        2.0, COUNTS + 1.5, validate_args=True, allow_nan_stats=False), INSIDE),
    ("log_normal", lambda d: d.TransformedDistribution(
        d.Normal(LOGITS, PROBS), d.bijectors.Chain([d.bijectors.Exp(),
                                                   d.bijectors.AffineScalar(scale=2.0)])),
     COUNTS + 1),
    ("folded", lambda d: d.TransformedDistribution(
        d.Normal(LOGITS, PROBS), d.bijectors.AbsoluteValue()), COUNTS + 1),
):  # fmt: skip
    distribution(_name, _make, _x)


def flow(tf, bijector, x):
    d = tf.contrib.distributions
    made = d.TransformedDistribution(d.MultivariateNormalDiag(tf.zeros([4])), bijector)
    fetches = {"log_prob": made.log_prob(x), "sample": made.sample(2, seed=3)}
    fetches["gradients"] = tf.gradients(fetches["log_prob"], tf.trainable_variables())
    return Run(
        fetches,
        setup=[tf.global_variables_initializer()],
        facts={"variables": [v.name for v in tf.global_variables()]},
    )


IN_FOUR = np.float32([[0.1, -0.2, 0.5, 1.0], [0.3, 0.2, -0.1, -0.6]])


@program
def masked_flow(tf):
    tf.set_random_seed(3)
    b = tf.contrib.distributions.bijectors
    template = b.masked_autoregressive_default_template([8, 8])
    return flow(tf, b.MaskedAutoregressiveFlow(template), IN_FOUR)


@program
def masked_flow_unrolled(tf):
    tf.set_random_seed(3)
    b = tf.contrib.distributions.bijectors
    template = b.masked_autoregressive_default_template(
        [8], shift_only=True, activation=tf.tanh, name="made", kernel_initializer=None
    )
    return flow(
        tf,
        b.MaskedAutoregressiveFlow(template, is_constant_jacobian=True, unroll_loop=True),
        IN_FOUR,
    )


@program
def masked_flow_clipped(tf):
    tf.set_random_seed(3)
    b = tf.contrib.distributions.bijectors
    template = b.masked_autoregressive_default_template([4], log_scale_max_clip=0.1)
    return flow(tf, b.Invert(b.MaskedAutoregressiveFlow(template)), IN_FOUR)


@program
def real_nvp(tf):
    tf.set_random_seed(3)
    b = tf.contrib.distributions.bijectors
    template = b.real_nvp_default_template([5])
    chain = b.Chain(
        [
            b.RealNVP(2, template),
            b.Permute([3, 2, 1, 0]),
            b.RealNVP(
                1,
                b.real_nvp_default_template([3], shift_only=True),
                is_constant_jacobian=True,
                name="second",
            ),
        ]
    )
    return flow(tf, chain, tf.constant(IN_FOUR))


@program
def normalized(tf):
    tf.set_random_seed(3)
    b = tf.contrib.distributions.bijectors
    x = tf.constant(IN_FOUR)
    training, predicting = (
        b.BatchNormalization(),
        b.BatchNormalization(
            tf.layers.BatchNormalization(scale=True, center=False, name="own"), training=False
        ),
    )
    fetches = {
        "inverse": training.inverse(x),
        "log_det": training.inverse_log_det_jacobian(x, 1),
        "forward": training.forward(x + 1),
        "other": predicting.inverse(x),
        "back": predicting.forward(x + 3),
        "other_log_det": predicting.inverse_log_det_jacobian(x, 1),
    }
    return Run(
        fetches,
        setup=[tf.global_variables_initializer()],
        facts={
            "variables": [v.name for v in tf.global_variables()],
            "updates": len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)),
            "layer": raised(b.BatchNormalization, 3),
            "renorm": raised(b.BatchNormalization, tf.layers.BatchNormalization(renorm=True)),
            "virtual": raised(
                b.BatchNormalization, tf.layers.BatchNormalization(virtual_batch_size=2)
            ),
            "unknown": raised(
                training.inverse_log_det_jacobian, tf.placeholder(tf.float32, [None, 4]), 1
            ),
        },
    )


@program
def normalized_back(tf):
    b = tf.contrib.distributions.bijectors
    log_det = b.BatchNormalization().forward_log_det_jacobian(tf.constant(IN_FOUR), 1)
    return Run({"log_det": log_det}, setup=[tf.global_variables_initializer()])


@program
def of_unknown_shapes(tf):
    b = tf.contrib.distributions.bijectors
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    chain = stretched(tf, b)
    fetches = {
        "products": b.CholeskyOuterProduct(validate_args=True).forward_log_det_jacobian(
            x, event_ndims=2
        ),
        "chain": chain.forward_log_det_jacobian(y, event_ndims=1),
        "reshape": b.Reshape([3, 1], [-1], validate_args=True).forward(y),
    }
    return Run(fetches, {x: TRIANGLES, y: LOGITS})


@program
def refused(tf):
    b = tf.contrib.distributions.bijectors
    number = tf.placeholder(tf.float32, [2, None])
    return Run(
        {},
        facts={
            "absolute_chain": raised(b.Chain, [b.AbsoluteValue()]),
            "diag": raised(b.Affine, scale_perturb_diag=[1.0]),
            "affine": raised(b.Affine, np.float64([1.0]), scale_diag=[1.0]),
            "permutation": raised(b.Permute, [0, 2]),
            "whole": raised(b.Permute, [0.0, 1.0]),
            "reshape": raised(b.Reshape([2, 2], [3]).forward, np.ones([4], "float32")),
            "matrix": raised(b.Reshape, [[1]])["class"],
            "float": raised(b.Reshape, [1.0])["class"],
            "masked": raised(b.RealNVP, 0, None),
            "depth": raised(b.RealNVP(1, None).forward, number),
            "few": raised(b.RealNVP(4, None).forward, IN_FOUR),
            "dense": raised(b.masked_dense, number, 3),
            "unroll": raised(b.MaskedAutoregressiveFlow(None, unroll_loop=True).forward, number),
            "triangular": raised(b.FillTriangular().forward_event_shape, [4]),
            "square": raised(b.FillTriangular().inverse_event_shape, [2, 3]),
            "gumbel": raised(b.Gumbel, 1, 2),
            "one": raised(b.Ordered().inverse_event_shape, [1]),
            "inline": raised(b.Inline, tf.exp),
            "sinh": raised(
                tf.contrib.distributions.SinhArcsinh,
                0.0,
                1.0,
                distribution=tf.contrib.distributions.Normal(np.float64(1), np.float64(2)),
            ),
            "vector": raised(
                tf.contrib.distributions.SinhArcsinh,
                0.0,
                1.0,
                distribution=tf.contrib.distributions.Normal([1.0], 2.0),
            ),
        },
    )


@program
def reshape_out_of_range(tf):
    shape = tf.placeholder(tf.int32, [1])
    reshape = tf.contrib.distributions.bijectors.Reshape(shape, [4], validate_args=True)
    return Run({"y": reshape.forward(np.ones([4], "float32"))}, {shape: [-2]}, fails=True)
