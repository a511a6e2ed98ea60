"""tf.contrib.checkpoint: containers, arrays and Python objects in checkpoints of objects."""

from __future__ import annotations

import json
import os
import tempfile

import numpy as np
from tests.golden.programs.saved_model import directory
from tests.golden.registry import Run, eagerly, program, raised


def names(thing):
    return [name for name, _ in thing._checkpoint_dependencies]


@program
def containers(tf):
    lib = tf.contrib.checkpoint
    v = [tf.Variable(float(i), name=f"v{i}", trainable=i != 2) for i in range(5)]
    several = lib.List([v[0]])
    several.append(v[1])
    several.extend([v[2]])
    several.append([v[3]])
    keyed = lib.Mapping(a=v[0])
    keyed["b"] = v[1]
    keyed.update({"c": several})
    unique = lib.UniqueNameTracker()
    for variable, name in zip(v, ["x", "y", "x", "x_1", "y"]):
        unique.track(variable, name)

    class Holder(lib.Checkpointable):
        pass

    holder = Holder()
    holder.parts = several
    facts = {
        "names": [names(each) for each in (several, keyed, unique, holder)],
        "weights": [[w.name for w in each.trainable_weights] for each in (several, keyed, unique)],
        "frozen": [w.name for w in several.non_trainable_weights],
        "sizes": [len(several), len(keyed), len(several + [v[4]]), len([v[4]] + several)],
        "found": [several[1] is v[1], several.index(v[2]), v[0] in several, keyed["b"] is v[1]],
        "refused": [
            raised(several.append, 3), raised(lib.List, 3), raised(keyed.__setitem__, "a", v[2]),
            raised(keyed.__setitem__, 1, v[2]), raised(keyed.__setitem__, "q", 2),
            raised(unique.track, 3, "z"),
        ],
    }  # fmt: skip
    keyed["a"] = v[0]
    dense = tf.keras.layers.Dense(1, name="dense")
    facts["again"] = [names(keyed), [layer.name for layer in lib.List([[dense], v[0]]).layers]]
    several.trainable = False
    facts["not_trained"] = [w.name for w in several.trainable_weights]
    return Run(facts=facts)


def counting(tf):
    class Counting(tf.train.experimental.PythonState):
        def __init__(self):
            self.count = 0

        def serialize(self):
            return json.dumps(self.count)

        def deserialize(self, string_value):
            self.count = json.loads(string_value.decode())

    return Counting()


def saved_and_restored(tf, session):
    """Save twice, restore either, here and into objects that have no arrays yet."""
    lib = tf.contrib.checkpoint
    state, arrays = counting(tf), lib.NumpyState()
    weights = lib.List([tf.Variable([1.0, 2.0], name="w")])
    if session is not None:
        session.run(tf.global_variables_initializer())
    root = tf.train.Checkpoint(state=state, arrays=arrays, weights=weights)
    arrays.x, arrays.y = np.ones([2]), np.float32(3.0)
    with directory() as path:
        prefix = os.path.join(path, "ckpt")
        state.count = 5
        first = root.save(prefix) if session is None else root.save(prefix, session)
        state.count, arrays.x = 6, np.zeros([1, 2])
        size = None if session is None else len(session.graph.get_operations())
        second = root.save(prefix) if session is None else root.save(prefix, session)
        again = None if session is None else len(session.graph.get_operations())
        state.count, arrays.x = 7, np.arange(3)
        found = {"grows": size != again, "before": [state.count, arrays.x, arrays.y]}
        root.restore(first)
        found["first"] = [state.count, arrays.x, arrays.y]
        root.restore(second)
        found["second"] = [state.count, arrays.x, arrays.y]
        fresh = tf.train.Checkpoint(state=counting(tf), arrays=lib.NumpyState())
        fresh.restore(first)
        found["fresh"] = [fresh.state.count, fresh.arrays.x, fresh.arrays.y]
        found["names"] = names(arrays), names(fresh.arrays)
        found["keys"] = sorted(name for name, _ in tf.train.list_variables(first))
        found["drawing"] = lib.dot_graph_from_checkpoint(first).splitlines()
    found["refused"] = [
        raised(setattr, arrays, "z", [1])["class"],
        raised(tf.train.experimental.PythonState)["class"],
        raised(getattr, arrays, "q"),
    ]
    return found


