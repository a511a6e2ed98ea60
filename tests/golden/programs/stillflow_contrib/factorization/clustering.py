"""k-means clustering: its operations, graphs and estimators."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

ROWS = np.arange(24)
POINTS = (np.array([[0.0, 0], [6, 1], [2, 7]])[ROWS % 3]
          + np.stack([np.sin(3.0 * ROWS), np.cos(5.0 * ROWS)], 1)).astype(np.float32)


@program(rtol=1e-4, reason="distances are differences of larger numbers")
def operations(tf):
    ops = internal_module(tf, "stillflow_contrib.ops.clustering", "python.ops.gen_clustering_ops")
    indices, distances = ops.nearest_neighbors(POINTS, POINTS[:5] + 0.1, 3)
    one, near = ops.nearest_neighbors(POINTS, POINTS[:5] + 0.1, 1)
    fetches = {"indices": indices, "distances": distances, "one": one, "near": near}
    for number, seed, retries in ((1, 3, 2), (4, 7, 0), (9, 123, -1), (24, 5, 3)):
        fetches[f"spread_{number}"] = ops.kmeans_plus_plus_initialization(
            POINTS, number, seed, retries)
    for seed in (0, 5, 99):
        fetches[f"chain_{seed}"] = ops.kmc2_chain_initialization(POINTS[:, 0] ** 2, seed)
    return Run(fetches)


def graph(tf, steps=2, races=False, **settings):
    tf.set_random_seed(1)
    inputs = tf.constant(POINTS)
    scores, clusters, distances, initialized, init_op, train_op = (
        tf.contrib.factorization.KMeans(inputs, 3, **settings).training_graph())
    fetches = {"scores": scores[0], "clusters": clusters[0], "distances": distances[0],
               "initialized": initialized}
    facts = {"variables": [variable.name for variable in tf.global_variables()]}
    if races:  # TensorFlow reads counts before or after it adds to them
        return Run(facts=facts)
    return Run(fetches, facts=facts, setup=[tf.global_variables_initializer(), init_op],
               train=train_op, steps=steps)


@program(rtol=1e-4, reason="distances are differences of larger numbers")
def at_random(tf):
    return graph(tf, random_seed=3)


@program
def far_from_each_other(tf):
    return graph(tf, initial_clusters="kmeans_plus_plus", random_seed=4, distance_metric="cosine")


@program
def by_chains(tf):
    return graph(tf, initial_clusters="kmc2", random_seed=4, kmc2_chain_length=8,
                 use_mini_batch=True, races=True)


@program(rtol=1e-4, reason="distances are differences of larger numbers")
def given_centers(tf):
    return graph(tf, initial_clusters=POINTS[:3] + 1)


@program
def batches(tf):
    return graph(tf, initial_clusters=POINTS[3:6] * 2, use_mini_batch=True, races=True)


@program
def centers_that_wait(tf):
    return graph(tf, initial_clusters=POINTS[3:6] * 2, use_mini_batch=True, races=True,
                 mini_batch_steps_per_iteration=2, distance_metric="cosine")


@program(rtol=1e-4, reason="distances are differences of larger numbers")
def own_centers(tf):
    return graph(tf, initial_clusters=lambda inputs, number: inputs[0][:3] * 0.5)


@program(rtol=1e-4, reason="ten steps of training")
def an_estimator(tf):
    folder = tempfile.mkdtemp()
    try:
        estimator = tf.contrib.factorization.KMeansClustering(
            3, folder, initial_clusters="kmeans_plus_plus", random_seed=2, use_mini_batch=False,
            relative_tolerance=1e-4)

        def input_fn():
            return tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1)

        steps = []
        for _ in range(3):
            estimator.train(input_fn)
            steps.append(int(estimator.get_variable_value("global_step")))
        facts = {"centers": np.round(estimator.cluster_centers(), 3).tolist(), "steps": steps,
                 "score": round(float(estimator.score(input_fn)), 3),
                 "clusters": [int(each) for each in estimator.predict_cluster_index(input_fn)],
                 "far": np.round(next(iter(estimator.transform(input_fn))), 2).tolist()}
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program(rtol=1e-4, reason="ten steps of training")
def the_older_estimator(tf):
    folder = tempfile.mkdtemp()
    try:
        estimator = tf.contrib.learn.KMeansClustering(
            3, folder, initial_clusters=POINTS[:3] + 1.0, use_mini_batch=False)

        def input_fn():
            return tf.constant(POINTS), None

        estimator.fit(input_fn=input_fn, steps=5)
        facts = {"centers": np.round(estimator.clusters(), 3).tolist(),
                 "score": round(float(estimator.score(input_fn=input_fn, steps=1)), 3),
                 "clusters": [int(next(each)) for each in
                              [estimator.predict_cluster_idx(input_fn=input_fn)]]}
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program(rtol=1e-4, reason="some steps of training")
def the_estimator_of_today(tf):
    folder = tempfile.mkdtemp()
    try:
        config = tf.estimator.RunConfig(folder, tf_random_seed=4)
        estimator = tf.estimator.experimental.KMeans(3, seed=2, use_mini_batch=False,
                                                     config=config)

        def input_fn():
            return tf.constant(POINTS)

        estimator.train(input_fn, steps=3)
        clusters = estimator.predict_cluster_index(input_fn)
        facts = {"centers": np.round(estimator.cluster_centers(), 3).tolist(),
                 "clusters": [int(next(clusters)) for _ in range(6)],
                 "far": np.round(next(iter(estimator.transform(input_fn))), 2).tolist()}
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program
def refusals(tf):
    factorization = tf.contrib.factorization
    facts = {
        "initial": raised(factorization.KMeans, POINTS, 3, initial_clusters="x"),
        "metric": raised(factorization.KMeans, POINTS, 3, distance_metric="x"),
        "estimator": raised(factorization.KMeansClustering, 3, initial_clusters="kmc2"),
        "names": [factorization.COSINE_DISTANCE, factorization.SQUARED_EUCLIDEAN_DISTANCE,
                  factorization.RANDOM_INIT, factorization.KMEANS_PLUS_PLUS_INIT],
    }
    return Run(facts=facts)
