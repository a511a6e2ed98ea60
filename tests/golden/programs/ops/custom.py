"""Operations written in C++, compiled by the flags of tf.sysconfig and loaded."""

import numpy as np
from tests.golden.registry import Run, program, raised
from tests.ops.custom.building import library


@program
def keeps_one(tf):
    ops = library(tf, "guide")
    x = tf.placeholder(tf.float32, [None], name="x")
    first = ops.keep_one(x)
    last = ops.keep_one(values=[1, 2, 3], place=2, rest="negative", name="last")
    raw = ops.KeepOne(values=tf.constant([1.0, 2.0], tf.float64), place=1, rest="zero")
    return Run(
        {"first": first, "last": last, "raw": raw},
        [{x: [5, 6, 7]}, {x: [8]}],
        steps=2,
        facts={"op": first.op.type, "doc": ops.keep_one.__doc__, "names": _names(ops)},
    )


def _names(ops):
    return sorted(n for n in dir(ops) if n[0] != "_" and "fallback" not in n and _is_op(n))


def _is_op(name):
    return name.startswith(("keep", "add", "ragged", "only", "gives"))


@program
def documented(tf):
    ops = library(tf, "guide")
    return Run(facts={n: getattr(ops, n).__doc__ for n in ("add_lists", "ragged_columns")})


@program
def refused_while_building(tf):
    ops = library(tf, "guide")
    x = tf.placeholder(tf.float32)
    return Run(
        facts={
            "rank": raised(ops.keep_one, [[1.0]]),
            "type": raised(ops.keep_one, ["a"]),
            "place": raised(ops.keep_one, [1.0], place=-1),
            "rest": raised(ops.keep_one, [1.0], rest="other"),
            "kind": raised(ops.keep_one, [1.0], place="a"),
            "no gradient": raised(tf.gradients, ops.keep_one(x), x),
            "short list": raised(ops.add_lists, [], [1.0]),
            "mixed": raised(ops.add_lists, [1.0], ["a"]),
            "columns": raised(ops.ragged_columns, 2, 2.5),
        }
    )


@program
def refused_by_the_kernel(tf):
    ops = library(tf, "guide")
    x = tf.placeholder(tf.float32)
    cases = [
        (ops.keep_one(x), [[1.0]]),
        (ops.keep_one(x, place=3), [1.0, 2.0]),
        (ops.keep_one(x, place=200), [1.0]),
        (ops.add_lists([x], [x], out_type=tf.float32), [1.0]),
    ]
    return [Run({"y": y}, {x: value}, fails=True) for y, value in cases]


@program
def lists(tf):
    ops = library(tf, "guide")
    made = ops.add_lists([[1.0, 2.0], [3.0], [4.0]], [1, 2.5, [3, 4]], scales=[2.0, 3.0, 4.0])
    plain = ops.add_lists([1.0], [2], names=["x"], shape=[5], loud=False, name="plain")
    return Run({"made": list(made.sums) + list(made.lengths) + [made.told],
                "plain": plain.told})  # fmt: skip


@program
def shapes_that_are_wrong(tf):
    ops = library(tf, "guide")
    columns = tf.placeholder(tf.int32, [])
    table = ops.ragged_columns(2, columns)
    return Run(
        {"table": table, "shape": tf.shape(table), "ones": tf.ones_like(table) + table},
        {columns: 7},
        facts={"static": table.shape.as_list()},
    )


_KNOWN = ([3], [2, 3], [None, 3], [2, None, 4], None, [], [6], [1, 3])
_RULES = ("merge", "prefix", "at_least", "at_most", "subshape", "concatenate", "replace", "divide",
          "arithmetic", "value", "text", "broadcast", "product", "internal")  # fmt: skip


@program
def inferred_shapes(tf):
    ops = library(tf, "inference")
    facts = {}
    for name in _RULES:
        infer = getattr(ops, "infer_" + name)
        # Asking TensorFlow for the first dimension of a scalar ends the process.
        known = [s for s in _KNOWN if s != [] or name not in ("divide", "arithmetic", "value")]
        for i, a in enumerate(known):
            b = known[(i + 1) % len(known)]
            for left, right in ((a, b), (a, a)):
                x, y = tf.placeholder(tf.float32, left), tf.placeholder(tf.float32, right)
                facts["%s %s %s" % (name, left, right)] = _shape_or_error(infer, x, y)
    facts["rank"] = _shape_or_error(ops.infer_with_rank, tf.placeholder(tf.float32, [2]))
    listed = ops.infer_lists([tf.zeros([2]), tf.zeros([3, 4])])
    facts["listed"] = [y.shape.as_list() for y in listed.ys] + [listed.last.shape.as_list()]
    return Run(facts=facts)


def _shape_or_error(infer, *inputs):
    try:
        shape = infer(*inputs).shape
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]
    return None if shape.dims is None else shape.as_list()


@program
def shapes_of_values(tf):
    ops = library(tf, "inference")
    size, shape = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [2])
    facts = {}
    for name, a, b in (
        ("known", 3, [2, 4]),
        ("unknown", size, shape),
        ("computed", tf.constant(2) + 3, tf.stack([size, 5])),
        ("open", -0 + 4, [-1, 2]),
    ):
        made = ops.infer_from_values(a, b)
        facts[name] = [made.sized.shape.as_list(), made.shaped.shape.as_list()]
    facts["negative"] = raised(ops.infer_from_values, -2, [1])
    facts["below"] = raised(ops.infer_from_values, 2, [-5])
    return Run(facts=facts)


@program
def references(tf):
    ops = library(tf, "state")
    v = tf.Variable([1.0, 2.0], use_resource=False)
    added = ops.add_in_place(v, 3.0)
    return [
        Run({"added": tf.identity(added)}, setup=[v.initializer], steps=2),
        Run({"v": v}),
        Run(facts={"no reference": raised(ops.add_in_place, tf.constant([1.0]), 1.0)}),
    ]