@program
def states_in_graphs(tf):
    def call(session):
        with tf.Graph().as_default(), tf.Session() as own:
            return saved_and_restored(tf, own)

    return Run(call=call)


@program
def states_at_once(tf):
    return eagerly(tf, lambda tf: saved_and_restored(tf, None))


@program
def attributes_that_are_no_parts(tf):
    class Model(tf.Module):
        def __init__(self):
            super().__init__(name="model")
            self.given = self._no_dependency({"scale": [1.0]})
            self.kept = tf.Variable(1.0, name="kept", use_resource=True)
            self.hidden = self._no_dependency(tf.Variable(2.0, name="hidden", use_resource=True))
            self.back = self._no_dependency(tf.Variable(3.0, name="back", use_resource=True))
            self.back = tf.Variable(4.0, name="again", use_resource=True)

    class Holder(tf.contrib.checkpoint.Checkpointable):
        pass

    class Base(tf.contrib.checkpoint.CheckpointableBase):
        pass

    with tf.Graph().as_default():
        model, holder, base = Model(), Holder(), Base()
        holder.model = model
        holder.other = holder._no_dependency(model)
        layer = tf.keras.layers.Dense(1)
        layer.scale = layer._no_dependency([1.0])
        with directory() as folder, tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver = tf.train.Checkpoint(holder=holder)
            path = saver.save(os.path.join(folder, "model"), session=session)
            saved = [name for name, _ in tf.train.list_variables(path)]
    facts = {
        "type": [type(model.given).__name__, type(layer.scale).__name__, base._no_dependency(3)],
        "variables": [v.name for v in model.variables],
        "parts": [name for name, _ in holder._checkpoint_dependencies],
        "saved": [name for name in saved if name.startswith("holder")],
    }
    return Run(facts=facts)


def nodes_since(graph, count):
    """Return the operations added to a graph: names, types, devices, inputs and control inputs."""
    return [
        [op.name, op.type, op.device, [i.name for i in op.inputs],
         [c.name for c in op.control_inputs]]
        for op in graph.get_operations()[count:]
    ]  # fmt: skip


@program
def operations_in_graphs(tf):
    with directory() as place, tf.Graph().as_default() as graph, tf.Session() as session:
        layer = tf.keras.layers.Dense(2, name="d")
        layer.build((None, 3))
        optimizer = tf.train.AdamOptimizer()
        with tf.variable_scope("", use_resource=True):
            step = tf.Variable(2.0, name="step")
        train = optimizer.minimize(tf.reduce_sum(layer(tf.ones([1, 3]))))
        checkpoint = tf.train.Checkpoint(layer=layer, step=step, optimizer=optimizer)
        session.run(tf.global_variables_initializer())
        session.run(train)
        count = len(graph.get_operations())
        paths = [checkpoint.save(os.path.join(place, "deeper", "a")) for _ in range(2)]
        facts = {"saving": nodes_since(graph, count)}
        count = len(graph.get_operations())
        checkpoint.restore(paths[0]).assert_consumed().run_restore_ops()
        facts["restoring"] = nodes_since(graph, count)
        facts["files"] = sorted(os.listdir(os.path.join(place, "deeper")))
        with open(os.path.join(place, "deeper", "checkpoint")) as state:
            facts["state"] = [line for line in state.read().splitlines() if "stamp" not in line]
    return Run(facts=facts)


