"""The same functions under their other names: tf.math, tf.compat, tf.nn, tf.distributions."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.array([[0.5, 1.5], [2.0, 3.0]], np.float32)


@program
def math_names(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    math = tf.math
    unary = ["abs", "negative", "sign", "reciprocal", "square", "round", "sqrt", "rsqrt", "exp",
             "expm1", "log", "log1p", "ceil", "floor", "cos", "sin", "tan", "atan", "lgamma",
             "digamma", "erf", "erfc", "sigmoid", "log_sigmoid", "softplus", "softsign", "tanh",
             "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
             "reduce_logsumexp", "cumsum", "cumprod", "zero_fraction", "l2_normalize", "is_nan",
             "is_finite", "reduce_std", "reduce_variance", "reduce_euclidean_norm", "argmax",
             "log_softmax", "softmax", "rint", "sinh", "cosh", "invert_permutation"]
    fetches = {n: getattr(math, n)(x) for n in unary if n not in ("invert_permutation", "ceil")}
    binary = ["add", "subtract", "multiply", "divide", "truediv", "floordiv", "floormod", "mod",
              "maximum", "minimum", "pow", "squared_difference", "equal", "less", "greater_equal",
              "divide_no_nan", "multiply_no_nan", "atan2", "igamma", "betainc"]
    fetches.update({n: getattr(math, n)(x, x + 1.0) for n in binary if n != "betainc"})
    fetches["betainc"] = math.betainc(x, x + 1.0, x / 4.0)
    return Run(fetches, {x: X})


@program
def compat_v1_names(tf):
    v1 = tf.compat.v1
    x = v1.placeholder(v1.float32, [None, 2], name="x")
    with v1.variable_scope("s"):
        w = v1.get_variable("w", [2], initializer=v1.ones_initializer())
    y = v1.reduce_sum(x * w, reduction_indices=1)
    loss = v1.losses.mean_squared_error(v1.ones_like(y), y)
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    facts = {"same": [v1.Session is tf.Session, v1.Graph is tf.Graph, v1.nn.relu is tf.nn.relu],
             "version": v1.__version__}
    return Run({"w": w}, {x: X}, setup=[v1.global_variables_initializer()], train=[train, loss],
               facts=facts)


@program
def compat_v2_names(tf):
    v2 = tf.compat.v2
    x = tf.placeholder(tf.float32, [None, 2])
    fetches = {
        "sum": v2.reduce_sum(x, axis=1, keepdims=True),
        "cast": v2.cast(x, v2.int32),
        "reshape": v2.reshape(x, [-1]),
        "where": v2.where(x > 1.0, x, 0.0),
        "argmax": v2.math.argmax(x, axis=1),
        "gather": v2.gather(x, [1], axis=1),
        "dropout": v2.nn.dropout(x, rate=0.5, seed=1),
        "xent": v2.nn.softmax_cross_entropy_with_logits(labels=tf.ones([2, 2]) / 2.0, logits=x),
        "sparse_xent": v2.nn.sparse_softmax_cross_entropy_with_logits([0, 1], x),
        "uniform": v2.random.uniform([2], seed=3),
        "norm": v2.norm(x),
        "constant": v2.constant([1, 2], dtype=v2.float32),
        "embedding": v2.nn.embedding_lookup(x, [1, 0]),
    }
    return Run(fetches, {x: X})


@program
def manipulation_names(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    image = tf.reshape(x, [1, 2, 2, 1])
    fetches = {
        "roll": tf.manip.roll(x, 1, 0),
        "gather_nd": tf.manip.gather_nd(x, [[0, 1]]),
        "batch_to_space": tf.manip.batch_to_space_nd(tf.reshape(x, [4, 1, 1, 1]), [2, 2],
                                                     [[0, 0], [0, 0]]),
        "depth_to_space": tf.nn.depth_to_space(tf.reshape(x, [1, 1, 1, 4]), 2),
        "space_to_depth": tf.nn.space_to_depth(image, 2),
        "to_dense": tf.sparse.to_dense(tf.sparse.SparseTensor([[0]], [1.0], [2])),
        "einsum": tf.linalg.einsum("ij->ji", x),
        "as_string": tf.strings.as_string(tf.cast(x, tf.int32)),
        "join": tf.strings.join(["a", "b"], "-"),
        "reduce_join": tf.strings.reduce_join(["a", "b"]),
        "to_number": tf.strings.to_number(["1.5"]),
        "zeros": tf.initializers.zeros()([2]),
        "segment": tf.math.segment_sum(x, [0, 0]),
        "top_k": tf.math.top_k(x, 1),
        "confusion": tf.math.confusion_matrix([1, 0], [1, 1]),
        "in_top_k": tf.math.in_top_k(x, [1, 0], 1),
        "count": tf.math.count_nonzero(x),
    }
    return Run(fetches, {x: X})


@program
def raw_ops(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    raw = tf.raw_ops
    fetches = {
        "add": raw.Add(x=x, y=x),
        "relu_grad": raw.ReluGrad(gradients=x, features=x),
        "conv": raw.Conv2D(input=tf.reshape(x, [1, 2, 2, 1]), filter=tf.ones([1, 1, 1, 2]),
                           strides=[1, 1, 1, 1], padding="SAME"),
        "pack": raw.Pack(values=[x, x], axis=1),
        "softmax": raw.Softmax(logits=x),
        "xent": raw.SoftmaxCrossEntropyWithLogits(features=x, labels=x),
        "args": raw.BroadcastGradientArgs(s0=[2, 1], s1=[1, 3]),
    }
    return Run(fetches, {x: X})


@program
def distributions(tf):
    tf.set_random_seed(1)
    normal = tf.distributions.Normal(loc=[0.0, 1.0], scale=[1.0, 2.0])
    other = tf.distributions.Normal(0.5, 1.5)
    categorical = tf.distributions.Categorical(logits=[[0.1, 0.9, 0.0]])
    fetches = {
        "sample": normal.sample(3, seed=2),
        "log_prob": normal.log_prob([0.5, 0.5]),
        "entropy": normal.entropy(),
        "cdf": normal.cdf(0.3),
        "kl": tf.distributions.kl_divergence(normal, other),
        "categories": categorical.sample(4, seed=3),
        "category_log_prob": categorical.log_prob([1]),
        "bernoulli": tf.distributions.Bernoulli(probs=[0.2, 0.8]).mode(),
    }
    return Run(fetches)


@program
def configuration_protos(tf):
    config = tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=3)
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    options = tf.GPUOptions(allow_growth=True, visible_device_list="0")
    merged = tf.ConfigProto(gpu_options=options)
    event = tf.HistogramProto(min=1.0, max=2.0)
    node = tf.NodeDef(name="n", op="NoOp")
    written = [proto.SerializeToString() for proto in (config, merged, event, node)]
    facts = {"bytes": [repr(text) for text in written], "name": node.name,
             "again": tf.ConfigProto.FromString(config.SerializeToString()) == config,
             "levels": [tf.OptimizerOptions.L1, tf.OptimizerOptions.OFF],
             "run": tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE).trace_level,
             "graph": repr(tf.GraphOptions(enable_recv_scheduling=True).SerializeToString())}
    return Run(facts=facts)


@program
def default_graphs_are_reset(tf):
    with tf.Graph().as_default() as graph:
        facts = {"nested": ""}
        try:
            tf.reset_default_graph()
        except AssertionError as error:
            facts["nested"] = str(error)
        tf.constant(1)
        facts["ops"] = len(graph.get_operations())
    return Run(facts=facts)


@program
def arguments_of_raw_ops(tf):
    raw = tf.raw_ops
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    above = x > 2.0
    reductions = ("EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
    fetches = {name: getattr(raw, name)(input=x, axis=[1]) for name in reductions}
    fetches["all"] = raw.All(input=above, axis=0, keep_dims=True)
    fetches["any"] = raw.Any(input=above, axis=0)
    fetches["expanded"] = raw.ExpandDims(input=x, axis=1)
    fetches["squeezed"] = raw.Squeeze(input=fetches["expanded"], axis=[1])
    fetches["selected"] = raw.Select(condition=above, x=x, y=-x)
    fetches["split"] = raw.Split(axis=1, value=x, num_split=3)
    fetches["split_v"] = raw.SplitV(value=x, size_splits=[1, 2], axis=1, num_split=2)
    fetches["where"] = raw.Where(condition=above)
    return Run(fetches)
