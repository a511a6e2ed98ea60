"""tf.while_loop: forms, structures, nesting with tf.cond, control dependencies, errors."""

from __future__ import annotations

import collections

import numpy as np
from tests.golden.registry import Run, program, raised

SCALAR, VECTOR = [], [1.0, -2.0, 0.5]


def contexts(tf):
    """Return the contexts of the graph as MetaGraphs hold them."""
    keys = [tf.GraphKeys.WHILE_CONTEXT, tf.GraphKeys.COND_CONTEXT]
    return [str(context.to_proto()) for key in keys for context in tf.get_collection(key)]


@program
def one_variable(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    up = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
    tupled = tf.while_loop(lambda i: i < n, lambda i: (i + 2,), (tf.constant(0),), name="by_two")
    same = tf.while_loop(lambda i: i < n, lambda i: [i * 2], [tf.constant(1)],
                         return_same_structure=True, parallel_iterations=1)
    return Run({"up": up, "tupled": tupled, "same": same}, [{n: 5}, {n: 0}, {n: -3}], steps=3,
               facts={"same": type(same).__name__, "contexts": contexts(tf)})


@program
def several_variables(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    i, a, b = tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b),
                            [tf.constant(0), np.float32(0), 1.0])
    swapped = tf.while_loop(lambda i, s, t: i < n, lambda i, s, t: [i + 1, t, s], [0, "x", "y"])
    return Run({"i": i, "fibonacci": [a, b], "swapped": swapped}, [{n: 10}, {n: 1}, {n: 0}],
               steps=3)


@program
def captured_from_outside(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    w = tf.Variable([1.0, 2.0, 3.0], name="w")
    r = tf.get_variable("r", initializer=[0.5, 0.5, 0.5], use_resource=True)
    scale = tf.constant(0.5)

    def body(i, y):
        return i + 1, y * scale + w * r + x + 1.0

    i, y = tf.while_loop(lambda i, y: tf.logical_and(i < 4, tf.reduce_sum(y) < 100.0), body, [0, x])
    return Run({"i": i, "y": y}, [{x: VECTOR}, {x: [50.0, 50.0, 50.0]}], setup=[
        tf.global_variables_initializer()], steps=2, facts={"contexts": contexts(tf)})


@program
def maximum_iterations(tf):
    n, most = tf.placeholder(tf.int32, []), tf.placeholder(tf.int64, [], name="most")
    constant = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0], maximum_iterations=3)
    fed = tf.while_loop(lambda i, y: i < n, lambda i, y: [i + 1, y * 2], [0, 1],
                        maximum_iterations=most)
    same = tf.while_loop(lambda i: i < n, lambda i: [i + 1], [0], maximum_iterations=2,
                         return_same_structure=True)
    facts = {"vector": raised(tf.while_loop, lambda i: i < n, lambda i: i, [0],
                              maximum_iterations=[1, 2]),
             "tuple_for_list": raised(tf.while_loop, lambda i, y: i < n, lambda i, y: (i, y),
                                      [0, 1], maximum_iterations=2),
             "contexts": contexts(tf)}
    return Run({"constant": constant, "fed": fed, "same": same},
               [{n: 10, most: 4}, {n: 2, most: 0}], steps=2, facts=facts)


@program
def shape_invariants(tf):
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    _, grown = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y + 1.0], 0)),
                             [0, x], shape_invariants=shapes)
    _, any_rank = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.expand_dims(y, 0)),
                                [0, x], shape_invariants=[shapes[0], tf.TensorShape(None)])
    _, limited = tf.while_loop(
        lambda i, y: i < 5, lambda i, y: [i + 1, tf.concat([y, y], 0)], [tf.constant(0), x],
        shape_invariants=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None, 2], tf.float32)],
        maximum_iterations=2)
    return Run({"grown": grown, "any_rank": any_rank, "limited": limited}, {x: [[1.0, 2.0]]})


