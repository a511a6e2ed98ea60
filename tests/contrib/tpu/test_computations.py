"""Computations for TPUs: what only internal modules of TensorFlow have."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.contrib.tpu import inference, replication, sharding
from stillflow.facade.lookup import lookup
from stillflow.ops.tpu.shards import get_tpu_context, tpu_shard_context
from stillflow_contrib.tpu import infeed
from stillflow_contrib.tpu.hooks import MultiHostDatasetInitializerHook
from stillflow_contrib.tpu.sharding_policy import ShardingPolicy


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_reads_variables_outside_for_inference(graph):
    with tf.variable_scope("served"):
        (result,) = inference.rewrite_for_inference(
            lambda a: a * tf.get_variable("w", [2]), [tf.ones([2])]
        )
    assert result.name == "served/output_0_shard_0:0"
    assert not inference.under_tpu_inference_context()
    inference.validate_inference_rewrite_for_variables(graph)
    read = graph.get_operation_by_name("served/w/GuaranteeConst")
    assert "_tpu_replicate" not in read.node_def.attr
    with pytest.raises(RuntimeError, match="No GuaranteeConst"):
        inference.validate_inference_rewrite_for_variables(tf.Graph())
    with pytest.raises(NotImplementedError, match=r"VarHandleOp \(served/v\) is not"):
        inference.rewrite_for_inference(
            lambda: tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name="served/v")
        )


def test_tells_how_compiling_went(graph):
    status, _ = replication.split_compile_and_replicate(lambda: 1.0)
    assert status.op.type == "TPUCompilationResult"
    status, _ = replication.split_compile_and_replicate(lambda: 1.0, use_tpu=False)
    assert status.name == "compilation_status"
    status, results = sharding.split_compile_and_shard(lambda a: a, [tf.ones([2])], 2)
    assert status.op.type == "TPUCompilationResult"
    assert [each.shape.as_list() for each in results] == [[2]]
    assert replication.split_compile_and_replicate(lambda: 1.0, []) == []


def test_refuses_to_assign_devices():
    with pytest.raises(NotImplementedError, match="device_assignment"):
        tf.tpu.rewrite(lambda: 1.0, device_assignment=object())
    with pytest.raises(NotImplementedError, match="maximum_shapes"):
        tf.tpu.replicate(lambda a: a, [[1.0]], maximum_shapes=[[2]])
    queue = infeed.InfeedQueue(1)
    with pytest.raises(NotImplementedError, match="device_assignment"):
        queue.split_inputs_and_generate_enqueue_ops([tf.ones([2])], object())


def test_averages_over_shards():
    variable = tf.get_variable("v", initializer=[1.0, 2.0])
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(1.0))
    with tpu_shard_context(4):
        ((gradient, _),) = optimizer.compute_gradients(tf.reduce_sum(variable))
        with pytest.raises(NotImplementedError, match="nested"), tpu_shard_context(2):
            pass
    assert get_tpu_context().number_of_shards is None
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(gradient).tolist() == [0.25, 0.25]


def test_policies_of_shards():
    policy = ShardingPolicy()
    assert str(policy) == "ShardingPolicy(unset)"
    assert policy.get_sharded_shape([4]) is None
    policy.set_number_of_shards(2)
    policy.set_shard_dimension(1)
    assert str(policy) == "ShardingPolicy(2 shards dimension 1)"
    assert policy.get_sharded_shape([3, 4]).as_list() == [3, 2]
    assert policy.get_unsharded_shape([[3, 2], [3, 2]]).as_list() == [3, 4]
    other = ShardingPolicy()
    other.merge(policy)
    assert other.number_of_shards == 2
    for shape, match in (
        (None, "must be a specified shape"), ([4], "does not contain shard_dimension 1"),
        ([4, None], "must have a fixed size"), ([4, 3], "cannot be sharded 2 ways"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            policy.get_sharded_shape(shape)
    with pytest.raises(ValueError, match="not consistent shards"):
        policy.get_unsharded_shape([[3, 2], [3, 1]])
    with pytest.raises(ValueError, match="shard_index 2"):
        policy.get_sharded_shape([3, 4], 2)
    policy.freeze()
    with pytest.raises(ValueError, match="frozen to use 1"):
        policy.set_shard_dimension(0)


def test_initializes_datasets(graph):
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    following = iterator.get_next()
    with tf.Session() as session:
        hook = MultiHostDatasetInitializerHook([iterator.initializer])
        hook.after_create_session(session, None)
        assert session.run(following) == 0


@pytest.mark.parametrize("place", ["tensorflow.contrib.tpu.python.tpu", "tensorflow.python.tpu"])
def test_internal_modules_have_them(place):
    assert lookup(f"{place}.tpu", "core") is tf.tpu.core
    assert lookup(f"{place}.tpu", "_TPU_REPLICATE_ATTR") == "_tpu_replicate"
    assert lookup(f"{place}.tpu", "rewrite_for_inference") is inference.rewrite_for_inference
    assert lookup(f"{place}.tpu_feed", "InfeedQueue") is infeed.InfeedQueue
    assert lookup(f"{place}.tpu_function", "get_tpu_context") is get_tpu_context
    assert lookup(f"{place}.util", "check_positive_integer")
    assert lookup(f"{place}.tpu_estimator", "ExportSavedModelApiVersion").V1.value == 1
    operations = "tensorflow.python.tpu.ops.tpu_ops"
    assert lookup(operations, "outfeed_enqueue_tuple") is tf.contrib.tpu.outfeed_enqueue_tuple
