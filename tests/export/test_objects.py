"""Operations that change objects of the session, as modules of PyTorch with the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.export.calls import Cases, floats

import stillflow as tf
from stillflow.export import ExportError, to_torch
from stillflow.protos import file
from stillflow_contrib.tensor_forest import tensor_forest

pytestmark = pytest.mark.filterwarnings("ignore")
raw: Any = tf.raw_ops
case = Cases("exported_objects.txt")


def in_order(*makers: Callable[[], Any]) -> list[Any]:
    """Make operations each of which waits for the ones before; return what all give."""
    found: list[Any] = []
    before: list[Any] = []
    for make in makers:
        with tf.control_dependencies(before):
            made = make()
        outputs = tf.contrib.framework.nest.flatten(made)
        found += outputs
        before = [each if isinstance(each, tf.Operation) else each.op for each in outputs]
    with tf.control_dependencies(before):
        return [*found, tf.no_op()]


# ---- staging areas


@case("Stage", "Unstage", "StagePeek", "StageSize", "StageClear")
def staging(fed: Any) -> Any:
    rows, kind = fed(floats(3, 2)), {"dtypes": [tf.float32, tf.string], "shared_name": "a"}

    def put(place: int) -> Callable[[], Any]:
        return lambda: raw.Stage(values=[rows[place], f"row {place}"], shared_name="a")

    return in_order(
        put(0), put(1), lambda: raw.StageSize(**kind), lambda: raw.StagePeek(index=1, **kind),
        lambda: raw.Unstage(**kind), put(2), lambda: raw.Unstage(**kind),
        lambda: raw.StageClear(**kind), lambda: raw.StageSize(**kind),
    )  # fmt: skip


def _maps(prefix: str, fed: Any) -> Any:
    rows = fed(floats(4, 2))
    kind = {"dtypes": [tf.float32, tf.float32], "shared_name": f"{prefix}map"}

    def op(name: str, **given: Any) -> Callable[[], Any]:
        return lambda: getattr(raw, f"{prefix}Map{name}")(**given, **kind)

    def put(key: int, indices: list[int], *places: int) -> Callable[[], Any]:
        values = [rows[place] for place in places]
        return op("Stage", key=np.int64(key), indices=indices, values=values)

    both = [0, 1]
    return in_order(
        put(7, both, 0, 1), put(3, both, 2, 3), put(5, [1], 0), op("Size"), op("IncompleteSize"),
        op("Peek", key=np.int64(3), indices=both), op("UnstageNoKey", indices=both),
        put(5, [0], 3), op("Unstage", key=np.int64(5), indices=both), op("Clear"), op("Size"),
    )  # fmt: skip


_PARTS = ("Stage", "Size", "IncompleteSize", "Peek", "UnstageNoKey", "Unstage", "Clear")


@case(*(f"Map{part}" for part in _PARTS))
def maps(fed: Any) -> Any:
    return _maps("", fed)


@case(*(f"OrderedMap{part}" for part in _PARTS))
def ordered_maps(fed: Any) -> Any:
    return _maps("Ordered", fed)


# ---- accumulators


def _accumulated(prefix: str, fed: Any) -> Any:
    handle = getattr(raw, f"{prefix}ConditionalAccumulator")(
        dtype=tf.float32, shape=[2], shared_name=f"{prefix} sums"
    )
    rows = fed(floats(3, 2))

    def op(name: str, **given: Any) -> Callable[[], Any]:
        return lambda: getattr(raw, f"{prefix}Accumulator{name}")(handle=handle, **given)

    def add(place: int, step: int) -> Callable[[], Any]:
        return op("ApplyGradient", local_step=np.int64(step), gradient=rows[place])

    return in_order(
        op("SetGlobalStep", new_global_step=np.int64(4)), add(0, 5), add(1, 3), add(2, 4),
        op("NumAccumulated"), op("TakeGradient", num_required=2, dtype=tf.float32),
        op("NumAccumulated"),
    )  # fmt: skip


_USES = ("SetGlobalStep", "ApplyGradient", "NumAccumulated", "TakeGradient")


@case("ConditionalAccumulator", *(f"Accumulator{use}" for use in _USES))
def accumulators(fed: Any) -> Any:
    return _accumulated("", fed)


@case("ResourceConditionalAccumulator", *(f"ResourceAccumulator{use}" for use in _USES))
def accumulators_of_resources(fed: Any) -> Any:
    return _accumulated("Resource", fed)


@case(
    "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient",
)  # fmt: skip
def sparse_accumulators(fed: Any) -> Any:
    handle = raw.SparseConditionalAccumulator(
        dtype=tf.float32, shape=[5, 2], shared_name="slices", reduction_type="SUM"
    )
    rows = fed(floats(4, 2))

    def add(first: int, *indices: int) -> Callable[[], Any]:
        return lambda: raw.SparseAccumulatorApplyGradient(
            handle=handle, local_step=np.int64(0), gradient_indices=np.int64(indices),
            gradient_values=rows[first : first + 2], gradient_shape=np.int64([5, 2]),
            has_known_shape=True,
        )  # fmt: skip

    return in_order(
        add(0, 1, 4), add(2, 0, 4),
        lambda: raw.SparseAccumulatorTakeGradient(
            handle=handle, num_required=2, dtype=tf.float32
        ),
    )  # fmt: skip


# ---- tables


@case("HashTableV2", "InitializeTableV2")
def tables_that_are_filled(fed: Any) -> Any:
    table = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.string, shared_name="names")
    keys, values = fed(np.array([3, 1])), fed(np.array([b"three", b"one"], object))
    return in_order(
        lambda: raw.InitializeTableV2(table_handle=table, keys=keys, values=values),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=keys + 2, default_value="none"),
    )


def unknown(x: Any) -> Any:
    """Return a tensor whose shape the graph does not know."""
    return tf.placeholder_with_default(x, None)


def _dense_table(version: str, fed: Any) -> Any:
    table = getattr(raw, f"MutableDenseHashTable{version}")(
        empty_key=np.int64(-1), value_dtype=tf.float32, value_shape=[], shared_name="dense",
        **({"deleted_key": np.int64(-2)} if version else {}),
    )  # fmt: skip

    def op(name: str, **given: Any) -> Callable[[], Any]:
        return lambda: getattr(raw, f"LookupTable{name}{version}")(table_handle=table, **given)

    keys, values = fed(np.array([3, 1, 8])), fed(floats(3))
    return in_order(
        op("Insert", keys=keys, values=values), op("Size"),
        op("Find", keys=keys + 2, default_value=9.0),
    )  # fmt: skip


@case("MutableDenseHashTableV2")
def dense_tables(fed: Any) -> Any:
    return _dense_table("V2", fed)


@case("MutableDenseHashTable")
def old_dense_tables(fed: Any) -> Any:
    return _dense_table("", fed)


@case("MutableHashTableOfTensors", "LookupTableImport")
def old_tables_of_vectors(fed: Any) -> Any:
    table = raw.MutableHashTableOfTensors(
        key_dtype=tf.string, value_dtype=tf.int64, value_shape=[2], shared_name="vectors"
    )
    keys, values = fed(np.array([b"a", b"b"], object)), fed(np.array([[1, 2], [3, 4]]))
    return in_order(
        lambda: raw.LookupTableInsert(table_handle=table, keys=keys, values=values),
        lambda: raw.LookupTableImport(
            table_handle=table, keys=unknown(keys[1:]), values=unknown(values[:1])
        ),
        lambda: raw.LookupTableFind(
            table_handle=table, keys=keys, default_value=np.array([0, 0])
        ),
    )  # fmt: skip


# ---- variables


@case("IsVariableInitialized")
def variables_that_begin(fed: Any) -> Any:
    old = tf.get_variable("old", initializer=floats(2), use_resource=False)
    new = tf.get_variable("new", initializer=floats(3), use_resource=True)
    return in_order(
        lambda: raw.IsVariableInitialized(ref=old._ref()),
        lambda: fed(floats(2)) + old,
        lambda: new.read_value() * 2.0,
    )


# ---- barriers and mutexes


@case(
    "Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize",
    "BarrierIncompleteSize",
)  # fmt: skip
def barriers(fed: Any) -> Any:
    handle = raw.Barrier(
        component_types=[tf.float32, tf.int64], shapes=[[2], []], shared_name="barrier"
    )
    rows, numbers = fed(floats(3, 2)), fed(np.array([7, 8]))

    def insert(place: int, keys: list[str], values: Any) -> Callable[[], Any]:
        return lambda: raw.BarrierInsertMany(
            handle=handle, keys=keys, values=values, component_index=place
        )

    def size(kind: str) -> Callable[[], Any]:
        return lambda: getattr(raw, f"Barrier{kind}Size")(handle=handle)

    def take(count: int) -> Callable[[], Any]:
        return lambda: raw.BarrierTakeMany(
            handle=handle, num_elements=count, component_types=[tf.float32, tf.int64]
        )

    return in_order(
        insert(0, ["a", "b", "c"], rows), size("Ready"), insert(1, ["c", "a"], numbers),
        size("Ready"), size("Incomplete"), take(2),
        lambda: raw.BarrierClose(handle=handle, cancel_pending_enqueues=False),
    )  # fmt: skip


@case("MutexV2", "MutexLock", "ConsumeMutexLock")
def critical_sections(fed: Any) -> Any:
    variable = tf.get_variable("v", initializer=floats(2), use_resource=True)
    section, rows = tf.CriticalSection(name="one"), fed(floats(3, 2))
    first = section.execute(lambda: variable.assign_add(rows[0]) * 2.0)
    with tf.control_dependencies([first]):
        second = section.execute(lambda: variable.assign_add(rows[1]) + 1.0)
    return [first, second, variable.assign_add(rows[2] * 0.0).op]


# ---- ensembles of trees

_BUCKETS = np.int32([[0, 1, 2, 3, 1], [2, 2, 0, 1, 3]])


def _ensemble() -> Any:
    return raw.BoostedTreesEnsembleResourceHandleOp(shared_name="trees", container="")


def _created(handle: Any) -> Callable[[], Any]:
    return lambda: raw.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle, stamp_token=np.int64(3), tree_ensemble_serialized=""
    )


def _read(handle: Any) -> list[Callable[[], Any]]:
    return [
        lambda: list(raw.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)),
        lambda: raw.BoostedTreesPredict(
            tree_ensemble_handle=handle, bucketized_features=list(_BUCKETS), logits_dimension=1
        ),
    ]  # fmt: skip


def _split(handle: Any, gains: Any) -> dict[str, Any]:
    return {
        "tree_ensemble_handle": handle, "feature_ids": [0, 1], "node_ids": [[0], [0]],
        "gains": [gains[:1], gains[1:]], "thresholds": [[1], [2]],
        "left_node_contribs": [[[0.25]], [[0.5]]], "right_node_contribs": [[[-0.5]], [[0.75]]],
        "max_depth": 2, "learning_rate": 0.5, "pruning_mode": 0,
    }  # fmt: skip


@case(
    "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesCreateEnsemble", "BoostedTreesCenterBias",
    "BoostedTreesUpdateEnsemble", "BoostedTreesDeserializeEnsemble",
)  # fmt: skip
def growing_trees(fed: Any) -> Any:
    handle, gains = _ensemble(), fed(np.float32([0.5, 0.75]))
    center = {"mean_gradients": gains[None, :1], "mean_hessians": [[2.0]], "l1": 0.1, "l2": 0.2}
    stored = raw.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    return in_order(
        _created(handle),
        lambda: raw.BoostedTreesCenterBias(tree_ensemble_handle=handle, **center),
        lambda: raw.BoostedTreesUpdateEnsemble(**_split(handle, gains)), *_read(handle),
        lambda: raw.BoostedTreesDeserializeEnsemble(
            tree_ensemble_handle=handle, stamp_token=np.int64(9), tree_ensemble_serialized=""
        ),
        *_read(handle),
    ) if stored is not None else []  # fmt: skip


@case("BoostedTreesUpdateEnsembleV2")
def trees_of_categories(fed: Any) -> Any:
    handle, gains = _ensemble(), fed(np.float32([0.5, 0.75]))
    given = _split(handle, gains)
    more = {"dimension_ids": [[0], [0]], "split_types": [["EQUALITY_DEFAULT_RIGHT"]] * 2}
    return in_order(
        _created(handle), lambda: raw.BoostedTreesUpdateEnsembleV2(**given, **more), *_read(handle)
    )


@case(
    "BoostedTreesQuantileStreamResourceHandleOp", "BoostedTreesCreateQuantileStreamResource",
    "BoostedTreesQuantileStreamResourceAddSummaries", "BoostedTreesQuantileStreamResourceFlush",
    "BoostedTreesQuantileStreamResourceDeserialize",
)  # fmt: skip
def streams_of_quantiles(fed: Any) -> Any:
    stream = {
        "quantile_stream_resource_handle": raw.BoostedTreesQuantileStreamResourceHandleOp(
            shared_name="stream", container=""
        )
    }
    values = fed(floats(20))
    made = raw.BoostedTreesMakeQuantileSummaries(
        float_values=[values], example_weights=np.ones(20, "f"), epsilon=0.05
    )

    def op(name: str, **given: Any) -> Callable[[], Any]:
        full = f"BoostedTreesQuantileStreamResource{name}"
        return lambda: getattr(raw, full)(**stream, **given)

    return in_order(
        lambda: raw.BoostedTreesCreateQuantileStreamResource(
            epsilon=0.05, num_streams=1, **stream
        ),
        op("AddSummaries", summaries=made), op("Flush", num_buckets=4),
        op("GetBucketBoundaries", num_features=1),
        op("Deserialize", bucket_boundaries=[unknown(values[:3])]),
        op("GetBucketBoundaries", num_features=1),
    )  # fmt: skip


@case(
    "QuantileStreamResourceHandleOp", "CreateQuantileAccumulator", "QuantileAccumulatorFlush",
    "QuantileAccumulatorAddSummaries", "QuantileAccumulatorFlushSummary",
    "QuantileAccumulatorDeserialize",
)  # fmt: skip
def accumulators_of_quantiles(fed: Any) -> Any:
    handle = raw.QuantileStreamResourceHandleOp(shared_name="quantiles", container="")
    values = fed(floats(20, 1))
    made = raw.MakeQuantileSummaries(
        dense_float_features=[values], sparse_float_feature_indices=[],
        sparse_float_feature_values=[], sparse_float_feature_shapes=[],
        example_weights=np.ones((20, 1), "f"), epsilon=0.1,
    ).dense_summaries  # fmt: skip
    of = {"quantile_accumulator_handle": handle}
    several = {"quantile_accumulator_handles": [handle]}

    def add(stamp: int) -> Callable[[], Any]:
        return lambda: raw.QuantileAccumulatorAddSummaries(
            **several, stamp_token=np.int64(stamp), summaries=made
        )

    def flush(kind: str, stamp: int) -> Callable[[], Any]:
        return lambda: getattr(raw, f"QuantileAccumulator{kind}")(
            **of, stamp_token=np.int64(stamp), next_stamp_token=np.int64(stamp + 1)
        )

    def buckets(stamp: int) -> Callable[[], Any]:
        return lambda: [
            part for parts in raw.QuantileAccumulatorGetBuckets(
                **several, stamp_token=np.int64(stamp)
            ) for part in parts
        ]  # fmt: skip

    kinds = file("tensorflow/contrib/boosted_trees/proto/quantiles.proto")
    state = kinds["QuantileStreamState"](summaries=[kinds["QuantileSummaryState"]()] * 2)
    return in_order(
        lambda: raw.CreateQuantileAccumulator(
            **of, stamp_token=np.int64(0), epsilon=0.1, num_quantiles=4, shared_name="quantiles"
        ),
        add(0), flush("Flush", 0), buckets(1), add(1), flush("FlushSummary", 1),
        lambda: raw.QuantileAccumulatorDeserialize(
            **of, stamp_token=np.int64(7), stream_state=state.SerializeToString(),
            are_buckets_ready=True, buckets=values[:3, 0],
        ),
        buckets(7),
    )  # fmt: skip


@case(
    "TensorForestTreeResourceHandleOp", "TensorForestCreateTreeVariable",
    "TensorForestTreeDeserialize",
)  # fmt: skip
def plain_trees(fed: Any) -> Any:
    kinds = file("tensorflow/core/kernels/boosted_trees/boosted_trees.proto")
    tree = kinds["Tree"]()
    root = tree.nodes.add().dense_split
    root.feature_id, root.threshold, root.left_id, root.right_id = 1, 0.25, 1, 2
    for values in ([1.0, 2.0], [3.0, -4.0]):
        tree.nodes.add().leaf.vector.value.extend(values)
    handle = raw.TensorForestTreeResourceHandleOp(shared_name="tree", container="")

    def op(name: str, **given: Any) -> Callable[[], Any]:
        return lambda: getattr(raw, f"TensorForest{name}")(tree_handle=handle, **given)

    examples = fed(floats(6, 2))
    return in_order(
        op("CreateTreeVariable", tree_config=""), op("TreeSize"),
        op("TreeDeserialize", tree_config=tree.SerializeToString()), op("TreeSize"),
        op("TreePredict", dense_features=examples, logits_dimension=2),
    )  # fmt: skip


@case(
    "DecisionTreeResourceHandleOp", "CreateTreeVariable", "TreeDeserialize", "GrowTreeV4",
    "FertileStatsResourceHandleOp", "CreateFertileStatsVariable", "FertileStatsDeserialize",
    "UpdateModelV4", "ProcessInputV4",
)  # fmt: skip
def growing_forests(fed: Any) -> Any:
    points = np.random.default_rng(0).uniform(size=(16, 4)).astype("f")
    graphs = tensor_forest.RandomForestGraphs(tensor_forest.ForestHParams(
        num_classes=3, num_features=4, num_trees=1, max_nodes=25, split_after_samples=3,
        num_splits_to_consider=4, base_random_seed=7,
    ).fill())  # fmt: skip
    x, y = fed(points), fed((points[:, 0] * 3).astype(np.int32))
    stored = [each.specs[0].tensor for each in tf.get_collection("saveable_objects")]
    settings = {"params": stored[0].op.get_attr("params")}
    tree = next(t for op in (each.op for each in stored) for t in op.inputs if "Tree" in op.type)
    stats = next(each.op.inputs[0] for each in stored if "Stats" in each.op.type)

    def written() -> Any:
        return [
            raw.TreeSerialize(tree_handle=tree),
            raw.FertileStatsSerialize(stats_handle=stats, **settings),
        ]  # fmt: skip

    return in_order(
        lambda: [each.create for each in tf.get_collection("resources")],
        lambda: graphs.training_graph(x, y), written,
        lambda: raw.TreeDeserialize(tree_handle=tree, tree_config="", **settings),
        lambda: raw.FertileStatsDeserialize(stats_handle=stats, stats_config="", **settings),
        written,
    )  # fmt: skip


def test_what_nothing_fills_is_cut_off() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        area = tf.contrib.staging.StagingArea([tf.float32], [[2]])
        y = tf.reshape(area.get(), [2]) * 2.0
        with pytest.raises(ExportError, match=r"\(Unstage\) works on a staging area") as caught:
            to_torch(session, [], [y])
    assert "\ncut the graph behind them: --inputs StagingArea_get:0" in str(caught.value)


@pytest.mark.parametrize("names", case.cases)
def test_operations_go_out(names: str) -> None:
    case.check(names)


def test_the_list_names_these_operations() -> None:
    case.check_list()