@program
def weights_in_graphs(tf):
    with directory() as place, tf.Graph().as_default() as graph, tf.Session() as session:
        tf.keras.backend.set_session(session)
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        model.compile(tf.keras.optimizers.Adam(), "mse")
        model.fit(np.ones((2, 3), "f"), np.ones((2, 2), "f"), verbose=0)
        count = len(graph.get_operations())
        model.save_weights(os.path.join(place, "w"))
        model.save_weights(os.path.join(place, "w"))
        model.load_weights(os.path.join(place, "w"))
        facts = {"nodes": nodes_since(graph, count), "files": sorted(os.listdir(place))}
    return Run(facts=facts)


@program
def scaffold_of_an_estimator(tf):
    """Return a checkpoint of objects as the saver of an estimator, which goes on from it."""

    def model_fn(features, labels, mode):
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        loss = tf.reduce_mean(tf.square(layer(features) - labels))
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        checkpoint = tf.compat.v2.train.Checkpoint(step=step, layer=layer)
        scaffold = tf.train.Scaffold(saver=checkpoint)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, scaffold=scaffold)

    def data():
        x, y = np.ones((2, 3), "f"), np.ones((2, 1), "f")
        return tf.data.Dataset.from_tensors((x, y)).repeat()

    with directory() as place:
        estimator = tf.estimator.Estimator(model_fn, place)
        estimator.train(data, steps=2)
        estimator.train(data, steps=1)
        reader = tf.train.load_checkpoint(place)
        names = sorted(reader.get_variable_to_shape_map())
        facts = {
            "files": sorted(f for f in os.listdir(place) if "model" in f and "meta" not in f),
            "names": names,
            "values": [reader.get_tensor(n) for n in names if n.endswith("VALUE")],
        }  # fmt: skip
    return Run(facts=facts)


@program
def parts_that_modules_get_later(tf):
    """Assign to a module after a restore: the variable takes the checkpoint's value."""

    def compute(tf):
        saved = tf.Module()
        saved.v, saved.sub = tf.Variable([1.0, 2.0]), tf.Module()
        saved.sub.w, saved.listed = tf.Variable(3.0), [tf.Variable(4.0)]
        saved.named = {"a": tf.Variable(5.0)}
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(m=saved).save(folder + "/c")
            made = tf.Module()
            status = tf.train.Checkpoint(m=made).restore(path)
            made.v = 3
            made.v = tf.Variable([0.0, 0.0])
            found = {"v": made.v.numpy()}
            made.sub = tf.Module()
            made.sub.w = tf.Variable(0.0)
            made.listed, made.named = [tf.Variable(0.0)], {"a": tf.Variable(0.0)}
            found["others"] = [made.sub.w.numpy(), made.listed[0].numpy(), made.named["a"].numpy()]
            found["consumed"] = type(status.assert_consumed()).__name__
            made.v = tf.Variable([7.0, 7.0])
            return {**found, "again": made.v.numpy()}

    return eagerly(tf, compute)


@program
def parts_of_a_variable(tf):
    def made(value):
        whole = tf.get_variable(f"whole_{value}", initializer=[float(value)] * 4, use_resource=True)

        def fill(buffer):
            buffer["first"], buffer["second"] = whole[:2], whole[2:]

        def consume(buffer):
            return whole.assign(tf.concat([buffer["first"], buffer["second"]], 0))

        parts = tf.contrib.checkpoint.split_dependency(
            ("first", "second"), (tf.float32, tf.float32), fill, consume, whole.device or "/cpu:0"
        )
        holder = tf.contrib.checkpoint.Checkpointable()
        holder.first, holder.second = parts["first"], parts["second"]
        return whole, tf.train.Checkpoint(holder=holder)

    with directory() as folder, tf.Graph().as_default(), tf.Session() as session:
        whole, checkpoint = made(3)
        session.run(whole.initializer)
        session.run(whole.assign([1.0, 2.0, 3.0, 4.0]))
        path = checkpoint.save(os.path.join(folder, "x"), session=session)
        listed = [[name, shape] for name, shape in tf.train.list_variables(path)]
        other, again = made(7)
        session.run(other.initializer)
        again.restore(path).assert_consumed().run_restore_ops(session)
        facts = {"listed": listed, "restored": session.run(other).tolist()}
    return Run(facts=facts)
