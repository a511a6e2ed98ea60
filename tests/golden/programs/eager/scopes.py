"""Eager execution: Python functions, variable scopes, critical sections, pruned functions."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import eagerly, internal_module, program, raised


def _shown(value):
    """Return a value without what differs from one process to the next."""
    if isinstance(value, (list, tuple)):
        return [_shown(item) for item in value]
    return value.numpy() if hasattr(value, "numpy") else value


def _refuse(*values):
    raise ValueError("no")


@program
def python_functions(tf):
    def compute(tf):
        x = tf.constant([1.0, 2.0])
        facts = {
            "array": _shown(tf.py_func(lambda a: a * 2, [x], tf.float64)),
            "arrays": _shown(tf.py_func(lambda a: (a, 3), [x], [tf.float32, tf.int64])),
            "nothing": tf.py_func(lambda a: None, [x], tf.float32),
            "refused": raised(tf.py_func, _refuse, [x], tf.float32),
            "list": raised(tf.py_func, lambda a: a, [[1.0]], tf.float32),
            "tensor": _shown(tf.py_function(lambda a: a * 2, [[1.0, 2.0]], tf.float32)),
            "tensors": _shown(tf.py_function(lambda a: (a, 3), [x], [tf.float32, tf.int64])),
            "no results": tf.py_function(lambda a: None, [x], []),
            "one in a list": _shown(tf.py_function(lambda a: a, [x], [tf.float32])),
            "function refused": raised(tf.py_function, _refuse, [x], tf.float32),
            "not callable": raised(tf.py_function, 3, [x], tf.float32),
        }
        with tf.GradientTape(persistent=True) as second:
            second.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.py_function(lambda a: a * a * a, [x], tf.float32) * 2.0
            first = tape.gradient(y, x)
        facts["gradient"], facts["second"] = _shown(first), second.gradient(first, x)
        facts["once"] = raised(second.gradient, y, x)["class"]
        return facts

    return eagerly(tf, compute)


def _scope_of(tf, work, **settings):
    with tf.variable_scope("scope", **settings) as scope:
        return work(scope)


@program
def variable_scopes(tf):
    def compute(tf):
        ones = tf.ones_initializer()

        def made(scope):
            return tf.get_variable("x", [2], initializer=ones)

        def shared(scope):
            scope.reuse_variables()
            first = tf.get_variable("y", [], initializer=ones)
            return [first.name, scope.reuse, tf.get_variable("y", [], initializer=ones) is first]

        def of_scope(scope):
            return [scope.reuse is tf.AUTO_REUSE, scope.use_resource]

        outer = tf.get_variable_scope()
        store = tf.contrib.eager.EagerVariableStore()
        facts = {
            "reused": _shown(_scope_of(tf, made, reuse=True)),
            "shared": _scope_of(tf, shared),
            "settings": _scope_of(tf, of_scope, reuse=False),
            "outer": outer.reuse is tf.AUTO_REUSE,
            "resource": raised(outer.set_use_resource, False),
            "caching": raised(outer.set_caching_device, "/cpu:0"),
        }
        with store.as_default():
            kept = _scope_of(tf, made)
            facts["kept"] = kept is _scope_of(tf, made, reuse=False)
            facts["names"] = [v.name for v in store.variables()]
            facts["collected"] = [v.name for v in tf.global_variables()]
            facts["trainable"] = [v.name for v in tf.trainable_variables()]
        return facts

    return eagerly(tf, compute)


@program
def together(tf):
    def compute(tf):
        x, v = tf.constant([1, 2]), tf.contrib.eager.Variable(1.0)
        section = tf.CriticalSection(name="section")
        again = tf.CriticalSection(shared_name="shared")
        data = tf.data.Dataset.range(3).map(lambda i: section.execute(lambda: i * 2))
        attention = tf.contrib.seq2seq.AttentionWrapperState(
            tf.zeros([2, 3]), tf.zeros([2, 1]), 0, tf.zeros([2, 4]), (), tf.zeros([2, 4])
        )
        return {
            "tuple": _shown(tf.tuple([x, None, 3])),
            "same": tf.tuple([x], control_inputs=[x])[0] is x,
            "section": _shown(section.execute(lambda: [v.assign_add(1.0), x])),
            "again": _shown(section.execute(lambda: again.execute(lambda: v * 2.0))),
            "in a function": [_shown(item) for item in data],
            "map of nothing": _shown(tf.map_fn(lambda a: a, tf.zeros([0], tf.int64))),
            "no parts": tf.unstack(tf.zeros([0, 2])),
            "clone": _shown(attention.clone(cell_state=tf.ones([2, 3])).cell_state),
            "bad clone": raised(attention.clone, cell_state=tf.ones([2, 4])),
        }

    return eagerly(tf, compute)


@program
def aligned_losses(tf):
    def compute(tf):
        logits = tf.constant(np.sin(np.arange(24.0)).reshape(4, 2, 3), tf.float32)
        labels, lengths = tf.constant([[1, 2], [2, 0]]), tf.constant([2, 1])
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = tf.compat.v2.nn.ctc_loss(
                labels=labels, logits=logits, label_length=lengths, logit_length=[4, 3]
            )
        return {"loss": _shown(loss), "gradient": _shown(tape.gradient(loss, logits))}

    return eagerly(tf, compute)


@program
def pruned_functions(tf):
    """Return a function that only results keep alive leaves out what they do not need."""

    def compute(tf):
        calls = []

        def note(name):
            def call(value):
                calls.append(name)
                return value

            return lambda value: tf.py_func(call, [value], tf.int32)

        def two(value):
            other = note("left out")(value)
            other.set_shape([])
            return note("needed")(value), other

        wrapped = tf.compat.v1.wrap_function(lambda: two(tf.constant(3))[0], [])
        traced = tf.contrib.eager.defun(lambda: two(tf.constant(3))[0])
        return {
            "wrapped": _shown(wrapped()), "then": list(calls),
            "traced": _shown(traced()), "all": list(calls),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def savers(tf):
    def compute(tf):
        v = tf.contrib.eager.Variable([1.0, 2.0], name="v")
        saveable_object = internal_module(tf, "train.saver", "python.training.saver")
        base = saveable_object.BaseSaverBuilder.SaveableObject

        class Doubled(base):
            """Layer that keeps half of a variable's value."""

            def __init__(self):
                spec = saveable_object.BaseSaverBuilder.SaveSpec(v / 2.0, "", "half")
                super().__init__(v, [spec], "half")

            def restore(self, tensors, shapes):
                return v.assign(tensors[0] * 2.0)

        prefix = os.path.join(tempfile.mkdtemp(), "doubled")
        saver = tf.train.Saver([Doubled()])
        saver.save(None, prefix)
        v.assign([0.0, 0.0])
        saver.restore(None, prefix)
        return {
            "restored": v.numpy(), "kept": tf.train.list_variables(prefix),
            "info": raised(tf.saved_model.build_tensor_info, v),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def queues(tf):
    def compute(tf):
        fifo = tf.FIFOQueue(10, [tf.int32], shapes=[()])
        fifo.enqueue_many([[1, 2, 3]])
        pairs = tf.PriorityQueue(10, [tf.string], [()])
        pairs.enqueue_many([[3, 1], ["a", "b"]])
        named = tf.PaddingFIFOQueue(10, [tf.int32, tf.float32], [[None], []], names=["a", "b"])
        named.enqueue({"a": [1], "b": 2.0})
        named.enqueue({"a": [1, 2], "b": 3.0})
        shuffled = tf.RandomShuffleQueue(10, 0, [tf.int32], seed=3)
        shuffled.enqueue(7)
        first = tf.FIFOQueue(2, [tf.int32], shared_name="same")
        first.enqueue(1)
        second = tf.FIFOQueue(2, [tf.int32], shared_name="same")
        facts = {
            "first": _shown(fifo.dequeue()), "many": _shown(fifo.dequeue_many(2)),
            "size": _shown(fifo.size()), "name": fifo.name, "open": _shown(fifo.is_closed()),
            "priority": _shown(pairs.dequeue()), "shuffled": _shown(shuffled.dequeue()),
            "padded": {key: _shown(value) for key, value in named.dequeue_many(2).items()},
            "sizes": [_shown(queue.size()) for queue in (first, second)],
            "runner": raised(tf.train.QueueRunner, fifo, []),
        }  # fmt: skip
        fifo.close()
        facts["closed"] = _shown(fifo.is_closed())
        facts["empty"] = raised(fifo.dequeue)["class"]
        return facts

    return eagerly(tf, compute)


@program
def ragged_rows(tf):
    def compute(tf):
        x = tf.ragged.constant([[1, 2], [3], [4, 5, 6], [7]])
        variant = x._to_variant(batched_input=True)

        def back(tensor):
            return type(x)._from_variant(tensor, tf.int32, 1, input_ragged_rank=0).to_list()

        square = tf.reshape(variant, [2, 2])
        return {
            "rows": [_shown(row) for row in x], "too far": raised(lambda: x[4]),
            "before": raised(lambda: x[-5]), "rest": x[4:].to_list(),
            "square": square.shape.as_list(), "back": back(tf.reshape(square, [4])),
            "part": back(tf.split(variant, 2)[1]), "picked": back(tf.gather(variant, [3, 0])),
            "values": tf.ragged.constant_value([]).tolist(),
            "flat": tf.ragged.constant_value([1, 2]).tolist(),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def templates(tf):
    internal = internal_module(tf, "variables.template", "python.ops.template")

    def compute(tf):
        def scaled(x):
            return x * tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))

        template = tf.make_template("template", scaled)
        traced = internal.make_template_internal("traced", scaled, create_graph_function_=True)
        scale = tf.train.experimental.DynamicLossScale(4.0, increment_period=1, multiplier=3.0)
        scale.update([tf.constant(1.0)])
        return {
            "plain": [_shown(template(tf.constant(2.0))), _shown(template(tf.constant(4.0)))],
            "traced": [_shown(traced(tf.constant(2.0))), _shown(traced(tf.constant(4.0)))],
            "names": [v.name for v in template.variables + traced.variables],
            "unique": raised(tf.make_template, "t", scaled, unique_name_="unique"),
            "loss scale": repr(scale),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def records(tf):
    def compute(tf):
        twice = [tf.constant([[0]], dtype=tf.int64)]
        return {"defaults": raised(tf.data.experimental.CsvDataset, "none.csv", twice)}

    return eagerly(tf, compute)


@program
def refused(tf):
    def compute(tf):
        with tf.Graph().as_default():
            elsewhere = tf.constant(2)
        return {
            "rank": raised(tf.broadcast_to, [[1, 2]], [2]),
            "one way": raised(tf.broadcast_to, [1, 2], [2, 1]),
            "size": raised(tf.broadcast_to, [1, 2], [3]),
            "none": raised(tf.convert_to_tensor, None), "none of a type": raised(tf.add, 1, None),
            "of a graph": raised(tf.add, tf.constant(1), elsewhere),
            "all of a graph": raised(tf.stack, [elsewhere, elsewhere]),
            "operator": raised(lambda: elsewhere + 1),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def variables_that_are_loaded_and_parts_that_are_not_kept(tf):
    theirs = "python.ops.variable_scope"
    scopes = internal_module(tf, "stillflow_contrib.eager.variable_store", theirs)

    def compute(tf):
        v = tf.Variable([1.0, 2.0])
        v.load([3.0, 4.0])
        first = _shown(v)
        v.load(tf.constant([3.0, 4.0]) * 2)
        facts = {"first": first, "second": _shown(v), "refused": raised(v.load, [1.0])}

        def parts():
            halves = tf.fixed_size_partitioner(2)
            return tf.get_variable("p", [4, 2], partitioner=halves)

        facts["other"] = parts() is parts()
        facts["names"] = [part.name for part in parts()]
        with scopes.EagerVariableStore().as_default():
            facts["kept"] = parts() is parts()
        return facts

    return eagerly(tf, compute)