@program
def state_of_a_kernel(tf):
    ops = library(tf, "state")
    x = tf.placeholder(tf.float32)
    first, second = ops.running_sum(x), ops.running_sum(x + 1)
    before = ops.before(x)
    return [
        Run({"first": first, "second": second, "before": before},
            [{x: [1, 2]}, {x: [3, 4]}, {x: [5, 6]}], steps=3),
        Run({"first": first}, {x: [1]}, fails=True),
    ]  # fmt: skip


@program
def resources(tf):
    ops = library(tf, "state")
    one, shared = ops.tally_handle(), ops.tally_handle(shared_name="both")
    other = ops.tally_handle(shared_name="both")
    by = tf.constant(5, tf.int64)
    first = ops.tally_add(one, by)
    with tf.control_dependencies([first]):
        second = ops.tally_add(shared, by)
    with tf.control_dependencies([second]):
        third = ops.tally_add(other, by + 1)
    return Run({"first": first, "second": second, "third": third}, steps=2)


@program
def strings(tf):
    ops = library(tf, "text")
    text = tf.placeholder(tf.string)
    words = ops.words(text)
    return [
        Run({"joined": ops.join_pairs([["a", "b"]], [["c", ""]]), "none": ops.join_pairs([], [])}),
        Run({"words": words}, {text: "one 2.5  three -4e2"}),
        Run({"words": words}, {text: ""}),
        Run({"told": ops.told(np.arange(6, dtype=np.float32).reshape(2, 3)), "one": ops.told(1.5)}),
        Run({"joined": ops.join_pairs(["a"], text)}, {text: ["b", "c"]}, fails=True),
    ]


@program
def views(tf):
    ops = library(tf, "views")
    made = ops.views(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    return Run({"numbers": made.numbers, "parts": made.parts})


@program
def numbers_of_all_types(tf):
    ops = library(tf, "views")
    types = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
             "uint8", "uint16", "complex64", "complex128")  # fmt: skip
    x = tf.placeholder(tf.float32, [None])
    fetches = {name: tf.cast(ops.twice(tf.cast(x, name)), tf.complex64) for name in types}
    fetches["empty"] = ops.twice(tf.zeros([0, 3]))
    fetches["scalar"] = ops.twice(1.5)
    return Run(fetches, {x: [1, 3, 30]})


@program
def threads(tf):
    ops = library(tf, "threads")
    x = tf.placeholder(tf.float32)
    return [
        Run({"squares": ops.squares(1000), "none": ops.squares(0), "later": ops.later(2.0)}),
        Run({"later": ops.later(x)}, {x: [1.0]}, fails=True),
        Run({"aborted": ops.goes_wrong(9)}, fails=True),
    ]


@program
def utilities(tf):
    ops = library(tf, "utilities")
    image = tf.placeholder(tf.float32)
    same = ops.window(image, padding="SAME", stride=2)
    first = ops.window(image, padding="VALID", stride=1, data_format="NCHW")
    sums = ops.row_sums([[0, 1], [0, 2], [2, 0], [3, 3]], [1.0, 2.0, 5.0, 4.0], [4, 4])
    return [
        Run({"draws": ops.draws(seed=3, seed2=4)}, steps=2),
        Run({"same": same, "first": first}, {image: np.zeros([2, 7, 9, 5], np.float32)}),
        Run({"sums": sums.sums, "best": sums.best}),
        Run({"y": ops.row_sums([[1, 0], [0, 0]], [1.0, 2.0], [4, 4]).sums}, fails=True),
        Run({"y": ops.row_sums([[1, 9]], [1.0], [4, 4]).sums}, fails=True),
        Run(facts={"padding": raised(ops.window, image, padding="OTHER", stride=1)}),
    ]


@program
def wherever_operations_run(tf):
    ops = library(tf, "guide")
    x = tf.placeholder(tf.float32, [None])
    looped = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, ops.keep_one(y + 1.0)), [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )  # fmt: skip
    branch = tf.cond(x[0] > 0, lambda: ops.keep_one(x), lambda: ops.keep_one(x, rest="negative"))
    mapped = tf.map_fn(ops.keep_one, tf.ones([3, 2]))
    data = tf.data.Dataset.range(4).map(
        lambda i: ops.keep_one(tf.cast(tf.stack([i, i + 1]), tf.int32), place=1),
        num_parallel_calls=2,
    )
    iterator = tf.compat.v1.data.make_initializable_iterator(data.batch(4))
    return [
        Run({"looped": looped, "branch": branch, "mapped": mapped}, [{x: [1, 2]}, {x: [-1, 2]}],
            steps=2),
        Run({"data": iterator.get_next()}, setup=[iterator.initializer]),
    ]  # fmt: skip


@program
def registered_gradient(tf):
    ops = library(tf, "views")
    g = tf.get_default_graph()

    try:
        @tf.RegisterGradient("TwiceForTests")
        def gradient(op, grad):
            return grad * 2 + 0 * op.inputs[0]
    except KeyError:  # in the same process before
        pass
    x = tf.constant([1.0, 2.0])
    with g.gradient_override_map({"Twice": "TwiceForTests"}):
        y = ops.twice(x * x)
    return Run({"grad": tf.gradients(y, x)})


@program
def imported_graph(tf):
    ops = library(tf, "guide")
    with tf.Graph().as_default() as inner:
        x = tf.placeholder(tf.float32, [None], name="x")
        ops.keep_one(x, place=1, name="y")
    y, x = tf.import_graph_def(inner.as_graph_def(), return_elements=["y:0", "x:0"], name="in")
    return Run({"y": y}, {x: [1, 2]})
