"""Matrix factorization and mixtures of normal distributions: operations, graphs, estimators."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

SMALL = np.array([[1, 0, 3, 0], [0, 2, 0.5, 1], [4, 0, 0, 2]], np.float32)
ROW_INIT = np.array([[0.1, 0.4], [0.3, -0.2], [0.5, 0.6]], np.float32)
COL_INIT = np.array([[0.2, 0.1], [-0.3, 0.5], [0.7, 0.2], [0.4, 0.9]], np.float32)
POINTS = np.concatenate(
    [
        np.stack([np.sin(np.arange(9.0)), np.cos(2.0 * np.arange(9.0))], 1),
        4 + np.stack([np.cos(3.0 * np.arange(8.0)), 2 * np.sin(np.arange(8.0))], 1),
    ]
).astype(np.float32)


def sparse(tf, matrix):
    """Return a sparse tensor like a queue's or a parser's: unknown before it runs."""
    places = np.argwhere(matrix).astype(np.int64)
    parts = (places, matrix[tuple(places.T)], np.int64(matrix.shape))
    shapes = ([None, 2], [None], [None])
    return tf.SparseTensor(
        *[tf.placeholder_with_default(part, shape) for part, shape in zip(parts, shapes)]
    )


@program
def operations(tf):
    ops = internal_module(
        tf, "stillflow_contrib.ops.factorization",
        "contrib.factorization.python.ops.gen_factorization_ops",
    )
    places = np.argwhere(SMALL).astype(np.int64)
    values = SMALL[tuple(places.T)]
    by_row, by_column = np.float32([1, 0.5, 2]), np.float32([1, 2, 0.3, 0.7])
    lhs, rhs = ops.wals_compute_partial_lhs_and_rhs(
        COL_INIT, by_column, 0.1, by_row, places, values, [], 3, False
    )
    turned_lhs, turned_rhs = ops.wals_compute_partial_lhs_and_rhs(
        COL_INIT, [], 0.1, [], places[:, ::-1], values, values, 4, True
    )
    product = ops.masked_matmul(ROW_INIT, COL_INIT, places, False, True)
    turned = ops.masked_matmul(ROW_INIT, ROW_INIT, [[1, 0], [0, 0]], True, False)
    return Run(
        {
            "lhs": lhs,
            "rhs": rhs,
            "turned_lhs": turned_lhs,
            "turned_rhs": turned_rhs,
            "product": product,
            "turned": turned,
        }
    )


def refused(name, message):
    def build(tf):
        ops = internal_module(
            tf, "stillflow_contrib.ops.factorization",
            "contrib.factorization.python.ops.gen_factorization_ops",
        )
        a = np.zeros((2, 3), np.float32)
        if name == "matmul":
            x = ops.masked_matmul(a, a, [[0, 0]], False, False)
        elif name == "ranks":
            x = ops.masked_matmul(a[0], a, [[0, 0]], False, False)
        else:
            x = ops.wals_compute_partial_lhs_and_rhs(
                a, [1.0], 0.1, [1.0], [[0, 0]], [1.0], [1.0], 1, False
            )[0]
        return Run({"x": x}, fails=True)

    build.__name__ = f"refused_{name}"
    return program(build)


refused("matmul", "incompatible")
refused("ranks", "matrix")
refused("weights", "not both")


def model(tf, sweeps=2, **settings):
    tf.set_random_seed(2)
    matrix = sparse(tf, SMALL)
    made = tf.contrib.factorization.WALSModel(
        3, 4, 2, **dict({"row_init": ROW_INIT, "col_init": COL_INIT}, **settings)
    )
    _, row_op, row_loss, row_reg, row_sum = made.update_row_factors(sp_input=matrix)
    _, col_op, col_loss, col_reg, col_sum = made.update_col_factors(
        sp_input=tf.sparse_transpose(matrix), transpose_input=True
    )
    rows = {"loss": row_loss, "regularization": row_reg, "sum": row_sum}
    columns = {"loss": col_loss, "regularization": col_reg, "sum": col_sum}
    factors = {f"row_{n}": each for n, each in enumerate(made.row_factors)}
    factors.update({f"col_{n}": each for n, each in enumerate(made.col_factors)})
    runs = []
    setup = [made.initialize_op, made.worker_init]
    for _ in range(sweeps):
        runs.append(
            Run(
                rows, setup=setup + [made.row_update_prep_gramian_op, made.initialize_row_update_op]
            )
        )
        runs.append(Run(setup=[row_op]))
        runs.append(
            Run(columns, setup=[made.col_update_prep_gramian_op, made.initialize_col_update_op])
        )
        runs.append(Run(factors, setup=[col_op]))
        setup = []
    projections = {
        "rows": made.project_row_factors(sp_input=matrix, projection_weights=[0.2, 0.5, 0.1]),
        "columns": made.project_col_factors(sp_input=matrix),
    }
    runs.append(Run(setup=[made.row_update_prep_gramian_op, made.initialize_row_update_op]))
    runs.append(Run({"rows": projections["rows"]}))
    runs.append(Run(setup=[made.col_update_prep_gramian_op, made.initialize_col_update_op]))
    runs.append(Run({"columns": projections["columns"]}))
    return runs


WHY = "two sweeps of solved equations"


@program(rtol=1e-4, reason=WHY)
def alternating_least_squares(tf):
    return model(tf, row_weights=None, col_weights=None, regularization=0.1)


@program(rtol=1e-4, reason=WHY)
def weighted(tf):
    return model(tf, unobserved_weight=0.3, regularization=0.05)


@program(rtol=1e-4, reason=WHY)
def shards(tf):
    return model(
        tf,
        num_row_shards=2,
        num_col_shards=3,
        row_init=[ROW_INIT[:2], ROW_INIT[2:]],
        col_init=[COL_INIT[:2], COL_INIT[2:3], COL_INIT[3:]],
        row_weights=[[0.5, 1.0], [0.2]],
        col_weights=0.7,
        use_scoped_vars=True,
    )


@program(rtol=1e-4, reason=WHY)
def no_copies(tf):
    return model(
        tf,
        row_weights=[0.5, 1.0, 0.2],
        col_weights=[1.0, 2.0, 0.3, 0.7],
        regularization=0.1,
        use_factors_weights_cache=False,
        use_gramian_cache=False,
        row_init=lambda: ROW_INIT * 2,
    )


@program(rtol=1e-3, atol=1e-5, reason="random factors, and " + WHY)
def random_factors(tf):
    return model(tf, row_init="random", col_init="random", regularization=0.5)


@program
def settings_refused(tf):
    made = tf.contrib.factorization.WALSModel
    return Run(
        facts={
            "weights": raised(made, 3, 4, 2, row_weights=-1, col_weights=1),
            "none": raised(made, 3, 4, 2, row_weights=None),
            "shards": raised(made, 3, 4, 2, row_weights=[1.0, 2.0]),
        }
    )


@program(rtol=1e-3, atol=1e-4, reason="six sweeps of solved equations")
def wals_estimator(tf):
    folder = tempfile.mkdtemp()
    kind = tf.contrib.factorization.WALSMatrixFactorization
    try:
        estimator = kind(
            3,
            4,
            2,
            row_init=ROW_INIT,
            col_init=COL_INIT,
            regularization_coeff=0.1,
            max_sweeps=4,
            model_dir=folder,
        )

        def input_fn(row=None):
            features = {kind.INPUT_ROWS: sparse(tf, SMALL), kind.INPUT_COLS: sparse(tf, SMALL.T)}
            if row is not None:
                features[kind.PROJECT_ROW] = tf.constant(row)
            return features, None

        estimator.fit(input_fn=input_fn, steps=10)
        facts = {
            "rows": np.round(estimator.get_row_factors()[0], 3).tolist(),
            "columns": np.round(estimator.get_col_factors()[0], 3).tolist(),
            "steps": int(estimator.get_variable_value("global_step")),
            "loss": [
                round(
                    float(estimator.evaluate(input_fn=partial(input_fn, row), steps=1)["loss"]), 3
                )
                for row in (True, False)
            ],
            "variables": sorted(estimator.get_variable_names()),
        }
        projections = estimator.get_projections(partial(input_fn, False))
        facts["projected"] = [np.round(next(projections), 3).tolist() for _ in range(4)]
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


def mixture(tf, data, steps=3, **settings):
    tf.set_random_seed(1)
    loss, scores, assignments, train_op, init_op, initialized = tf.contrib.factorization.gmm(
        data, settings.pop("initial", "random"), 2, 4, **settings
    )
    fetches = {"loss": loss, "initialized": initialized}
    if not isinstance(data, list):  # scores of several inputs raise an error
        fetches["scores"] = scores
    fetches.update({f"assigned_{n}": each for n, each in enumerate(assignments[0])})
    facts = {"variables": [variable.name for variable in tf.global_variables()]}
    runs = [Run(fetches, facts=facts, setup=[tf.global_variables_initializer(), init_op])]
    for _ in range(steps):  # one after the other: TensorFlow reads weights before or after
        runs.append(Run(fetches, setup=[train_op]))
    return runs


MIXED = "three steps of expectation maximization"


@program(rtol=1e-4, atol=1e-5, reason=MIXED)
def full_covariances(tf):
    return mixture(tf, tf.constant(POINTS))


@program(rtol=1e-4, atol=1e-5, reason=MIXED)
def variances(tf):
    return mixture(tf, tf.constant(POINTS), covariance_type="diag", initial=POINTS[[2, 11]])


@program(rtol=1e-4, atol=1e-5, reason=MIXED)
def means_of_two_inputs(tf):
    return mixture(tf, [tf.constant(POINTS[:8]), tf.constant(POINTS[8:16])], params="m")


@program(rtol=1e-4, atol=1e-5, reason=MIXED)
def weights_only(tf):
    return mixture(tf, tf.constant(POINTS), params="w", initial=POINTS[[2, 11]])


@program
def parts_of_mixtures(tf):
    kind = tf.contrib.factorization.GmmAlgorithm
    made = kind([tf.constant(POINTS)], 2)
    return Run(
        facts={
            "names": [kind.CLUSTERS_WEIGHT, kind.CLUSTERS_VARIABLE, kind.CLUSTERS_COVS_VARIABLE],
            "variables": [
                made.alphas().name,
                made.clusters().name,
                made.covariances().name,
                made.is_initialized().name,
            ],
            "type": raised(kind, [tf.constant(POINTS)], 2, covariance_type="x"),
        }
    )


@program(rtol=1e-3, atol=1e-4, reason="six steps of expectation maximization")
def mixture_estimator(tf):
    folder = tempfile.mkdtemp()
    try:
        estimator = tf.contrib.factorization.GMM(
            2, model_dir=folder, initial_clusters=POINTS[[0, 12]], random_seed=3
        )

        def input_fn():
            return {"x": tf.constant(POINTS[:, :1]), "y": tf.constant(POINTS[:, 1:])}, None

        estimator.fit(input_fn=input_fn, steps=6)
        facts = {
            "means": np.round(estimator.clusters(), 3).tolist(),
            "covariances": np.round(estimator.covariances(), 2).tolist(),
            "weights": np.round(estimator.weights(), 3).tolist(),
            "steps": int(estimator.get_variable_value("global_step")),
            "score": round(float(estimator.score(input_fn=input_fn, steps=1)), 2),
        }
        found = estimator.predict_assignments(input_fn=input_fn)
        facts["assigned"] = [int(next(found)) for _ in range(17)]
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)
