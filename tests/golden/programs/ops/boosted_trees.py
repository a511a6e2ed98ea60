"""Operations of boosted trees: statistics, splits, growth, predictions, quantiles."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

RANDOM = np.random.RandomState(7)
NODES = RANDOM.randint(0, 3, 50).astype(np.int32)
GRADIENTS = RANDOM.randn(50, 1).astype(np.float32)
HESSIANS = (RANDOM.rand(50, 1) + 0.1).astype(np.float32)
FEATURES = RANDOM.randint(0, 5, (4, 50)).astype(np.int32)
VALUES = RANDOM.randn(2, 500).astype(np.float32)
WEIGHTS = RANDOM.rand(500).astype(np.float32)


def summaries(tf, features=FEATURES, splits=7, buckets=5):
    return [
        tf.squeeze(tf.raw_ops.BoostedTreesMakeStatsSummary(
            node_ids=NODES, gradients=GRADIENTS, hessians=HESSIANS,
            bucketized_features_list=[feature], max_splits=splits, num_buckets=buckets), 0)
        for feature in features
    ]


def gains(tf, stats, nodes, l1=0.0, l2=0.0, complexity=0.0, weight=0.0):
    return tf.raw_ops.BoostedTreesCalculateBestGainsPerFeature(
        node_id_range=nodes, stats_summary_list=stats, l1=l1, l2=l2, tree_complexity=complexity,
        min_node_weight=weight, max_splits=7)


def ensemble(tf, name="ensemble"):
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(shared_name=name, container="")
    create = tf.raw_ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle, stamp_token=3, tree_ensemble_serialized="")
    return handle, create


@program
def statistics_and_gains(tf):
    stats = summaries(tf)
    found = {
        "plain": gains(tf, stats, [0, 3]),
        "regularized": gains(tf, stats, [0, 3], 0.3, 0.7),
        "complex": gains(tf, stats, [1, 2], complexity=0.5),
        "heavy": gains(tf, stats, [0, 5], weight=9.0),
    }
    fetches = {f"{name}_{part}": getattr(each, part)
               for name, each in found.items() for part in each._fields}
    fetches["stats"] = stats
    fetches["one_bucket_too_many"] = tf.raw_ops.BoostedTreesMakeStatsSummary(
        node_ids=NODES % 2, gradients=GRADIENTS, hessians=HESSIANS,
        bucketized_features_list=[FEATURES[0]], max_splits=3, num_buckets=4)
    return Run(fetches)


@program
def splits_of_several_dimensions(tf):
    feature = FEATURES.T[:, :2].copy()
    feature[::7, 1] = -1
    dense = tf.raw_ops.BoostedTreesAggregateStats(
        node_ids=NODES, gradients=GRADIENTS, hessians=HESSIANS, feature=feature, max_splits=3,
        num_buckets=5)
    places = np.argwhere(feature[:, :2] > 1).astype(np.int32)
    sparse = tf.raw_ops.BoostedTreesSparseAggregateStats(
        node_ids=NODES, gradients=GRADIENTS, hessians=HESSIANS, feature_indices=places,
        feature_values=feature[places[:, 0], places[:, 1]], feature_shape=[50, 2], max_splits=3,
        num_buckets=5)
    fetches = {"dense": dense, "sparse": list(sparse)}
    shared = {"node_id_range": [0, 3], "l1": 0.1, "l2": 0.2, "tree_complexity": 0.1,
              "min_node_weight": 0.0, "logits_dimension": 1}
    for kind in ("inequality", "equality"):
        fetches[kind] = list(tf.raw_ops.BoostedTreesCalculateBestFeatureSplit(
            stats_summary=dense, split_type=kind, **shared))
    fetches["of_sparse"] = list(tf.raw_ops.BoostedTreesSparseCalculateBestFeatureSplit(
        stats_summary_indices=sparse[0], stats_summary_values=sparse[1],
        stats_summary_shape=sparse[2], **shared))
    return Run(fetches)


@program
def splits_of_several_logits(tf):
    gradients = np.concatenate([GRADIENTS, GRADIENTS[::-1]], 1)
    fetches = {}
    full = np.stack([HESSIANS[:, 0], 0.1 * GRADIENTS[:, 0], 0.1 * GRADIENTS[:, 0],
                     HESSIANS[::-1, 0]], 1)
    for name, hessians in (("diagonal", full[:, [0, 3]]), ("full", full)):
        stats = tf.raw_ops.BoostedTreesAggregateStats(
            node_ids=NODES, gradients=gradients, hessians=hessians, feature=FEATURES.T[:, :2],
            max_splits=3, num_buckets=5)
        fetches[name] = list(tf.raw_ops.BoostedTreesCalculateBestFeatureSplit(
            node_id_range=[0, 3], stats_summary=stats, l1=0.0, l2=0.5, tree_complexity=0.0,
            min_node_weight=0.1, logits_dimension=2))
    return Run(fetches)


def grown(tf, pruning, complexity=0.0, old=True):
    """Grow three layers at each step; return the fetches and the training op."""
    handle, create = ensemble(tf)
    zeros = tf.zeros([50], tf.int32)
    states = tf.raw_ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle)
    training = tf.raw_ops.BoostedTreesTrainingPredict(
        tree_ensemble_handle=handle, cached_tree_ids=zeros, cached_node_ids=zeros - 1,
        bucketized_features=list(FEATURES), logits_dimension=1)
    stats = [tf.squeeze(tf.raw_ops.BoostedTreesMakeStatsSummary(
        node_ids=training.node_ids, gradients=training.partial_logits - 3.0 * GRADIENTS,
        hessians=HESSIANS, bucketized_features_list=[feature], max_splits=7, num_buckets=5), 0)
        for feature in FEATURES]
    best = gains(tf, stats, states.last_layer_nodes_range, l2=0.1, complexity=complexity)
    shared = {
        "tree_ensemble_handle": handle, "feature_ids": [0, 1, 2, 3],
        "node_ids": best.node_ids_list, "gains": best.gains_list,
        "thresholds": best.thresholds_list, "left_node_contribs": best.left_node_contribs_list,
        "right_node_contribs": best.right_node_contribs_list, "max_depth": 3,
        "learning_rate": 0.3, "pruning_mode": pruning,
    }
    if old:
        train = tf.raw_ops.BoostedTreesUpdateEnsemble(**shared)
    else:
        kinds = [tf.fill(tf.shape(each), "EQUALITY_DEFAULT_RIGHT") for each in best.node_ids_list]
        train = tf.raw_ops.BoostedTreesUpdateEnsembleV2(
            dimension_ids=[each * 0 for each in best.node_ids_list], split_types=kinds, **shared)
    predicted = tf.raw_ops.BoostedTreesPredict(
        tree_ensemble_handle=handle, bucketized_features=list(FEATURES), logits_dimension=1)
    _, serialized = tf.raw_ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    ready = tf.raw_ops.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=handle)
    fetches = {"predicted": predicted, "serialized": serialized, "ready": ready,
               "states": list(states), "training": list(training)}
    return fetches, create, train


@program
def growing(tf):
    fetches, create, train = grown(tf, 0)
    return Run(fetches, setup=[create, create], train=train, steps=7)


@program
def pruning_before(tf):
    fetches, create, train = grown(tf, 1, 20.0)
    return Run(fetches, setup=[create], train=train, steps=8)


@program
def pruning_after(tf):
    fetches, create, train = grown(tf, 2, 20.0)
    return Run(fetches, setup=[create], train=train, steps=8)


@program
def splitting_by_equality(tf):
    fetches, create, train = grown(tf, 0, old=False)
    return Run(fetches, setup=[create], train=train, steps=5)


@program
def centering_and_explaining(tf):
    handle, create = ensemble(tf)
    center = tf.raw_ops.BoostedTreesCenterBias(
        tree_ensemble_handle=handle, mean_gradients=[[0.4]], mean_hessians=[[2.0]], l1=0.1, l2=0.2)
    _, serialized = tf.raw_ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    split = tf.raw_ops.BoostedTreesUpdateEnsemble(
        tree_ensemble_handle=handle, feature_ids=[1], node_ids=[[0]], gains=[[0.5]],
        thresholds=[[2]], left_node_contribs=[[[0.25]]], right_node_contribs=[[[-0.5]]],
        max_depth=1, learning_rate=0.5, pruning_mode=0)
    explained = tf.raw_ops.BoostedTreesExampleDebugOutputs(
        tree_ensemble_handle=handle, bucketized_features=list(FEATURES), logits_dimension=1)
    again = tf.raw_ops.BoostedTreesDeserializeEnsemble(
        tree_ensemble_handle=handle, stamp_token=9, tree_ensemble_serialized=serialized)
    states = tf.raw_ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle)
    with tf.control_dependencies([center]):
        centered = tf.identity(center)
    return [
        Run({"serialized": serialized, "states": list(states)}, setup=[create], train=centered,
            steps=3),
        Run({"explained": explained, "serialized": serialized, "states": list(states)},
            train=split, steps=3),
        Run({"serialized": serialized, "states": list(states)}, train=again),
    ]


@program
def quantiles(tf):
    handle = tf.raw_ops.BoostedTreesQuantileStreamResourceHandleOp(shared_name="q", container="")
    create = tf.raw_ops.BoostedTreesCreateQuantileStreamResource(
        quantile_stream_resource_handle=handle, epsilon=0.05, num_streams=2)
    single = tf.raw_ops.BoostedTreesMakeQuantileSummaries(
        float_values=list(VALUES), example_weights=[1.0], epsilon=0.05)
    made = tf.raw_ops.BoostedTreesMakeQuantileSummaries(
        float_values=list(np.round(VALUES, 1)), example_weights=WEIGHTS, epsilon=0.05)
    add = [tf.raw_ops.BoostedTreesQuantileStreamResourceAddSummaries(
        quantile_stream_resource_handle=handle, summaries=each) for each in (single, made)]
    flush = [tf.raw_ops.BoostedTreesQuantileStreamResourceFlush(
        quantile_stream_resource_handle=handle, num_buckets=count, generate_quantiles=as_quantiles)
        for count, as_quantiles in ((10, False), (10, True))]
    boundaries = tf.raw_ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
        quantile_stream_resource_handle=handle, num_features=2)
    flushed = tf.raw_ops.BoostedTreesFlushQuantileSummaries(
        quantile_stream_resource_handle=handle, num_features=2)
    buckets = tf.raw_ops.BoostedTreesBucketize(
        float_values=list(VALUES), bucket_boundaries=boundaries)
    read = tf.raw_ops.BoostedTreesQuantileStreamResourceDeserialize(
        quantile_stream_resource_handle=handle,
        bucket_boundaries=[tf.placeholder_with_default(each, None) for each in ([1.0, 2.0], [0.5])])
    ready = tf.raw_ops.IsBoostedTreesQuantileStreamResourceInitialized(
        quantile_stream_resource_handle=handle)
    found = {"boundaries": boundaries, "buckets": buckets}
    return [
        Run({"ready": ready}),
        Run({"single": single, "made": made, "ready": ready}, setup=[create, *add]),
        Run(found, setup=[flush[0]]),
        Run(found, setup=[add[1], add[0], add[1], flush[1]]),
        Run({"flushed": flushed}, setup=[add[0]]),
        Run(found, setup=[read]),
    ]


@program
def what_is_refused(tf):
    handle, _ = ensemble(tf)
    missing = tf.raw_ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle).num_trees
    ops = tf.raw_ops
    facts = {
        "stats": raised(summaries, tf, [FEATURES[0][:3]]),
        "range": raised(gains, tf, summaries(tf), [0, 1, 2]),
        "predict": raised(ops.BoostedTreesPredict, tree_ensemble_handle=handle,
                          bucketized_features=[[1], [1, 2]], logits_dimension=1),
        "update": raised(ops.BoostedTreesUpdateEnsemble, tree_ensemble_handle=handle,
                         feature_ids=[1, 2], node_ids=[[0]], gains=[[0.5]], thresholds=[[2]],
                         left_node_contribs=[[[0.25]]], right_node_contribs=[[[-0.5]]],
                         max_depth=1, learning_rate=0.5, pruning_mode=0),
        "contribs": raised(ops.BoostedTreesUpdateEnsemble, tree_ensemble_handle=handle,
                           feature_ids=[1], node_ids=[[0]], gains=[[0.5]], thresholds=[[2]],
                           left_node_contribs=[[[0.25, 1.0]]], right_node_contribs=[[[-0.5]]],
                           max_depth=1, learning_rate=0.5, pruning_mode=0),
    }
    return Run({"missing": missing}, fails=True, facts=facts)
