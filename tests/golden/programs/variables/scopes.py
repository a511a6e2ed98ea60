"""get_variable and variable_scope: reuse, initializers, partitioners, getters, re-entering."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def names(variables):
    return [v.name for v in variables]


@program
def get_variable_forms(tf):
    tf.set_random_seed(1)
    variables = [
        tf.get_variable("shape", [2, 3]),
        tf.get_variable("dtype", [2], tf.float64),
        tf.get_variable("ints", [2], tf.int32),
        tf.get_variable("bools", [2], tf.bool, tf.zeros_initializer()),
        tf.get_variable("tensor", initializer=tf.constant([1.0, 2.0])),
        tf.get_variable("python", initializer=[[1, 2], [3, 4]]),
        tf.get_variable("numpy", initializer=np.float32([0.5])),
        tf.get_variable("function", [3], initializer=lambda s, dtype=None, partition_info=None:
                        tf.fill(s, 7.0)),
        tf.get_variable("frozen", [1], initializer=tf.ones_initializer, trainable=False),
        tf.get_variable("scalar", [], initializer=tf.constant_initializer(4.0)),
        tf.get_variable("with/slash", [1], initializer=tf.zeros_initializer()),
        tf.get_variable("resource", [2], initializer=tf.ones_initializer(), use_resource=True),
        tf.get_variable("shape_object", tf.TensorShape([2]), initializer=tf.ones_initializer()),
        tf.get_variable("collected", [1], initializer=tf.ones_initializer(), collections=["mine"]),
        tf.get_local_variable("local", [1], initializer=tf.ones_initializer()),
    ]
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer(),
             tf.variables_initializer([variables[-2]])]
    facts = {"global": names(tf.global_variables()), "trainable": names(tf.trainable_variables()),
             "local": names(tf.local_variables()), "mine": names(tf.get_collection("mine"))}
    return Run({v.op.name: v for v in variables}, setup=setup, facts=facts)


@program
def reuse_in_every_form(tf):
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
    with tf.variable_scope("a", reuse=True):
        same = tf.get_variable("v", [1])
        with tf.variable_scope("b"):
            inherited = tf.get_variable_scope().reuse
    with tf.variable_scope("a") as scope:
        scope.reuse_variables()
        again = tf.get_variable("v")
    with tf.variable_scope(scope, reuse=True):
        once_more = tf.get_variable("v")
    with tf.variable_scope("c", reuse=tf.AUTO_REUSE):
        first = tf.get_variable("v", [2])
        second = tf.get_variable("v", [2])
        with tf.variable_scope("d"):
            nested = tf.get_variable("v", [3])
    with tf.variable_scope("c", reuse=tf.AUTO_REUSE):
        third = tf.get_variable("v", [2])
    facts = {"same": [v is same, v is again, v is once_more, first is second, first is third],
             "names": names([v, first, nested]), "inherited": bool(inherited),
             "all": names(tf.global_variables())}
    return Run(facts=facts)


@program
def refused_reuse(tf):
    tf.get_variable("v", [2])
    facts = {}
    facts["exists"] = raised(tf.get_variable, "v", [2])
    with tf.variable_scope("s", reuse=True):
        facts["missing"] = raised(tf.get_variable, "v", [2])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        facts["shape"] = raised(tf.get_variable, "v", [3])
        facts["dtype"] = raised(tf.get_variable, "v", [2], tf.float64)
    facts["no_shape"] = raised(tf.get_variable, "w")
    facts["unknown_shape"] = raised(tf.get_variable, "w", [None, 2])
    facts["shape_and_tensor"] = raised(tf.get_variable, "w", [3], initializer=tf.zeros([3]))
    facts["empty_name"] = raised(tf.variable_scope, None)
    text = tf.get_variable("text", [2], tf.string)
    facts["text"] = [str(text.dtype), text.initializer.type]
    return Run(facts=facts)


@program
def nested_scopes_and_name_scopes(tf):
    made = []
    with tf.variable_scope("outer") as outer:
        made.append(tf.get_variable("v", [1]))
        made.append(tf.Variable(1.0, name="v"))
        with tf.name_scope("names"):
            made.append(tf.get_variable("w", [1]))
            op_name = tf.constant(1).name
        with tf.variable_scope("inner"):
            made.append(tf.get_variable("v", [1]))
        with tf.variable_scope("inner"):
            made.append(tf.get_variable("w", [1]))
            second = tf.constant(1).name
    facts = {"names": names(made), "ops": [op_name, second],
             "scope": [outer.name, outer.original_name_scope]}
    return Run(facts=facts)


@program
def reentered_scopes(tf):
    op_names = []
    with tf.variable_scope("a") as a:
        with tf.variable_scope("b") as b:
            tf.get_variable("v", [1])
            op_names.append(tf.no_op().name)
    with tf.variable_scope("other"):
        with tf.variable_scope(b):
            tf.get_variable("w", [1])
            op_names.append(tf.no_op().name)
        op_names.append(tf.no_op().name)
    with tf.variable_scope(a, auxiliary_name_scope=False) as again:
        tf.get_variable("x", [1])
        op_names.append(tf.no_op().name)
        with tf.name_scope(again.original_name_scope):
            op_names.append(tf.no_op().name)
    with tf.variable_scope("a", auxiliary_name_scope=False):
        op_names.append(tf.no_op().name)
    return Run(facts={"ops": op_names, "variables": names(tf.global_variables())})


@program
def default_names(tf):
    variables = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            variables.append(tf.get_variable("w", [1]))
            with tf.variable_scope(None, "layer"):
                variables.append(tf.get_variable("w", [1]))
    with tf.variable_scope("layer"):
        variables.append(tf.get_variable("z", [1]))
    x = tf.constant(1.0)
    with tf.variable_scope(None, "layer", [x]):
        variables.append(tf.get_variable("w", [1]))
    with tf.variable_op_scope([x], None, "old"):
        variables.append(tf.get_variable("w", [1]))
    facts = {"names": names(variables),
             "both": raised(tf.variable_scope(None, "d", reuse=True).__enter__)}
    return Run(facts=facts)


@program
def scope_defaults(tf):
    tf.set_random_seed(2)
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0), dtype=tf.float64,
                           use_resource=True) as scope:
        a = tf.get_variable("a", [2])
        with tf.variable_scope("t", initializer=tf.ones_initializer()):
            b = tf.get_variable("b", [1], tf.float32)
        scope.set_initializer(tf.zeros_initializer())
        scope.set_use_resource(False)
        c = tf.get_variable("c", [1])
        scope.set_dtype(tf.int32)
        d = tf.get_variable("d", [1])
    with tf.variable_scope("u", constraint=tf.abs, caching_device="/cpu:0"):
        e = tf.get_variable("e", [1], initializer=tf.ones_initializer())
    facts = {"dtypes": [str(v.dtype) for v in (a, b, c, d)], "constraint": e.constraint is tf.abs,
             "scope": [scope.name, bool(scope.reuse), str(scope.dtype), str(scope.use_resource)]}
    return Run({"all": [a, b, c, d, e]}, setup=[tf.global_variables_initializer()], facts=facts)


@program
def regularizers(tf):
    def l2(scale):
        return lambda w: scale * tf.nn.l2_loss(w)

    with tf.variable_scope("net", regularizer=l2(0.1)):
        w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
        tf.get_variable("b", [2], initializer=tf.zeros_initializer(),
                        regularizer=tf.no_regularizer)
        tf.get_variable("u", [1], initializer=tf.ones_initializer(), regularizer=l2(10.0))
    with tf.variable_scope("net", reuse=True):
        tf.get_variable("w")
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    total = tf.add_n(losses) + tf.losses.get_regularization_loss()
    return Run({"losses": losses, "total": total, "w": w},
               setup=[tf.global_variables_initializer()])


@program
def partitioned_variables(tf):
    tf.set_random_seed(3)
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
        w = tf.get_variable("w", [7, 2])
        b = tf.get_variable("b", [2], initializer=tf.zeros_initializer(), partitioner=None)
    axis = tf.get_variable("axis", [2, 4], initializer=tf.ones_initializer(),
                           partitioner=tf.fixed_size_partitioner(2, axis=1))
    sized = tf.get_variable("sized", [8], initializer=tf.constant_initializer([5.0]),
                            partitioner=tf.variable_axis_size_partitioner(16))
    lower = tf.get_variable("lower", [6, 3], initializer=tf.zeros_initializer(),
                            partitioner=tf.min_max_variable_partitioner(
                                max_partitions=3, min_slice_size=8))
    tensor = tf.convert_to_tensor(w)
    lookup = tf.nn.embedding_lookup(w, [0, 3, 6], partition_strategy="div")
    gradient = tf.gradients(tf.reduce_sum(lookup * lookup), list(w))
    facts = {"names": [names(list(v)) for v in (w, axis, sized, lower)],
             "kinds": [type(v).__name__ for v in (w, b)], "shape": str(w.get_shape()),
             "partitions": [str(p.shape) for p in w],
             "slices": [p._save_slice_info.spec for p in w]}
    fetches = {"w": tensor, "parts": list(w), "axis": axis.as_tensor(), "sized": list(sized),
               "lookup": lookup, "gradient": gradient, "sum": tf.add(w, 1.0)}
    return Run(fetches, setup=[tf.global_variables_initializer()], facts=facts)


@program
def custom_getters(tf):
    def doubled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 2.0

    def renamed(getter, name, *args, **kwargs):
        return getter("renamed_" + name.replace("/", "_"), *args, **kwargs)

    ones = tf.ones_initializer()
    a = tf.get_variable("a", [2], initializer=ones, custom_getter=doubled)
    with tf.variable_scope("s", custom_getter=doubled):
        b = tf.get_variable("b", [2], initializer=ones)
        with tf.variable_scope("t", custom_getter=doubled):
            c = tf.get_variable("c", [2], initializer=ones)
        with tf.variable_scope("u", custom_getter=renamed):
            d = tf.get_variable("d", [2], initializer=ones)
    return Run({"a": a, "b": b, "c": c, "d": d}, setup=[tf.global_variables_initializer()],
               facts={"names": names(tf.global_variables())})


@program
def averaged_weights_through_a_getter(tf):
    average = tf.train.ExponentialMovingAverage(0.5)

    def use_average(getter, name, *args, **kwargs):
        variable = getter(name, *args, **kwargs)
        return average.average(variable) if average.average(variable) is not None else variable

    def model(x, getter=None, reuse=None):
        with tf.variable_scope("model", reuse=reuse, custom_getter=getter):
            w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
            return tf.matmul(x, w)

    x = tf.constant([[1.0, 2.0]])
    y = model(x)
    w = tf.trainable_variables()[0]
    update = tf.group(w.assign_add([[1.0], [1.0]]))
    with tf.control_dependencies([update]):
        maintain = average.apply([w])
    smooth = model(x, use_average, reuse=True)
    return Run({"y": y, "smooth": smooth}, setup=[tf.global_variables_initializer()],
               train=[maintain], steps=3)


@program
def templates(tf):
    def line(x, name="w"):
        w = tf.get_variable(name, [1], initializer=tf.ones_initializer())
        return x * w

    shared = tf.make_template("shared", line)
    a, b = shared(tf.constant(2.0)), shared(tf.constant(3.0))
    other = tf.make_template("other", line, name="v")
    c = other(tf.constant(4.0))
    unique = tf.make_template("unique", line, unique_name_="unique_one")
    d = unique(5.0)
    again = tf.make_template("shared", line)(1.0)
    return Run({"all": [a, b, c, d, again]}, setup=[tf.global_variables_initializer()],
               facts={"names": names(tf.global_variables()),
                      "variables": names(shared.variables), "scope": shared.variable_scope.name})


@program
def scopes_used_as_prefixes(tf):
    for name in ("generator", "discriminator"):
        with tf.variable_scope(name):
            with tf.variable_scope("dense"):
                tf.get_variable("kernel", [2, 2])
                tf.get_variable("bias", [2], trainable=False)
    keys = tf.GraphKeys
    with tf.variable_scope("generator") as scope:
        own = scope.global_variables() + scope.trainable_variables()
    facts = {
        "generator": names(tf.get_collection(keys.TRAINABLE_VARIABLES, scope="generator")),
        "all": names(tf.get_collection(keys.GLOBAL_VARIABLES, "discriminator/dense")),
        "regex": names(tf.trainable_variables(scope=".*/dense/kernel")),
        "filtered": [v.op.name for v in tf.trainable_variables() if "disc" in v.name],
        "own": names(own),
    }
    return Run(facts=facts)


@program
def scopes_and_devices(tf):
    with tf.device("/cpu:0"), tf.variable_scope("s"):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        with tf.device("/job:localhost"):
            w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    with tf.control_dependencies([tf.no_op(name="first")]):
        u = tf.get_variable("u", [2], initializer=tf.ones_initializer())
        x = tf.Variable([1.0, 2.0], name="x")
    return Run({"sum": v + w + u + x}, setup=[tf.global_variables_initializer()],
               facts={"devices": [t.device for t in (v, w, u)]})
