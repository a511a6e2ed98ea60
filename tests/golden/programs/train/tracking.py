"""Lists, dictionaries and templates as parts of objects, and how checkpoints of them are read."""

from __future__ import annotations

import copy
import functools
import gc
import logging
import os
import pickle
import threading

import numpy as np
from tests.golden.programs.saved_model import directory
from tests.golden.programs.stillflow_contrib.checkpoint import names
from tests.golden.registry import Run, eagerly, program, raised


class Holder:
    """An object of the library whose attributes are its parts."""

    def __new__(cls, tf):
        return tf.contrib.checkpoint.Checkpointable()


def in_a_graph_of_its_own(build):
    """Return a program of facts: names of temporary files are in the graph."""

    @functools.wraps(build)
    def building(tf):
        with tf.Graph().as_default():
            return build(tf)

    return program(building)


def changed(tf, change, first=None):
    """Return the names in a list or dictionary attribute after a change, or the error."""
    holder = Holder(tf)
    holder.own = first(tf) if first else [tf.Variable(1.0, name="a"), 2]
    given = change(holder.own)
    try:
        found = names(holder.own)
    except ValueError as error:
        found = str(error).splitlines()[0].partition(" (a ")[2]
    return [len(holder.own), given if isinstance(given, int) else None, found]


def dictionary(tf):
    return {"a": tf.Variable(1.0, name="a"), "b": 2}


@program
def lists(tf):
    def outside(wrapper):
        wrapper._storage.append(tf.Variable(1.0, name="outside"))

    def sliced(wrapper):
        wrapper[1:] = [3, tf.Variable(1.0, name="sliced")]

    def times(wrapper):
        wrapper *= 2

    return Run(facts={
        "append": changed(tf, lambda x: x.append(tf.Variable(1.0, name="b"))),
        "extend": changed(tf, lambda x: x.extend([[tf.Variable(1.0, name="b")], {"c": 3}])),
        "insert": changed(tf, lambda x: x.insert(0, 3)),
        "pop": changed(tf, lambda x: x.pop()),
        "remove": changed(tf, lambda x: x.remove(2)),
        "reverse": changed(tf, lambda x: x.reverse()),
        "clear": changed(tf, lambda x: x.clear()),
        "set": changed(tf, lambda x: x.__setitem__(1, 4)),
        "set a part": changed(tf, lambda x: x.__setitem__(0, 4)),
        "set a slice": changed(tf, sliced),
        "delete": changed(tf, lambda x: x.__delitem__(0)),
        "sort": changed(tf, lambda x: x.sort(), lambda tf: [2, 1]),
        "times": changed(tf, times),
        "outside": changed(tf, outside),
    })  # fmt: skip


@program
def dictionaries(tf):
    def number(wrapper):
        wrapper[1] = tf.Variable(1.0, name="b")

    return Run(facts={
        "set": changed(tf, lambda x: x.__setitem__("c", [tf.Variable(1.0, name="b")]), dictionary),
        "set again": changed(tf, lambda x: x.__setitem__("b", 3), dictionary),
        "update": changed(tf, lambda x: x.update(c={}, d=3), dictionary),
        "delete": changed(tf, lambda x: x.__delitem__("b"), dictionary),
        "pop": changed(tf, lambda x: x.pop("b"), dictionary),
        "pop nothing": changed(tf, lambda x: x.pop("z", 7), dictionary),
        "popitem": len(changed(tf, lambda x: x.popitem(), dictionary)),
        "clear": changed(tf, lambda x: x.clear(), dictionary),
        "setdefault": changed(tf, lambda x: x.setdefault("b", 4), dictionary),
        "setdefault new": changed(tf, lambda x: x.setdefault("z", 4), dictionary),
        "number": changed(tf, number, dictionary),
        "outside": changed(tf, lambda x: x.__wrapped__.update(q=1), dictionary),
    })  # fmt: skip


