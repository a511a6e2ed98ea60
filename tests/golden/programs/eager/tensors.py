"""Eager execution: tensors with values, variables, random numbers, control flow, errors."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import eagerly, program, raised


def _text(tensor):
    """Return the text of a tensor, without its number."""
    shown = repr(tensor)
    return f"{shown.partition('id=')[0]}{shown.partition(', ')[2]}"


@program
def shown_tensors(tf):
    def compute(tf):
        tensors = {
            "vector": tf.constant([1.0, 2.5]),
            "matrix": tf.constant([[1, 2], [3, 4]]),
            "string": tf.constant("a"),
            "strings": tf.constant(["a", "bc"]),
            "flag": tf.constant(True),
            "complex": tf.constant(1 + 2j),
            "scalar": tf.constant(1.234),
            "long": tf.constant(np.arange(2000)),
        }
        facts = {f"repr {name}": _text(tensor) for name, tensor in tensors.items()}
        facts.update({f"str {name}": str(tensor) for name, tensor in tensors.items()})
        variable = tf.Variable([1.0, 2.0])
        facts["variable"] = repr(variable)
        facts["assigned"] = repr(variable.assign_add([1.0, 1.0]))
        sparse = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
        facts["sparse"] = str(sparse)
        return facts

    return eagerly(tf, compute)


@program
def python_protocol(tf):
    def compute(tf):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        three = tf.constant(3)
        return {
            "len": len(x), "rows": [row.numpy() for row in x], "int": int(tf.constant(3.7)),
            "float": float(three), "bool": bool(three), "index": [0, 1, 2, 3][three],
            "format": f"{tf.constant(1.5):.2f}", "percent": "%.2f" % tf.constant(1.5),
            "array": np.asarray(x), "sum": np.sum(x), "product": x * np.ones((2, 2), "f"),
            "from numpy": np.float32(2) * x, "same": x == x, "other": x == tf.constant(1.0),
            "device": x.device, "dtype": x.dtype.name, "ndim": x.ndim, "cpu": x.cpu().numpy(),
            "range": [int(i) for i in tf.range(3)],
        }  # fmt: skip

    def encoded(tf):
        facts = compute(tf)
        facts["product"] = facts["product"].numpy()
        facts["from numpy"] = facts["from numpy"].numpy()
        return facts

    return eagerly(tf, encoded)


@program
def random_numbers(tf):
    def compute(tf):
        facts = {
            "first": tf.random_uniform([2]), "second": tf.random_normal([2]),
            "own seed": tf.random_uniform([2], seed=1), "again": tf.random_uniform([2], seed=1),
            "other shape": tf.random_uniform([3], seed=1),
        }  # fmt: skip
        tf.set_random_seed(1)
        facts["from the start"] = tf.random_uniform([2])
        facts["its seed again"] = tf.random_uniform([2], seed=1)
        facts["shuffled"] = tf.random_shuffle(tf.range(5))
        facts["dropped"] = tf.nn.dropout(tf.ones([6]), 0.5)
        facts["glorot"] = tf.get_variable("w", [2, 2])
        return {name: value.numpy() for name, value in facts.items()}

    return eagerly(tf, compute)


@program
def control_flow(tf):
    def compute(tf):
        x = tf.constant(5)
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in range(3):
            array = array.write(i, tf.ones([2]) * i)
        values = {
            "cond": tf.cond(x > 3, lambda: tf.constant(1), lambda: tf.constant(2)),
            "while": tf.while_loop(lambda i: i < 10, lambda i: i + 3, [x]),
            "map": tf.map_fn(lambda v: v * 2, tf.constant([1, 2, 3])),
            "scan": tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3])),
            "case": tf.case([(x > 3, lambda: tf.constant(1))], default=lambda: tf.constant(0)),
            "stack": array.stack(), "concat": array.concat(), "read": array.read(1),
            "py_function": tf.py_function(lambda a: a * 2, [x], tf.int32),
        }  # fmt: skip
        variable = tf.Variable([1.0, 2.0, 3.0])
        variable[1].assign(5.0)
        values["slice"] = variable[:2]
        tf.scatter_update(variable, [0], [9.0])
        values["scattered"] = variable
        return {name: value.numpy() for name, value in values.items()}

    return eagerly(tf, compute)


@program
def refused(tf):
    def compute(tf):
        a, one = tf.constant([[1.0, 2.0]]), tf.constant(1)
        return {
            "matmul": raised(tf.matmul, a, a), "named": raised(tf.matmul, a, a, name="foo"),
            "reshape": raised(tf.reshape, a, [3]), "index": raised(lambda: a[5]),
            "types": raised(tf.add, a, tf.constant([1, 2])),
            "gather": raised(tf.gather, [1, 2], 5), "concat": raised(tf.concat, [a, [1.0]], 0),
            "division": raised(lambda: one // tf.constant(0)),
            "singular": raised(tf.linalg.inv, [[0.0, 0.0], [0.0, 0.0]]),
            "op": raised(lambda: a.op), "name": raised(lambda: a.name),
            "graph": raised(lambda: a.graph), "eval": raised(a.eval),
            "consumers": raised(a.consumers), "placeholder": raised(tf.placeholder, tf.float32),
            "gradients": raised(tf.gradients, a, a), "len": raised(lambda: len(one)),
            "iter": raised(lambda: list(one)), "set_shape": raised(a.set_shape, [3]),
            "assert_equal": raised(tf.assert_equal, a, a + 1.0),
            "saver": raised(tf.train.Saver),
            "initial_value": raised(lambda: tf.Variable(1.0).initial_value),
            "read twice": raised(_read_twice, tf),
        }  # fmt: skip

    return eagerly(tf, compute)


def _read_twice(tf):
    array = tf.TensorArray(tf.float32, 1).write(0, 1.0)
    array.read(0)
    array.read(0)


@program
def tensors_for_lists(tf):
    """Return a tensor stands for the list of its rows where an operation takes several."""

    def compute(tf):
        raw, words = tf.raw_ops, tf.constant(["a", "b"])
        rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        return {
            "join": tf.strings.join(words, "-").numpy(),
            "add": raw.AddN(inputs=rows).numpy(),
            "add again": raw.AddN(inputs=rows + 1).numpy(),
            "pack": raw.Pack(values=rows).numpy(),
            "concat": raw.ConcatV2(values=rows, axis=0).numpy(),
            "identity": [row.numpy() for row in tf.identity_n(rows)],
            "shapes": [row.numpy() for row in raw.ShapeN(input=rows)],
            "number": raised(raw.AddN, inputs=1.5),
        }

    return eagerly(tf, compute)


@program
def cross_entropy_of_other_sizes(tf):
    def compute(tf):
        sizes = (([2, 3], [2, 4]), ([2, 3], [3, 3]), ([2, 3], [1, 3]), ([2, 2, 3], [2, 3]))
        found = {
            f"{labels} {logits}": raised(
                tf.nn.softmax_cross_entropy_with_logits_v2,
                labels=np.ones(labels, np.float32), logits=np.ones(logits, np.float32))
            for labels, logits in sizes
        }  # fmt: skip
        found["vectors"] = raised(
            tf.raw_ops.SoftmaxCrossEntropyWithLogits, features=[1.0, 2.0], labels=[0.0, 1.0]
        )
        return found

    return eagerly(tf, compute)


@program
def draws_for_each_rate(tf):
    def compute(tf):
        rates = tf.constant([[1.0, 20.0]])
        drawn = tf.random.poisson(rates, [3], seed=2)
        return {"shape": drawn.shape.as_list(), "whole": bool((drawn.numpy() % 1 == 0).all()),
                "mean": bool(abs(tf.random.poisson(20.0, [500]).numpy().mean() - 20) < 2)}

    return eagerly(tf, compute)


@program
def values_of_conditions(tf):
    def compute(tf):
        value = tf.contrib.framework.smart_constant_value
        return {"scalar": bool(value(tf.constant(True))), "number": value(1),
                "several": value(tf.constant([True, False])).tolist()}

    return eagerly(tf, compute)
