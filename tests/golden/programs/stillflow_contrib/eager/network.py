"""tf.contrib.eager.Network in graphs: names, scopes, checkpoints."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised


def classes(tf):
    """Return a network of a layer, and one of two such networks and a layer between."""
    tfe = tf.contrib.eager

    class Inner(tfe.Network):
        def __init__(self, units=2, name=None):
            super().__init__(name=name)
            self.layer = self.track_layer(
                tf.layers.Dense(units, kernel_initializer=tf.ones_initializer(),
                                kernel_regularizer=tf.nn.l2_loss))

        def call(self, x):
            return self.layer(x)

    class Outer(tfe.Network):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.first = self.track_layer(Inner())
            self.between = self.track_layer(tf.layers.BatchNormalization())
            self.second = self.track_layer(Inner(1, name="last"))

        def call(self, x):
            return self.second(self.between(self.first(x)))

    return Inner, Outer


def names(variables):
    return [variable.name for variable in variables]


@program
def nested(tf):
    _, Outer = classes(tf)
    x = tf.placeholder(tf.float32, [None, 3])
    one, two = Outer(), Outer("mine")
    outputs = [one(x), two(x), one(x + 1.0)]
    facts = {
        "names": [one.name, two.name, one.first.name, one.second.name],
        "scopes": [one.scope_name, two.scope_name, two.first.scope_name],
        "variables": names(one.variables) + names(two.variables),
        "not trained": names(two.non_trainable_variables),
        "layers": [layer.name for layer in one.layers],
        "losses": [loss.name for loss in two.losses],
        "found": [one.get_layer(index=1).name, two.get_layer("last").name],
    }
    return Run({"outputs": outputs}, {x: np.eye(2, 3)}, setup=[tf.global_variables_initializer()],
               facts=facts)


@program
def in_scopes(tf):
    Inner, Outer = classes(tf)
    with tf.variable_scope("scope"):
        inside, outside = Inner(), Inner(name="named")
        inside(tf.ones([1, 2]))
    outside(tf.ones([1, 2]))
    shared = Outer()
    borrower = tf.contrib.eager.Sequential([tf.nn.relu, inside], name="borrower")
    outputs = borrower(tf.ones([1, 2]))
    shared(tf.ones([1, 2]))
    return Run({"outputs": outputs}, setup=[tf.global_variables_initializer()],
               facts={"variables": names(tf.global_variables()), "borrowed":
                      names(borrower.variables), "scope": borrower.scope_name})


@program
def sequential(tf):
    net = tf.contrib.eager.Sequential([tf.layers.Dense(2, kernel_initializer=tf.ones_initializer()),
                                       tf.layers.Dropout(0.5), lambda x: x * 2.0])
    net.add(tf.layers.Flatten())
    outputs = [net(tf.ones([2, 3])), net(tf.ones([2, 3]), training=False)]
    return Run({"outputs": outputs}, setup=[tf.global_variables_initializer()],
               facts={"variables": names(net.variables), "name": net.name,
                      "refused": raised(net.add, 3)["class"]})


@program
def checkpoints(tf):
    tfe = tf.contrib.eager
    _, Outer = classes(tf)
    found = {}
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        net = Outer()
        found["too early"] = raised(tfe.save_network_checkpoint, net, folder)
        net(tf.ones([1, 3]))
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(net.first.variables[0], 2.0 * np.ones((3, 2))))
        path = tfe.save_network_checkpoint(net, folder, global_step=3)
        found["path"] = os.path.relpath(path, folder)
        found["saved"] = [[name, list(shape)] for name, shape in tf.train.list_variables(path)]
        found["clash"] = raised(tfe.save_network_checkpoint, net, folder,
                                map_func=lambda name: "same")
        full = tfe.save_network_checkpoint(net, os.path.join(folder, "full"),
                                           map_func=lambda name: "all/" + name)
        found["full"] = [name for name, _ in tf.train.list_variables(full)]
    with tf.Graph().as_default(), tf.Session() as session:
        later = Outer("later")
        tfe.restore_network_checkpoint(later, path)
        outputs = later(tf.ones([1, 3]))
        session.run(tf.variables_initializer(later.between.variables))
        found["restored later"] = session.run(outputs)
        now = Outer("now")
        outputs = now(tf.ones([1, 3]))
        session.run(tf.variables_initializer(now.variables))
        tfe.restore_network_checkpoint(now, path)
        found["restored now"] = session.run(outputs)
    return Run(facts=found)


@program
def refused(tf):
    Inner, _ = classes(tf)
    with tf.variable_scope("taken") as scope:
        pass
    net = Inner()
    facts = {
        "slash": raised(Inner, name="a/b"),
        "scope": raised(Inner, name=scope),
        "unnamed": raised(getattr, net, "name"),
        "taken": raised(Inner(name="taken"), tf.ones([1, 1])),
        "no layer": raised(net.track_layer, 3)["class"],
        "add_variable": raised(net.add_variable, "v", []),
        "add_loss": raised(net.add_loss, 1.0),
        "frozen": raised(setattr, net, "trainable", False),
        "both": raised(net.get_layer, "a", 1),
        "neither": raised(net.get_layer),
        "far": raised(net.get_layer, index=4),
        "unknown": raised(net.get_layer, "a"),
        "explicit": raised(Inner(), tf.ones([1, 1]), scope="mine"),
        "objects": raised(net._gather_saveables_for_checkpoint),
    }
    net.track_layer(tf.layers.Dense(1, name="same"))
    facts["same name"] = raised(net.track_layer, tf.layers.Dense(1, name="same"))
    return Run(facts=facts)