@program
def wrapped(tf):
    """They are what they were: equal, ordered, structures, copied and pickled as such."""
    holder, module, layer = Holder(tf), tf.Module("module"), tf.keras.layers.Dense(1)
    facts = {}
    for owner in (holder, module, layer):
        owner.list, owner.pair = [1, [2], {"x": [3]}], (1, [2])
        owner.dict = {"b": [1], "a": (3, [4])}
        facts[type(owner).__name__] = [
            repr(owner.list), str(owner.list), repr(owner.dict), str(owner.dict), repr(owner.pair),
            type(owner.list).__name__, isinstance(owner.list, list), isinstance(owner.dict, dict),
        ]  # fmt: skip
    own = holder.list
    facts["as lists"] = [own == [1, [2], {"x": [3]}], own < [2], own + [1], [1] + own, own * 2,
                         own[1:], list(own), tuple(own), own.index(1), 5 in own]  # fmt: skip
    facts["as dictionaries"] = [
        holder.dict == {"b": [1], "a": (3, [4])}, dict(holder.dict), sorted(holder.dict),
        dict(**module.dict), holder.dict != {}, [*holder.dict.items()],
    ]  # fmt: skip
    facts["unhashable"] = [raised(hash, own), raised(hash, holder.dict)]
    facts["structures"] = [
        tf.nest.flatten(own),
        repr(tf.nest.map_structure(str, own)),
        tf.nest.assert_same_structure(own, [5, [6], {"x": [7]}]),
    ]
    copies = copy.copy(own), copy.deepcopy(own), copy.deepcopy(holder.dict), holder.dict.copy()
    facts["copies"] = [[repr(one), one is own] for one in copies]
    facts["shared"] = [copies[0][1] is own[1], copies[1][1] is own[1]]
    facts["pickled"] = [
        repr(pickle.loads(pickle.dumps(own))),
        tf.constant([own[0]]).shape.as_list(),
    ]
    holder.plain = tf.contrib.checkpoint.NoDependency([1])
    facts["plain"] = [repr(holder.plain), names(holder)]
    return Run(facts=facts)


@program
def layers_in_containers(tf):
    model = tf.keras.Model()
    model.stack, model.named = [], {}
    model.stack.append(tf.keras.layers.Dense(1))
    model.stack += [[tf.keras.layers.Dense(2)], 3]
    model.named["c"] = tf.keras.layers.Dense(3)
    model.own = [tf.Variable(1.0, name="own"), tf.Variable(2.0, name="fixed", trainable=False)]
    facts = {
        "layers": [layer.units for layer in model.layers],
        "inside": [[layer.units for layer in one.layers] for one in (model.stack, model.named)],
        "weights": [v.name for v in model.weights],
        "names": [names(model), names(model.stack), names(model.named), names(model.own)],
        "none": [model.stack.trainable_weights, model.named.losses],
    }
    growing = tf.contrib.checkpoint.List([model.own])
    growing *= 2
    facts["growing"] = [len(growing), len(2 * growing), len(growing * 2), names(growing)]
    facts["refused"] = raised(growing.__imul__, 0)
    return Run(facts=facts)


@program
def parts_of_layers(tf):
    x = tf.ones([2, 3])

    class Adding(tf.keras.layers.Layer):
        def build(self, shape):
            self.add_weight("unassigned", [2])
            self.kept = self.add_weight("named", [2], regularizer="l2")

        def call(self, inputs):
            self.add_loss(tf.reduce_sum(inputs))
            self.add_update(tf.no_op())
            return inputs

    made = [
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(2, kernel_regularizer="l2"),
        tf.keras.layers.Dense(2, activity_regularizer="l2"),
        tf.layers.Dense(2, kernel_regularizer=tf.nn.l2_loss),
        Adding(),
    ]
    for layer in made:
        layer(x)
    return Run(facts={"names": [names(layer) for layer in made]})


@in_a_graph_of_its_own
def templates(tf):
    def inner():
        with tf.variable_scope("deeper"):
            return tf.get_variable("w", [2])

    def body():
        v = tf.get_variable("v", [1], use_resource=True)
        tf.Variable(1.0, name="apart")
        return v, part(), tf.layers.dense(tf.ones([1, 2]), 1)

    part = tf.make_template("part", inner)
    whole = tf.make_template("whole", body)
    whole()
    facts = {"names": [names(whole), names(part)]}
    with directory() as folder, tf.Session() as session:
        session.run(tf.global_variables_initializer())
        checkpoint = tf.train.Checkpoint(template=whole)
        path = checkpoint.save(os.path.join(folder, "x"), session)
        facts["keys"] = [name for name, _ in tf.train.list_variables(path)]
        facts["restored"] = type(checkpoint.restore(path).assert_consumed()).__name__
    return Run(facts=facts)


@program
def what_counts_saves(tf):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0, name="v"))
    facts = {"trainable": checkpoint.save_counter.trainable}
    facts["trained"] = [v.name for v in tf.trainable_variables()]
    facts["refused"] = [
        raised(tf.train.Checkpoint, v=value) for value in (3, [tf.Variable(1.0, name="w")])
    ]
    return Run(facts=facts)


@in_a_graph_of_its_own
def saved_by_functions(tf):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0, use_resource=True, name="v"))
    with directory() as folder, tf.Session() as session:

        @tf.function
        def write():
            return checkpoint.write(os.path.join(folder, "written"))

        @tf.function
        def save():
            return checkpoint.save(os.path.join(folder, "saved"))

        session.run(checkpoint.v.initializer)
        facts = {"written": os.path.basename(session.run(write()).decode())}
        facts["keys"] = tf.train.list_variables(os.path.join(folder, "written"))
        facts["refused"] = raised(save)
    return Run(facts=facts)


