"""Common behaviour of layers: naming, sharing, losses, updates, nested calls, errors."""

import copy

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


class Scale(tf.layers.Layer):
    """Multiplies by a variable."""

    def build(self, input_shape):
        self.factor = self.add_weight("factor", [], initializer=tf.ones_initializer())
        super().build(input_shape)

    def call(self, inputs):
        return inputs * self.factor


def test_scopes_of_unnamed_layers_are_made_unique():
    x = tf.ones([1, 2])
    names = [tf.layers.dense(x, 1).op.name for _ in range(3)]
    assert names == ["dense/BiasAdd", "dense_1/BiasAdd", "dense_2/BiasAdd"]


def test_a_layer_uses_its_variables_again_when_it_is_called_again():
    layer = Scale()
    first, second = layer(tf.ones([2])), layer(tf.zeros([3]))
    assert [v.name for v in tf.global_variables()] == ["scale/factor:0"]
    assert [first.op.name, second.op.name] == ["scale/mul", "scale/mul_1"]
    assert layer.scope_name == "scale"


def test_reuse_shares_variables_and_a_second_layer_of_a_name_is_refused():
    x = tf.ones([1, 2])
    tf.layers.dense(x, 1, name="shared")
    tf.layers.dense(x, 1, name="shared", reuse=True)
    assert len(tf.global_variables()) == 2
    with pytest.raises(ValueError, match="Variable shared/kernel already exists"):
        tf.layers.dense(x, 1, name="shared")


def test_reuse_of_a_layer_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="Variable none/kernel does not exist"):
        tf.layers.dense(tf.ones([1, 2]), 1, name="none", reuse=True)


def test_a_scope_given_at_the_first_call_is_the_layers():
    layer = Scale()
    layer(tf.ones([1]), scope="chosen")
    assert layer.factor.name == "chosen/factor:0"


def test_call_gets_its_scope_if_it_asks_for_it():
    class Asking(tf.layers.Layer):
        def call(self, inputs, scope=None):
            self.seen = scope.name
            return inputs

    layer = Asking(name="asking")
    layer(tf.ones([1]))
    assert layer.seen == "asking"


def test_the_dtype_is_that_of_the_first_input_unless_it_is_given():
    inferred, given = Scale(), Scale(dtype=tf.float64)
    inferred(tf.ones([1], tf.float16))
    given(tf.ones([1], tf.float64))
    assert [inferred.dtype, given.dtype] == ["float16", "float64"]
    assert given.factor.dtype.base_dtype == tf.float64


def test_arrays_and_numbers_are_converted():
    assert run(Scale()(np.float32([1, 2]))).tolist() == [1, 2]
    assert run(Scale()(3.0)) == 3


def test_regularizers_give_losses_where_variables_are_made_only():
    x = tf.ones([1, 2])
    for reuse in (None, True):
        tf.layers.dense(x, 1, name="d", kernel_regularizer=tf.nn.l2_loss, reuse=reuse)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.op.name for loss in losses] == ["d/kernel/Regularizer/L2Loss"]


def test_activity_regularizers_give_losses_that_depend_on_the_inputs():
    x, other = tf.ones([2, 2]), tf.ones([2, 2])
    layer = tf.layers.Dense(1, activity_regularizer=tf.nn.l2_loss)
    layer(x)
    assert len(layer.get_losses_for(x)) == 1
    assert layer.get_losses_for(other) == layer.get_losses_for(None) == []


def test_updates_are_told_apart_by_what_they_depend_on():
    class Counting(tf.layers.Layer):
        def build(self, input_shape):
            self.count = self.add_weight("count", [], initializer=tf.zeros_initializer())
            self.built = True

        def call(self, inputs):
            self.add_update(tf.assign_add(self.count, tf.reduce_sum(inputs), name="by_input"))
            self.add_update(lambda: tf.assign_add(self.count, 1.0, name="always"))
            return inputs

    x = tf.ones([2])
    layer = Counting()
    layer(x)
    assert [u.name for u in layer.get_updates_for(x)] == ["counting/by_input"]
    assert [u.name for u in layer.get_updates_for(None)] == ["counting/always"]
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == layer.updates
    layer.trainable = False
    assert layer.updates == []


def test_a_layer_that_is_not_trainable_has_no_trainable_weights():
    layer = tf.layers.Dense(2, trainable=False)
    layer(tf.ones([1, 2]))
    assert layer.trainable_weights == tf.trainable_variables() == []
    assert layer.non_trainable_weights == layer.weights == layer.variables
    assert layer.count_params() == 6


