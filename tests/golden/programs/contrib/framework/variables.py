"""tf.contrib.framework: variables, assignments, checks of tensors."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def variables(tf):
    framework = tf.contrib.framework
    with tf.variable_scope("a"):
        w = framework.model_variable(
            "w", [2], initializer=tf.ones_initializer(), collections=["mine"],
            regularizer=tf.contrib.layers.l2_regularizer(0.5))
        v = framework.variable("v", [2], initializer=tf.zeros_initializer(), trainable=False,
                               device="/cpu:0")
    local = framework.local_variable(3, name="local")
    fixed = framework.global_variable([1.0], name="fixed")
    step = framework.get_or_create_global_step()
    framework.add_model_variable(v)
    framework.add_model_variable(v)
    with tf.variable_scope("a", reuse=True):
        again = framework.model_variable("w", [2])
    assign, feeds = framework.assign_from_values({"a/v": np.float32([5, 6])})
    facts = {name: [x.name for x in tf.get_collection(name)] for name in (
        "variables", "local_variables", "model_variables", "trainable_variables", "mine",
        "regularization_losses")}
    facts.update({
        "same": again is w, "feeds": sorted(t.name for t in feeds), "assign": assign.name,
        "unique": framework.get_unique_variable("a/w").name,
        "lack": raised(framework.get_unique_variable, "b"),
        "several": raised(framework.get_unique_variable, "a"),
        "values": raised(framework.assign_from_values, {"q": 1}),
        "include": raised(framework.get_variables_to_restore, "a"),
        "exclude": raised(framework.get_variables_to_restore, exclude="a"),
        "suffix": [x.name for x in framework.get_variables_by_suffix("w")],
        "empty": raised(framework.assign_from_checkpoint_fn, "p", []),
    })
    fetches = {"w": w, "v": v, "local": local, "fixed": fixed, "step": step}
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    return Run(fetches, setup=setup, facts=facts)


@program
def checks(tf):
    framework = tf.contrib.framework
    x = tf.placeholder(tf.float32, [None, 1])
    y = tf.placeholder(tf.float32, [None])
    free = tf.placeholder(tf.float32)
    predictions, labels = framework.remove_squeezable_dimensions(x, y)
    late, late_labels = framework.remove_squeezable_dimensions(free, y)
    fetches = {
        "predictions": predictions, "labels": labels, "late": late, "late_labels": late_labels,
        "sum": framework.reduce_sum_n([x, y]), "one": framework.reduce_sum_n([x], name="one"),
        "integer": framework.assert_scalar_int(tf.constant(3)),
        "sorted": framework.sort(y, direction="DESCENDING"), "order": framework.argsort(y),
    }
    facts = {
        "none": raised(framework.reduce_sum_n, []),
        "float": raised(framework.assert_scalar_int, tf.constant(3.0)),
        "vector": raised(framework.assert_scalar_int, tf.constant([3])),
        "scope": framework.get_name_scope(),
        "placeholders": [t.name for t in framework.get_placeholders(tf.get_default_graph())],
        "graph": raised(framework.get_placeholders, 3),
    }
    feeds = {x: [[1.0], [2.0]], y: [3.0, 4.0], free: [[5.0], [6.0]]}
    return Run(fetches, feeds, facts=facts)


@program
def scopes_of_arguments(tf):
    framework = tf.contrib.framework

    @framework.add_arg_scope
    def add(x, y=1, z=2):
        return x + y * z

    with framework.arg_scope([add], y=10) as scope:
        values = [add(1), add(1, z=3), add(1, y=2)]
        with framework.arg_scope([add], z=5):
            values.append(add(1))
    with framework.arg_scope(scope):
        values.append(add(1))
    facts = {
        "values": values, "has": framework.has_arg_scope(add), "not": framework.has_arg_scope(len),
        "arguments": list(framework.arg_scoped_arguments(add)),
        "refused": raised(framework.arg_scope(len, y=1).__enter__),
        "again": raised(framework.arg_scope(scope, y=1).__enter__),
        "twice": raised(lambda: framework.arg_scope([sorted]).__enter__()),
    }
    return Run(facts=facts)