@in_a_graph_of_its_own
def kept_by_keras(tf):
    """Without a session, the one of Keras."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), use_bias=False)])
    model.set_weights([np.array([[3.0]])])
    checkpoint = tf.train.Checkpoint(model=model)
    with directory() as folder:
        path = checkpoint.save(os.path.join(folder, "x"))
        model.set_weights([np.array([[4.0]])])
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        return Run(facts={"restored": model.get_weights(), "path": os.path.basename(path)})


class Warnings(logging.Handler):
    """The lines that the library logs of objects made inside.

    Objects that are freed log, too, so those of earlier programs are freed before. Threads that
    earlier programs have left behind log what they want.
    """

    def __init__(self, tf):
        super().__init__()
        self.lines = []
        self.logger = tf.get_logger()

    def emit(self, record):
        if record.thread == self.thread:
            self.lines.append(record.getMessage())

    def __enter__(self):
        gc.collect()
        self.thread = threading.get_ident()
        self.before = self.logger.level
        self.logger.addHandler(self)
        self.logger.setLevel(logging.WARNING)
        return self.lines

    def __exit__(self, *error):
        self.logger.removeHandler(self)
        self.logger.setLevel(self.before)


def partly_used(tf):
    with directory() as folder:
        v, nothing = [tf.Variable(float(i), name="v") for i in range(3)], Holder(tf)
        root = tf.train.Checkpoint(a=v[0], b=v[1], deeper=tf.train.Checkpoint(c=v[2]))
        path = root.save(os.path.join(folder, "x"))
        facts = {}
        for case in ("said", "expected", "consumed", "later", "attribute"):
            fresh = tf.train.Checkpoint(a=tf.Variable(9.0, name="v"))
            with Warnings(tf) as lines:
                if case == "attribute":
                    fresh.b, fresh.deeper = nothing, tf.train.Checkpoint(c=tf.Variable(5.0))
                status = fresh.restore(path)
                if case == "expected":
                    status.expect_partial()
                if case == "consumed":
                    facts["error"] = raised(status.assert_consumed)
                if case == "later":
                    fresh.b = tf.Variable(9.0, name="v")
                    fresh.deeper = tf.train.Checkpoint(c=tf.Variable(9.0, name="v"))
                    facts["values"] = [fresh.b.numpy(), fresh.deeper.c.numpy()]
                del fresh, status
                gc.collect()
            facts[case] = lines
    return facts


@program
def warnings_of_what_is_left(tf):
    return eagerly(tf, partly_used)


def in_which_order(tf):
    with directory() as folder:
        root = tf.train.Checkpoint(v=tf.Variable(1.0, name="v"))
        first = root.save(os.path.join(folder, "first"))
        root.v.assign(2.0)
        second = root.save(os.path.join(folder, "second"))
        facts = {}
        for order in ((first, second), (second, first)):
            a, b = tf.train.Checkpoint(), tf.train.Checkpoint()
            a.restore(order[0])
            b.restore(order[1])
            variable = tf.Variable(0.0, name="v")
            values = []
            for holder in (b, a):
                holder.v = variable
                values.append(variable.numpy())
            facts[os.path.basename(order[0])] = values
    return facts


@program
def the_last_restored_counts(tf):
    return eagerly(tf, in_which_order)


def slots_before_steps(tf):
    facts = {}
    with directory() as folder:
        for make in (tf.keras.optimizers.Adam, tf.train.AdamOptimizer):
            optimizer, v = make(0.1), tf.Variable([1.0], name="v", use_resource=True)
            optimizer.apply_gradients([(tf.constant([2.0]), v)])
            root = tf.train.Checkpoint(optimizer=optimizer, v=v)
            path = root.save(os.path.join(folder, make.__name__))
            fresh = tf.train.Checkpoint(optimizer=make(0.1))
            status = fresh.restore(path)
            fresh.v = tf.Variable([5.0], name="v", use_resource=True)
            slot = fresh.optimizer.get_slot(fresh.v, "m")
            facts[make.__name__] = [fresh.v.numpy(), slot.numpy(), slot.name]
            fresh.optimizer.apply_gradients([(tf.constant([2.0]), fresh.v)])
            status.assert_consumed()
            facts["then " + make.__name__] = fresh.v.numpy()
    return facts


@program
def slots_are_restored_with_their_variable(tf):
    return eagerly(tf, slots_before_steps)


@in_a_graph_of_its_own
def initialized_after_restoring(tf):
    """Initialize after a restore: the checkpoint's value stays, in any order."""
    with directory() as folder, tf.Session() as session:
        v, w = [tf.Variable(1.0, name=name, use_resource=True) for name in "vw"]
        both, one = tf.train.Checkpoint(v=v, w=w), tf.train.Checkpoint(v=v)
        session.run([v.initializer, w.initializer])
        session.run(v.assign(5.0))
        path = one.save(os.path.join(folder, "x"), session)
        nothing = both.restore(None)
        status = one.restore(path)
        status.run_restore_ops(session)
        nothing.initialize_or_restore(session)
        return Run(facts={"values": session.run([v, w])})