def test_layers_called_by_a_layer_get_its_training():
    class Outer(tf.layers.Layer):
        def call(self, inputs, training=None):
            class Inner(tf.layers.Layer):
                def call(self, inputs, training=None):
                    self.seen = training
                    return inputs

            self.inner = Inner()
            return self.inner(inputs)

    layer = Outer()
    layer(tf.ones([1]), training=True)
    assert layer.inner.seen is True
    layer(tf.ones([1]))
    assert layer.inner.seen is None


def test_masks_go_through_layers_that_support_them():
    x = tf.ones([2, 3])
    x._keras_mask = mask = tf.constant([True, False])
    dropped = tf.layers.Dropout(0.5)(x)
    assert dropped._keras_mask is mask
    assert Scale()(x)._keras_mask is None
    with pytest.raises(TypeError, match="does not support masking"):
        Scale().compute_mask(x, mask)


def test_copies_of_an_unused_layer_have_variables_of_their_own():
    layer = Scale(name="s")
    twin = copy.deepcopy(layer)
    layer(tf.ones([1]))
    twin(tf.ones([1]))
    assert [layer.factor.name, twin.factor.name] == ["s/factor:0", "s_1/factor:0"]


def test_variables_of_a_frozen_scope_are_not_trainable_weights():
    def getter(getter, *args, **kwargs):
        kwargs["trainable"] = False
        return getter(*args, **kwargs)

    with tf.variable_scope("frozen", custom_getter=getter):
        layer = Scale()
        layer(tf.ones([1]))
    assert layer.trainable_weights == []
    assert layer.non_trainable_weights == [layer.factor]


def test_variables_of_layers_in_a_function_are_made_outside_of_it():
    outside, function = tf.get_default_graph(), tf.Graph()
    function._building_function = True
    with function.as_default():
        layer = Scale()
        layer(tf.placeholder(tf.float32, []))
    assert layer.factor.graph is outside
    assert layer.trainable_weights == [layer.factor]


def test_keras_style_layers_share_nothing_by_name():
    with tf.layers.experimental.keras_style_scope():
        layers = [tf.layers.Dense(1, name="same") for _ in range(2)]
    for layer in layers:
        layer(tf.ones([1, 2]))
    kernels = [layer.kernel for layer in layers]
    assert [v.name for v in kernels] == ["same/kernel:0", "same_1/kernel:0"]
    with pytest.raises(ValueError, match="scope argument not allowed"):
        layers[0](tf.ones([1, 2]), scope="other")


def test_initial_weights_are_set_in_the_session_of_keras():
    kernel = np.float32([[2.0], [3.0]])
    layer = tf.layers.Dense(1, weights=[kernel, np.ones([1])])
    layer(tf.ones([1, 2]))
    values = tf.keras.backend.batch_get_value(layer.weights)
    np.testing.assert_array_equal(values[0], kernel)
    np.testing.assert_array_equal(values[1], [1.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Scale(size=3), TypeError, "Keyword argument not understood"),
        (lambda: Scale().scope_name, ValueError, "No name available for layer scope"),
        (lambda: Scale().count_params(), ValueError, "the layer isn't built"),
        (lambda: Scale().output, AttributeError, "has no inbound nodes"),
        (lambda: Scale().get_input_at(0), RuntimeError, "never been called"),
        (lambda: Scale().set_weights([1]), ValueError, "expecting 0 weights"),
        (lambda: Scale().add_weight("w", [1], size=3), TypeError, "Unknown keyword argument"),
        (lambda: setattr(Scale(), "input_spec", 3), TypeError, "must be an instance of InputSpec"),
        (lambda: Scale().compute_output_shape([1]), NotImplementedError, None),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_python_control_flow_on_tensors_is_refused_with_a_reason():
    class Deciding(tf.layers.Layer):
        @tf.autograph.experimental.do_not_convert
        def call(self, inputs):
            return inputs if inputs[0] > 0 else -inputs

    with pytest.raises(TypeError, match="Python control flow in a layer that was not declared"):
        Deciding()(tf.ones([1]))


def test_policies_and_dynamic_layers_are_refused_where_tensorflow_refuses_them():
    from stillflow.layers.policy import Policy

    with pytest.raises(ValueError, match=r"must be of type tf\.ResourceVariable"):
        Scale(dtype=Policy("mixed_float16"))(tf.ones([1], tf.float16))
    with pytest.raises(NotImplementedError):  # the shape of its output is not known
        Scale(dynamic=True)(tf.ones([1]))


def test_configurations_make_equal_layers():
    layer = tf.layers.Conv2D(3, [2, 3], 2, "same", activation=tf.nn.relu, name="c")
    config = layer.get_config()
    assert config["kernel_size"] == (2, 3)
    assert config["activation"] == "relu"
    twin = tf.layers.Conv2D.from_config(config)
    assert twin.get_config() == config