@program
def shapes_that_are_refused(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    s = tf.sparse_placeholder(tf.float32, name="s")
    zero = tf.TensorShape([])

    def loop(invariants=None, body=lambda i, y: (i + 1, tf.concat([y, y], 0)), start=x):
        return raised(tf.while_loop, lambda i, y: i < 3, body, [0, start],
                      shape_invariants=invariants)

    facts = {
        "changes": loop(),
        "other_size": loop([zero, tf.TensorShape([4])]),
        "other_rank": loop([zero, tf.TensorShape([None, None])]),
        "unknown_after": loop(body=lambda i, y: (i + 1, tf.boolean_mask(y, y > 0))),
        "other_type": loop([zero, tf.TensorSpec([3], tf.int32)]),
        "sparse_spec": loop([zero, tf.SparseTensorSpec([None, None], tf.float32)]),
        "too_few": loop([zero]),
        "sparse": loop([zero, tf.TensorShape([None, 4])], lambda i, y: (i + 1, y), s),
    }
    return Run(facts=facts)


@program
def arguments_that_are_refused(tf):
    def less(i):
        return i < 3

    def loop(*args, **kwargs):
        return raised(tf.while_loop, *args, **kwargs)

    facts = {
        "cond": loop(3, less, [0]),
        "body": loop(less, 3, [0]),
        "no_variables": loop(less, less, []),
        "no_iterations": loop(less, less, [0], parallel_iterations=0),
        "half_iterations": loop(less, less, [0], parallel_iterations=1.5),
        "condition_of_ints": loop(lambda i: i, less, [0]),
        "nothing": loop(less, lambda i: None, [0]),
    }
    return Run(facts=facts)


@program
def condition_of_several_values(tf):
    return Run(facts={"vector": raised(tf.while_loop, lambda i: tf.constant([True]),
                                       lambda i: i, [0])})


@program
def structures_that_are_refused(tf):
    x = tf.placeholder(tf.float32, [3], name="x")

    def loop(body, start):
        return raised(tf.while_loop, lambda *a: tf.constant(True), body, start)

    facts = {
        "deeper": loop(lambda i, y: (i + 1, [y]), [0, x]),
        "fewer": loop(lambda i, y: i + 1, [0, x]),
        "more": loop(lambda i, y: (i + 1, y, y), [0, x]),
        "keys": loop(lambda d: [{"b": d["a"]}], [{"a": x}]),
    }
    return Run(facts=facts)


@program
def values_from_inside_a_loop(tf):
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [0])
    facts = {"outside": raised(tf.add, inside[0], 1),
             "other_loop": raised(tf.while_loop, lambda i: i < 3, lambda i: i + inside[0], [0]),
             "fetchable": tf.get_default_graph().is_fetchable(inside[0]),
             "feedable": tf.get_default_graph().is_feedable(inside[0])}
    return Run(facts=facts)


@program
def nested_structures(tf):
    pair = collections.namedtuple("pair", "first second")
    x = tf.placeholder(tf.float32, [2], name="x")

    def body(p, d, rest):
        return [pair(p.first + 1.0, p.second * 2.0), {"k": d["k"] + p.first},
                [rest[0] - 1.0, (rest[1][0] * 0.5,)]]

    start = [pair(x, x), {"k": x}, [x, (x,)]]
    p, d, rest = tf.while_loop(lambda p, d, rest: tf.reduce_sum(p.first) < 9.0, body, start)
    limited = tf.while_loop(lambda p, d, rest: tf.reduce_sum(p.first) < 9.0, body, start,
                            maximum_iterations=2, shape_invariants=[
                                pair(tf.TensorShape([2]), tf.TensorShape([None])),
                                {"k": tf.TensorShape(None)},
                                [tf.TensorShape([2]), (tf.TensorShape([2]),)]])
    return Run({"p": p, "k": d["k"], "rest": rest, "limited": limited}, {x: [1.0, -1.0]},
               facts={"type": type(p).__name__, "limited": type(limited).__name__})


@program
def sparse_variables(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    s = tf.SparseTensor([[0, 0], [1, 1]], x, [2, 2])

    def scaled(i, s):
        return i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)

    _, doubled = tf.while_loop(lambda i, s: i < 3, scaled, [0, s])
    fed = tf.sparse_placeholder(tf.float32, [None, None], name="fed")
    _, grown = tf.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, tf.sparse_concat(0, [s, s])), [0, fed],
        shape_invariants=[tf.TensorShape([]), tf.SparseTensorSpec([None, None], tf.float32)])
    feeds = {x: [1.0, 2.0], fed: tf.SparseTensorValue([[0, 1]], [5.0], [1, 2])}
    return Run({"doubled": doubled, "grown": grown}, feeds)


@program
def slices_as_variables(tf):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    plain = tf.IndexedSlices(x, tf.constant([0, 1]))
    with_shape = tf.IndexedSlices(x, tf.constant([0, 1]), tf.constant([5, 3]))

    def doubled(i, s):
        return i + 1, tf.IndexedSlices(s.values * 2.0, s.indices)

    def grown(i, s):
        values = tf.concat([s.values, s.values], 0)
        return i + 1, tf.IndexedSlices(values, tf.concat([s.indices, s.indices], 0), s.dense_shape)

    _, a = tf.while_loop(lambda i, s: i < 3, doubled, [0, plain])
    _, b = tf.while_loop(lambda i, s: i < 2, grown, [0, with_shape], shape_invariants=[
        tf.TensorShape([]), tf.TensorShape([None, 3])])
    return Run({"a": [a.values, a.indices], "b": [b.values, b.indices, b.dense_shape]},
               {x: np.ones([2, 3])})


@program
def loop_in_a_loop(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 2.0], name="w")

    def body(i, y):
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 2.0 + w), [0, y],
                             name="inner")
        return i + 1, z - y

    i, y = tf.while_loop(lambda i, y: i < 4, body, [tf.constant(0), x], name="outer")
    return Run({"i": i, "y": y}, {x: [1.0, 1.0]}, setup=[w.initializer],
               facts={"contexts": contexts(tf)})