@in_a_graph_of_its_own
def models_restored_while_traced(tf):
    model = tf.keras.layers.Dense(1, use_bias=False)
    with directory() as folder, tf.Session() as session:
        saved = tf.keras.layers.Dense(1, use_bias=False)
        saved(tf.ones([1, 1]))
        session.run(saved.kernel.initializer)
        session.run(saved.kernel.assign([[7.0]]))
        path = tf.train.Checkpoint(model=saved).save(os.path.join(folder, "x"), session)
        status = tf.train.Checkpoint(model=model).restore(path)
        result = tf.function(lambda x: model(x))(tf.constant([[2.0]]))
        status.initialize_or_restore(session)
        facts = {"result": session.run(result), "name": model.kernel.name}
        return Run(facts=facts)


@program
def adam_without_decay(tf):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    optimizer = tf.keras.optimizers.Adam(0.1, beta_1=1.0)
    (step,) = [optimizer.apply_gradients([(tf.constant([0.0, 2.0]), v)])]
    setup = [v.initializer] + [each.initializer for each in optimizer.variables()]
    hyper = [each.initializer for each in optimizer._hyper.values() if hasattr(each, "initializer")]
    with tf.control_dependencies([step]):
        return Run({"v": v.read_value()}, setup=setup + hyper)


def _parts_after(tf, holder, change):
    """Return the names and kinds of an object's parts after a change of the attribute `step`."""
    holder.step = tf.Variable(1.0, name="step", use_resource=True)
    change(holder)
    return [(part.name, type(part.ref).__name__) for part in holder._checkpoint_dependencies]


@in_a_graph_of_its_own
def replaced_attributes(tf):
    """Return a part stays one when its attribute is assigned what can be no part."""

    def assigned(make):
        return lambda holder: setattr(holder, "step", make())

    changes = {
        "number": assigned(lambda: 3),
        "none": assigned(lambda: None),
        "tensor": assigned(lambda: tf.constant(1.0)),
        "function": assigned(lambda: tf.function(lambda: 1)),
        "list": assigned(lambda: [1]),
        "variable": assigned(lambda: tf.Variable(2.0, name="other")),
        "untracked": assigned(lambda: tf.contrib.checkpoint.NoDependency(3)),
        "deleted": lambda holder: delattr(holder, "step"),
    }
    holders = {
        "module": tf.Module,
        "checkpointable": lambda: Holder(tf),
        "layer": tf.keras.layers.Layer,
        "model": tf.keras.Model,
    }
    return Run(
        facts={
            kind: {name: _parts_after(tf, make(), change) for name, change in changes.items()}
            for kind, make in holders.items()
        }
    )


@in_a_graph_of_its_own
def parts_of_modules(tf):
    """Return a module has parts by name as other objects of the library do."""
    module = tf.Module(name="outer")
    first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
    given = module._track_trackable(first, name="x")
    module.y = second
    module.z = [tf.Module(name="inner")]
    return Run(
        facts={
            "given": given is first,
            "names": [part.name for part in module._checkpoint_dependencies],
            "found": [module._lookup_dependency(name) is not None for name in ("x", "y", "w")],
            "twice": raised(module._track_trackable, second, name="x"),
            "no part": raised(module._track_trackable, 3, name="w"),
            "variables": [v.name for v in module.variables],
            "submodules": [each.name for each in module.submodules],
        }
    )


@in_a_graph_of_its_own
def module_that_was_copied(tf):
    """Return a copy shares the parts of its original, as far as they are not other ones."""
    module = tf.Module()
    module.step = tf.Variable(1.0, name="step", use_resource=True)
    step, other = module.step, copy.copy(module)
    other.step = tf.function(lambda: step).get_concrete_function()
    other.more = tf.Variable(2.0, name="more", use_resource=True)
    found = {}
    with directory() as path, tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(other, os.path.join(path, "model"))
        found["saved"] = tf.train.list_variables(os.path.join(path, "model/variables/variables"))
    found["original"] = [part.name for part in module._checkpoint_dependencies]
    found["copy"] = [part.name for part in other._checkpoint_dependencies]
    return Run(facts=found)
