"""Functions of internal modules that programs call, by TensorFlow's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade import eager_context
from stillflow.facade.lookup import lookup

FRAMEWORK = "tensorflow.python.framework"
OPS = "tensorflow.python.ops"
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def internal(name: str) -> Any:
    """Return an object by its full internal name."""
    module, _, name = name.rpartition(".")
    return lookup(module, name)


@pytest.mark.parametrize("kind", ["alias_inplace", "inplace"])
@pytest.mark.parametrize(
    ("how", "rows", "values", "changed"),
    [
        ("update", None, np.ones((3, 2)), [[1, 1], [1, 1], [1, 1]]),
        ("update", 1, [5.0, 6.0], [[0, 1], [5, 6], [4, 5]]),
        ("add", [0, 2], [[1.0, 2.0], [3.0, 4.0]], [[1, 3], [2, 3], [7, 9]]),
        ("sub", [1], [[1.0, 2.0]], [[0, 1], [1, 1], [4, 5]]),
    ],
)
def test_rows_are_changed(kind: str, how: str, rows: Any, values: Any, changed: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        function = internal(f"{OPS}.inplace_ops.{kind}_{how}")
        np.testing.assert_array_equal(session.run(function(X, rows, values)), changed)
        empty = internal(f"{OPS}.inplace_ops.empty_like")(X, init=True)
        np.testing.assert_array_equal(session.run(empty), np.zeros((3, 2)))


def test_only_operations_with_gradients_are_walked_back_through() -> None:
    walk = internal(f"{OPS}.op_selector.get_backward_walk_ops")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(tf.negative(tf.cast(tf.shape(x), tf.float32), name="n"), x, name="y")
        assert {op.name for op in walk(y)} == {"y", "n", "Cast", "Shape", "x"}
        cast = y.op.inputs[0].op.inputs[0]
        assert {op.name for op in walk([cast])} == {"Cast", "Shape", "x"}
        # A shape does not change with what it is the shape of.
        assert {op.name for op in walk([cast], only_differentiable=True)} == {"Cast", "Shape"}


def test_variables_go_through_messages() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        message = internal(f"{OPS}.resource_variable_ops._to_proto_fn")(v)
        assert internal(f"{OPS}.resource_variable_ops._from_proto_fn")(message).name == "v:0"


def test_definitions_of_operations_are_known_by_name() -> None:
    registered = internal(f"{FRAMEWORK}.op_def_registry.get_registered_ops")()
    assert [arg.name for arg in registered["MatMul"].input_arg] == ["a", "b"]
    assert "NoSuchOp" not in registered
    assert len(registered) > 500
    register = internal(f"{FRAMEWORK}.op_def_registry.register_op_list")
    ops = internal("tensorflow.core.framework.op_def_pb2.OpList")(op=[registered["MatMul"]])
    register(ops)
    ops.op[0].is_stateful = True
    with pytest.raises(ValueError, match="not equal to op_def"):
        register(ops)
    ops.op[0].name = "NoSuchOp"
    with pytest.raises(NotImplementedError, match="NoSuchOp"):
        register(ops)
    with pytest.raises(TypeError, match="OpList"):
        register(registered["MatMul"])


def test_shapes_become_tensors_and_unknown_ones_lists() -> None:
    with tf.Graph().as_default():
        shape = internal(f"{FRAMEWORK}.constant_op._tensor_shape_tensor_conversion_function")
        tensor = shape(tf.TensorShape([2, 3]), name="s")
        assert (tensor.op.name, tensor.dtype) == ("s", tf.int32)
        unknown = internal(f"{FRAMEWORK}.common_shapes.unknown_shape")(tf.split([1, 2], 2)[0].op)
        assert [found.ndims for found in unknown] == [None, None]
        assert internal(f"{FRAMEWORK}.common_shapes.scalar_shape")(tensor.op) == [
            tf.TensorShape([])
        ]


def test_fetches_are_planned_and_results_put_back() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = x + 1.0
        handler = internal("tensorflow.python.client.session._FetchHandler")(
            graph, {"y": y, "both": [x, y.op]}, {x: 3.0}
        )
        assert handler.fetches() == [y]
        assert handler.targets() == [y.op]
        assert handler.build_results(session, [4.0]) == {"y": 4.0, "both": [3.0, None]}


def test_a_session_says_whether_it_is_ready() -> None:
    ready = internal("tensorflow.python.training.session_manager._ready")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0, name="v")
        left = tf.report_uninitialized_variables()
        assert ready(left, session, "model") == (False, "Variables not initialized: v")
        session.run(tf.global_variables_initializer())
        assert ready(left, session, "model") == (True, None)


def test_what_depends_on_a_tensor_is_found() -> None:
    reachable = internal("tensorflow.python.keras.utils.tf_utils.get_reachable_from_inputs")
    with tf.Graph().as_default():
        x, other = tf.zeros([]), tf.zeros([])
        y = x + other
        found = reachable([x])
        assert {x, y, y.op} <= found
        assert other not in found


def test_small_things_have_their_names() -> None:
    uid = internal(f"{FRAMEWORK}.ops.uid")
    assert uid() != uid()
    assert issubclass(tf.IndexedSlices, internal(f"{FRAMEWORK}.ops._TensorLike"))
    assert internal("tensorflow.python.estimator.model_fn.LOSS_METRIC_KEY") == "loss"
    with pytest.raises(ValueError, match="must include features"):
        internal("tensorflow.python.estimator.estimator._verify_model_fn_args")(lambda a: a, None)
    with tf.Graph().as_default():
        asset = internal("tensorflow.python.training.tracking.tracking.TrackableAsset")("/a")
        assert asset.asset_path.op.name == "asset_path"
        assert (
            internal(f"{FRAMEWORK}.ops.internal_convert_to_tensor")(2, tf.int64).dtype == tf.int64
        )


def test_steps_of_a_folder_are_read(tmp_path: Any) -> None:
    steps = internal("tensorflow.python.estimator.estimator._load_global_step_from_checkpoint_dir")
    assert steps(str(tmp_path)) == 0
    for name, step in (("other", 0), ("global_step", 7)):
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.Variable(7, name=name).initializer)
            tf.train.Saver().save(session, str(tmp_path / "model"))
        assert steps(str(tmp_path)) == step


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("normal", "RandomNormal"),
        ("random_normal_initializer", "RandomNormal"),
        ("truncated_normal", "TruncatedNormal"),
        ("variance_scaling_initializer", "VarianceScaling"),
        ("glorot_normal", "GlorotNormal"),
        ("zero", "Zeros"),
        ("uniform", "RandomUniform"),
    ],
)
def test_initializers_of_tensorflow_2_are_not_those_of_1(alias: str, name: str) -> None:
    found = internal(f"{OPS}.init_ops_v2.{alias}")
    assert found is getattr(tf.compat.v2.initializers, name)
    assert found is not internal(f"{OPS}.init_ops.{name}")


def test_what_estimators_look_at() -> None:
    util = "tensorflow.python.estimator.util"
    assert internal(f"{util}.fn_args")(lambda features, mode: None) == ("features", "mode")
    features, labels, hooks = internal(f"{util}.parse_input_fn_result")(({"x": 1}, 2))
    assert (features, labels, hooks) == ({"x": 1}, 2, [])
    assert internal(f"{util}.parse_iterator_result")([3, 4]) == (3, 4)
    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensors((1, 2))
        *_, hooks = internal(f"{util}.parse_input_fn_result")(data)
        assert isinstance(hooks[0], internal(f"{util}._DatasetInitializerHook"))


def test_what_towers_choose_devices_by() -> None:
    module = "tensorflow.python.training.device_setter"
    in_turn = internal(f"{module}._RoundRobinStrategy")(num_tasks=2)
    assert [in_turn(None) for _ in range(3)] == [0, 1, 0]
    chooser = internal(f"{module}._ReplicaDeviceChooser")
    servers = internal(f"{module}.STANDARD_PS_OPS")
    choose = chooser(1, "/job:ps", "/job:worker", True, servers, in_turn).device_function
    assert choose(tf.NodeDef(op="VarHandleOp")) == "/job:ps/task:1"
    assert choose(tf.NodeDef(op="Add")) == "/job:worker"


def test_constants_are_evaluated_by_the_compiled_part():
    evaluate = internal("tensorflow.python.pywrap_tensorflow.TF_TryEvaluateConstant_wrapper")
    graph = tf.get_default_graph()

    def evaluated(tensor):
        return evaluate(graph._c_graph, tensor._as_tf_output())

    assert evaluated(tf.constant([1, 2]) + 1).tolist() == [2, 3]
    assert evaluated(tf.shape(tf.placeholder(tf.float32, [2, 3]))).dtype == "int32"
    assert evaluated(tf.constant("a")) == b"a"
    assert evaluated(tf.placeholder(tf.float32, [2])) is None


def test_the_context_of_framework_ops_is_the_module():
    assert lookup(f"{FRAMEWORK}.ops", "context") is eager_context