@program
def condition_with_a_loop(tf):
    n = tf.placeholder(tf.int32, [], name="n")

    def condition(i):
        return tf.while_loop(lambda j: j < 10, lambda j: j + i, [tf.constant(1)]) < n

    return Run({"i": tf.while_loop(condition, lambda i: i + 1, [tf.constant(2)])},
               [{n: 12}, {n: 10}], steps=2)


@program
def cond_in_a_loop(tf):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 3.0], name="w")

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * w, lambda: y + x)

    _, y = tf.while_loop(lambda i, y: i < n, body, [0, x])
    return Run({"y": y}, [{n: 3, x: [1.0, 2.0]}, {n: 0, x: [1.0, 2.0]}], setup=[w.initializer],
               steps=2, facts={"contexts": contexts(tf)})


@program
def loop_in_a_cond(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    def loop():
        return tf.while_loop(lambda y: y < 100.0, lambda y: y * 2.0 + x, [x])

    y = tf.cond(x > 0.0, loop, lambda: -x)
    return Run({"y": y}, [{x: 1.0}, {x: -1.0}], steps=2, facts={"contexts": contexts(tf)})


@program
def loops_and_conds_in_turns(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    def level(depth, y):
        if depth == 0:
            return tf.sin(y) + x
        return tf.while_loop(
            lambda i, z: i < 2,
            lambda i, z: (i + 1, tf.cond(i < 1, lambda: level(depth - 1, z), lambda: z * x)),
            [0, y])[1]

    return Run({"y": level(3, x)}, {x: [0.5, -1.0]}, facts={"contexts": contexts(tf)})


@program
def control_dependencies_across_contexts(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    count = tf.Variable(0.0, name="count", use_resource=True)
    bump = tf.identity(count.assign_add(1.0), name="bump")
    with tf.control_dependencies([bump]):

        def body(i, y):
            with tf.control_dependencies([tf.identity(y, name="first")]):
                constant = tf.constant(1.0)
                return i + 1, tf.cond(i > 1, lambda: y + constant, lambda: y + tf.constant(10.0))

        _, y = tf.while_loop(lambda i, y: i < 4, body, [tf.constant(0), x])
    with tf.control_dependencies([y]):
        after = count.read_value()
    return Run({"y": y, "count": after}, {x: 1.0}, setup=[count.initializer], steps=2)


@program
def state_in_a_loop(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    total = tf.Variable(0.0, name="total", use_resource=True)
    table = tf.Variable(tf.zeros([5]), name="table", use_resource=True)

    def body(i):
        with tf.control_dependencies([total.assign_add(tf.cast(i, tf.float32)),
                                      tf.scatter_update(table, [i], [1.0])]):
            return i + 1

    end = tf.while_loop(lambda i: i < n, body, [tf.constant(0)], parallel_iterations=1)
    with tf.control_dependencies([end]):
        values = [total.read_value(), table.read_value()]
    return Run({"end": end, "values": values}, [{n: 3}, {n: 5}],
               setup=[tf.global_variables_initializer()], steps=2)


@program
def reference_variables_in_a_loop(tf):
    v = tf.Variable(1.0, name="v")

    def body(i, a):
        with tf.control_dependencies([a]):
            return i + 1, tf.identity(tf.assign_add(v, 2.0))

    _, last = tf.while_loop(lambda i, a: i < 3, body, [0, v], parallel_iterations=1)
    return Run({"last": last}, setup=[v.initializer], steps=2)


@program
def random_numbers_in_a_loop(tf):
    tf.set_random_seed(7)
    _, total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.random_uniform([2])),
                             [0, tf.zeros([2])], parallel_iterations=1)
    return Run({"total": total}, steps=2)


@program
def devices_and_colocation(tf):
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")

        def body(i, y):
            with tf.device("/device:CPU:0"), tf.colocate_with(x):
                return i + 1, tf.add(y, x)

        _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    return Run({"y": y}, {x: [1.0, 2.0]})


@program
def strings_and_bools(tf):
    s = tf.placeholder(tf.string, [], name="s")
    flag, text = tf.while_loop(
        lambda go, text: go,
        lambda go, text: (tf.not_equal(text, "aabb"), tf.string_join([text, "b"])),
        [True, s])
    return Run({"flag": flag, "text": text}, [{s: "aa"}, {s: "aab"}], steps=2)


@program
def exported_and_imported(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.while_loop(lambda y: y < 10.0,
                      lambda y: tf.cond(y > 5.0, lambda: y + x, lambda: y * 2.0), [x])
    graph_def = tf.get_default_graph().as_graph_def()
    again, = tf.import_graph_def(graph_def, {"x:0": tf.constant(3.0)}, [y.name], name="again")

    def body(i, z):
        z, = tf.import_graph_def(graph_def, {"x:0": z}, [y.name], name="in")
        return i + 1, tf.reshape(z, [])

    inside = tf.while_loop(lambda i, z: i < 2, body, [0, x])
    # Not together: loops that run in one step must not have the same frame name.
    return [Run({name: fetch}, [{x: 1.0}, {x: 4.0}], steps=2)
            for name, fetch in (("y", y), ("again", again), ("inside", inside))]
