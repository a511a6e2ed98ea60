"""Pruning: masked layers and cells, schedules, masks of numbers and of blocks, stripped graphs."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

IMAGES = np.sin(np.arange(2 * 6 * 5 * 3, dtype=np.float32)).reshape([2, 6, 5, 3])
ROWS = np.cos(np.arange(24, dtype=np.float32)).reshape([4, 6])


def _collected(tf):
    """Names in all collections of masks."""
    pruning = tf.contrib.model_pruning
    return {
        name: [each.name for each in get()] for name, get in (
            ("masks", pruning.get_masks), ("thresholds", pruning.get_thresholds),
            ("weights", pruning.get_weights), ("masked", pruning.get_masked_weights))}


def _run(tf, fetches, **settings):
    facts = dict(_collected(tf), variables=[each.name for each in tf.global_variables()],
                 models=[each.name for each in tf.contrib.framework.get_model_variables()])
    setup = [tf.global_variables_initializer(), *settings.pop("setup", [])]
    return Run(fetches, setup=setup, facts=facts, **settings)


@program
def convolutions(tf):
    tf.set_random_seed(1)
    images = tf.constant(IMAGES)
    layers = tf.contrib.model_pruning
    first = layers.masked_conv2d(images, 4, 3)
    second = layers.masked_convolution(
        images, 2, [3, 2], stride=2, padding="VALID", activation_fn=None, scope="second",
        weights_regularizer=tf.contrib.layers.l2_regularizer(0.1), biases_initializer=None,
        variables_collections=["ours"], outputs_collections="outputs")
    third = layers.masked_conv2d(images, 4, 3, rate=2, normalizer_fn=tf.contrib.layers.layer_norm)
    again = layers.masked_conv2d(
        images, 2, [3, 2], padding="VALID", scope="second", reuse=True, biases_initializer=None)
    other = layers.masked_conv2d(tf.placeholder(tf.float32, [None, 3, 8, 8]), 4, 3,
                                 data_format="NCHW")
    run = _run(tf, {"first": first, "second": second, "third": third, "again": again})
    run.facts["shape"] = str(other.shape)
    run.facts["outputs"] = [each.name for each in tf.get_collection("outputs")]
    run.facts["ours"] = [each.name for each in tf.get_collection("ours")]
    return run


@program
def dense_layers(tf):
    tf.set_random_seed(1)
    rows = tf.constant(ROWS)
    dense = tf.contrib.model_pruning.masked_fully_connected
    return _run(tf, {
        "plain": dense(rows, 3),
        "cubes": dense(tf.reshape(rows, [2, 2, 6]), 5, activation_fn=tf.tanh, scope="cubes"),
        "normalized": dense(rows, 3, normalizer_fn=tf.contrib.layers.layer_norm, trainable=False),
    })


@program
def gradients_of_masked_weights(tf):
    tf.set_random_seed(1)
    outputs = tf.contrib.model_pruning.masked_fully_connected(tf.constant(ROWS), 3)
    loss = tf.reduce_sum(tf.square(outputs))
    mask, = tf.contrib.model_pruning.get_masks()
    halved = tf.assign(mask, np.tile([[1.0, 0, 1]], [6, 1]))
    return _run(tf, {"gradients": tf.gradients(loss, tf.trainable_variables())}, setup=[halved])


def _cell(tf, make, **settings):
    with tf.variable_scope(make):
        cell = getattr(tf.contrib.model_pruning, make)(3, **settings)
        return tf.nn.static_rnn(cell, [tf.constant(ROWS), tf.constant(ROWS * 0.5)],
                                dtype=tf.float32)


@program
def cells(tf):
    tf.set_random_seed(1)
    return _run(tf, {
        "basic": _cell(tf, "MaskedBasicLSTMCell", forget_bias=0.5),
        "full": _cell(tf, "MaskedLSTMCell", use_peepholes=True, cell_clip=0.4),
    })


@program
def cells_of_joined_states(tf):
    tf.set_random_seed(1)
    return _run(tf, {
        "basic": _cell(tf, "MaskedBasicLSTMCell", state_is_tuple=False, activation=tf.nn.relu),
        "full": _cell(tf, "MaskedLSTMCell", num_proj=3, proj_clip=0.2, state_is_tuple=False),
    })


def _settings(tf, **settings):
    hparams = tf.contrib.model_pruning.get_pruning_hparams()
    for name, value in settings.items():
        hparams.set_hparam(name, value)
    return hparams


def _weights(tf, name="weights", shape=(4, 6)):
    size = int(np.prod(shape))
    values = np.sin(1.7 * np.arange(size, dtype=np.float32)).reshape(shape)
    weights = tf.get_variable(name, initializer=tf.constant(values))
    return tf.contrib.model_pruning.apply_mask(weights, scope=tf.get_variable_scope())


@program
def a_schedule(tf):
    step = tf.train.create_global_step()
    masked = _weights(tf)
    pruning = tf.contrib.model_pruning.Pruning(_settings(
        tf, begin_pruning_step=2, end_pruning_step=8, pruning_frequency=2, threshold_decay=0.3,
        initial_sparsity=0.1, target_sparsity=0.8, sparsity_function_begin_step=1,
        sparsity_function_end_step=7))
    update = pruning.conditional_mask_update_op()
    pruning.add_pruning_summaries()
    pruning.print_hparams()
    with tf.control_dependencies([update]):
        advance = tf.assign_add(step, 1)
    return _run(tf, {"masked": masked, "sparsity": tf.contrib.model_pruning.get_weight_sparsity(),
                     "thresholds": tf.contrib.model_pruning.get_thresholds()},
                train=advance, steps=9)


@program
def updates(tf):
    step = tf.train.create_global_step()
    masked = _weights(tf)
    pruning = tf.contrib.model_pruning.Pruning(_settings(
        tf, target_sparsity=0.8, sparsity_function_end_step=4, threshold_decay=0.3))
    update = pruning.mask_update_op()
    with tf.control_dependencies([update]):
        advance = tf.assign_add(step, 1)
    return _run(tf, {"masked": masked, "masks": tf.contrib.model_pruning.get_masks(),
                     "thresholds": tf.contrib.model_pruning.get_thresholds()},
                train=advance, steps=4)


def _blocks(tf, **settings):
    tf.train.create_global_step()
    with tf.variable_scope("dense"):
        dense = _weights(tf, shape=(5, 6))
    with tf.variable_scope("conv"):
        conv = _weights(tf, shape=(2, 2, 3, 2))
    with tf.variable_scope("flat"):
        flat = _weights(tf, shape=(1, 4, 1, 3))
    pruning = tf.contrib.model_pruning.Pruning(
        _settings(tf, **settings), sparsity=tf.constant(0.5))
    return _run(tf, {"masked": [dense, conv, flat]}, setup=[pruning.mask_update_op()])


@program
def blocks_of_averages(tf):
    return _blocks(tf, block_height=2, block_width=3, weight_sparsity_map=["conv:0.25"])


@program
def blocks_by_name(tf):
    return _blocks(tf, block_dims_map=["dense:-1x2", "flat:2x1"], block_pooling_function="MAX")


@program
def blocks_pooled_by_axis(tf):
    return _blocks(tf, block_height=2, block_width=2, use_tpu=True)


@program
def weights_in_parts(tf):
    tf.train.create_global_step()
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
        weights = tf.get_variable("weights", initializer=tf.constant(ROWS))
        masked = tf.contrib.model_pruning.apply_mask(weights, scope=tf.get_variable_scope())
    pruning = tf.contrib.model_pruning.Pruning(sparsity=tf.constant(0.4))
    update = pruning.mask_update_op()
    return Run({"masked": masked}, setup=[tf.global_variables_initializer(), update])


@program
def helpers(tf):
    utils = internal_module(tf, "stillflow_contrib.model_pruning.blocks",
                            "contrib.model_pruning.python.pruning_utils")
    small, large = tf.constant(ROWS[:2, :3]), tf.constant(ROWS)
    return Run({
        "kronecker": utils.kronecker_product(small, large),
        "expanded": utils.expand_tensor(small, [2, 3]),
        "tall": utils.expand_tensor(small, [3, 1]),
        "pooled": utils.factorized_pool(large, [2, 4], "AVG", [2, 4], "SAME", name="pooled"),
        "largest": utils.factorized_pool(large, [3, 2], "MAX", [1, 2], "VALID"),
    }, facts={"rank": raised(utils.expand_tensor, tf.constant(IMAGES), [2, 2]),
              "sizes": raised(utils.expand_tensor, small, [2]),
              "pool": raised(utils.factorized_pool, tf.constant(IMAGES), [2], "AVG", [2], "SAME")})


@program
def refused(tf):
    tf.train.create_global_step()
    make = tf.contrib.model_pruning

    def pruning(**settings):
        return raised(make.Pruning, _settings(tf, **settings))

    images = tf.constant(IMAGES)
    facts = {
        "begin": pruning(begin_pruning_step=-1),
        "end": pruning(begin_pruning_step=5, end_pruning_step=4),
        "function": pruning(sparsity_function_begin_step=-1),
        "function_end": pruning(sparsity_function_end_step=0),
        "decay": pruning(threshold_decay=1.0),
        "initial": pruning(initial_sparsity=-0.1),
        "target": pruning(target_sparsity=1.5),
        "dims": pruning(block_dims_map=["a:1x2x3"]),
        "sparsity": pruning(weight_sparsity_map=["a:1.0"]),
        "rank": raised(make.masked_conv2d, ROWS, 2, 2),
        "format": raised(make.masked_conv2d, images, 2, 2, data_format="HWC"),
        "order": raised(make.masked_conv2d, images, 2, 2, data_format="NCW"),
        "outputs": raised(make.masked_fully_connected, ROWS, 2.5),
    }
    _weights(tf)
    for name, settings in (
            ("twice", {"weight_sparsity_map": ["w:0.5", "weights:0.6"]}),
            ("twice_dims", {"block_dims_map": ["w:1x2", "weights:2x2"]}),
            ("pooling", {"block_width": 2, "block_pooling_function": "MIN"})):
        facts[name] = raised(make.Pruning(_settings(tf, **settings)).mask_update_op)
    return Run(facts=facts)


@program
def stripped_graphs(tf):
    folder = tempfile.mkdtemp()
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            inputs = tf.placeholder(tf.float32, [None, 6], "inputs")
            outputs = tf.contrib.model_pruning.masked_fully_connected(inputs, 3)
            tf.identity(outputs, "outputs")
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, folder + "/model")
        with tf.Graph().as_default():
            frozen = tf.contrib.model_pruning.graph_def_from_checkpoint(folder, ["outputs"])
            missing = raised(tf.contrib.model_pruning.graph_def_from_checkpoint, "none", ["x"])
    finally:
        shutil.rmtree(folder)
    stripped = tf.contrib.model_pruning.strip_pruning_vars_fn(frozen, ["outputs"])
    outputs, = tf.import_graph_def(stripped, {"inputs": tf.constant(ROWS)}, ["outputs:0"])
    return Run({"outputs": outputs}, facts={
        "frozen": [node.name for node in frozen.node], "missing": missing,
        "stripped": [node.name for node in stripped.node]})


@program
def training(tf):
    tf.set_random_seed(1)
    step = tf.train.get_or_create_global_step()
    outputs = tf.contrib.model_pruning.masked_fully_connected(tf.constant(ROWS), 3)
    loss = tf.reduce_mean(tf.square(outputs - 1))
    tf.losses.add_loss(loss)
    train_op = tf.contrib.slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.1))
    pruning = tf.contrib.model_pruning.Pruning(_settings(
        tf, pruning_frequency=1, sparsity_function_end_step=3, target_sparsity=0.7), step)
    losses = []

    def step_fn(*arguments):
        loss, stops = tf.contrib.slim.learning.train_step(*arguments)
        losses.append(loss)
        return loss, stops

    # TensorFlow takes the last loss for a pair, when all is done.
    after = raised(tf.contrib.model_pruning.train, train_op, None,
                   pruning.conditional_mask_update_op(), step_fn, number_of_steps=5,
                   log_every_n_steps=0)
    return Run(facts={"losses": np.array(losses), "after": after})
