"""Loss scales and the optimizer that applies them."""

import pytest

import stillflow as tf
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session import mixed_precision_state as state
from stillflow.runtime.session import settings
from stillflow.train.experimental import loss_scale as loss_scales


@pytest.mark.parametrize("scale", [1, 128.0, "dynamic"])
def test_scaling_changes_no_finite_gradient(scale):
    v = tf.Variable(3.0)
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.5), scale
    )
    train = opt.minimize(tf.square(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(v) == 0.0


def test_the_loss_itself_is_scaled():
    v = tf.Variable(1.0)
    seen = []

    @tf.RegisterGradient("SeenByTheLossScaleTest")
    def gradient(op, grad):
        seen.append(grad)
        return grad

    with tf.get_default_graph().gradient_override_map({"Identity": "SeenByTheLossScaleTest"}):
        loss = tf.identity(v)
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 64
    )
    ((unscaled, _),) = opt.compute_gradients(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([seen[0], unscaled]) == [64.0, 1.0]


def test_a_dynamic_scale_skips_bad_steps_and_finds_its_height():
    v, x = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    scale = tf.train.experimental.DynamicLossScale(8.0, increment_period=2, multiplier=4.0)
    opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(1.0), scale
    )
    train = opt.minimize(v * x)
    history = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for slope in (1.0, 1.0, float("inf"), float("nan"), float("inf"), 1.0):
            session.run(train, {x: slope})
            history.append(tuple(session.run([scale(), v])))
    assert history == [
        (8.0, 0.0), (32.0, -1.0), (8.0, -1.0), (2.0, -1.0), (1.0, -1.0), (1.0, -2.0),
    ]  # fmt: skip


def test_scales_are_found_by_number_or_name():
    assert loss_scales.get(None) is None
    assert loss_scales.get(7).get_config() == {"loss_scale_value": 7.0}
    dynamic = loss_scales.get("dynamic")
    assert loss_scales.get(dynamic) is dynamic
    with tf.Graph().as_default():
        assert type(dynamic).from_config(dynamic.get_config()).increment_period == 2000
    with pytest.raises(ValueError, match="Could not interpret loss scale identifier: nine"):
        loss_scales.get("nine")
    with pytest.raises(ValueError, match="loss_scale_value must be at least 1"):
        loss_scales.get(0.5)


@pytest.fixture
def fresh(monkeypatch):
    """No session was made yet, and nothing is enabled; both are so again afterwards."""
    for name, value in vars(settings.Settings()).items():
        monkeypatch.setattr(settings.SETTINGS, name, value)
    monkeypatch.setattr(state, "non_mixed_precision_session_created", False)
    yield
    state.mixed_precision_graph_rewrite_is_enabled = False


def test_allowing_mixed_precision_wraps_the_optimizer_once(fresh):
    opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0)
    )
    assert state.mixed_precision_graph_rewrite_is_enabled
    with pytest.raises(ValueError, match="must not already be an instance of"):
        tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert not state.mixed_precision_graph_rewrite_is_enabled
    with pytest.raises(ValueError, match=r"must be an instance of a tf\.train\.Optimizer"):
        tf.train.experimental.enable_mixed_precision_graph_rewrite("sgd")


def test_sessions_made_before_are_warned_of(fresh, monkeypatch):
    said = []
    monkeypatch.setattr(logging, "warn", lambda text, *args: said.append(text))
    tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0)
    )
    assert not said
    rewritten = tf.Session()
    assert rewritten._config.graph_options.rewrite_options.auto_mixed_precision == 1
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    tf.Session()
    tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0)
    )
    (text,) = said
    assert text.startswith("You already have existing Sessions that do not use mixed precision. ")


def test_a_session_may_keep_out_of_mixed_precision(fresh):
    tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0)
    )
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.auto_mixed_precision = 2
    options = tf.Session(config=config)._config.graph_options.rewrite_options
    assert options.auto_mixed_precision == 2


def test_a_policy_of_keras_and_the_rewrite_exclude_each_other(fresh, monkeypatch):
    monkeypatch.setattr(state, "using_default_mixed_precision_policy", False)
    with pytest.raises(ValueError, match="a keras mixed precision Policy has been set"):
        tf.train.experimental.enable_mixed_precision_graph_rewrite(
            tf.train.GradientDescentOptimizer(1.0)
        )


def test_checkpoints_hold_the_loss_scale(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([2.0])
        opt = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
            tf.train.MomentumOptimizer(1.0, momentum=1.0),
            loss_scales.DynamicLossScale(initial_loss_scale=1, increment_period=2),
        )
        step = opt.minimize(lambda: v + 1.0, var_list=[v])
        session.run(tf.global_variables_initializer())
        session.run(step)
        checkpoint = tf.train.Checkpoint(optimizer=opt)
        path = checkpoint.save(str(tmp_path / "model"), session=session)
        session.run(step)
        assert session.run(opt._loss_scale()) == 2.0
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert session.run([opt._loss_scale(), opt._loss_scale._num_good_steps]) == [1.0, 1]
