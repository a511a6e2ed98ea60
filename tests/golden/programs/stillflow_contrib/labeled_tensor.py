"""Tensors whose axes have names."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

VALUES = np.sin(np.arange(24, dtype=np.float32)).reshape([2, 3, 4]) + 1.5
UNARY = [
    "abs", "neg", "sign", "reciprocal", "square", "round", "sqrt", "rsqrt", "exp", "log",
    "ceil", "floor", "cos", "sin", "tan", "acos", "asin", "atan", "lgamma", "digamma", "erf",
    "erfc", "tanh", "sigmoid",
]
BINARY = [
    "add", "sub", "mul", "div", "mod", "pow", "equal", "greater", "greater_equal", "not_equal",
    "less", "less_equal", "maximum", "minimum", "squared_difference", "igamma", "igammac",
]
REDUCTIONS = [
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
]


def _tensor(tf, values=VALUES):
    return tf.contrib.labeled_tensor.LabeledTensor(
        tf.constant(values), ["x", ("channel", ["red", "green", "blue"]), "z"])


def _run(found, **facts):
    """Values and axes of labeled tensors by name."""
    facts["axes"] = {name: repr(value.axes) for name, value in found.items()}
    return Run({name: value.tensor for name, value in found.items()}, facts=facts)


@program
def functions_of_elements(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf, VALUES / 4)
    whole = lt.cast(x, tf.int32)
    found = {name: getattr(lt, name)(x) for name in UNARY}
    found["logical_not"] = lt.logical_not(lt.greater(x, 0.5, name="compared"))
    found["zeros"], found["ones"] = lt.zeros_like(x), lt.ones_like(whole, tf.float64)
    found["finite"] = lt.verify_tensor_all_finite(x, "not finite")
    found["relu"], found["softmax"] = lt.nn.relu(x), lt.nn.softmax(x, name="named")
    return _run(found, text=repr(x), names=[lt.abs.__name__, lt.add.__name__])


@program
def functions_of_two(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    row = lt.constant([1.5, 2.0, 2.5], axes=[("channel", ["red", "green", "blue"])])
    found = {name: getattr(lt, name)(x, row) for name in BINARY}
    for name in ("logical_and", "logical_or", "logical_xor"):
        found[name] = getattr(lt, name)(lt.less(x, 1.5), lt.less(row, 2.0))
    found["zeta"] = lt.zeta(x + 1.0, row)
    found["polygamma"] = lt.polygamma(lt.constant(1.0), x)
    return _run(found)


@program
def operators(tf):
    x = _tensor(tf)
    true, false = x > 1.0, x >= 2.0
    return _run({
        "abs": abs(-x), "plus": +x + 1.0, "minus": 1.0 - x - 2.0, "times": 2.0 * x * x,
        "over": 1.0 / x / 2.0, "rest": 5.0 % x % 0.5, "power": 2.0 ** x ** 2.0, "not": ~true,
        "and": true & false, "or": true | false, "xor": true ^ false, "less": x < 1.0,
        "at_most": x <= x, "first": x[0, 1:, :], "part": x[:, 1, -1],
    }, equal=[x == x, x == _tensor(tf), x != x, x == 1])


@program
def orders_of_axes(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    z = lt.LabeledTensor(tf.constant([1.0, 2.0, 3.0, 4.0]), ["z"])
    first, second, axes = lt.align(x, z, name="aligned")
    with lt.axis_order_scope(["z", "x", "channel"]):
        imposed = lt.impose_axis_order(x)
        lt.check_axis_order(imposed)
        inside = [raised(lt.check_axis_order, x)["class"], raised(lt.add, x, z)["class"]]
        total = imposed + z
    return _run({
        "first": first, "second": second, "imposed": imposed, "total": total,
        "transposed": lt.transpose(x), "moved": lt.transpose(x, ["z", "x", "channel"]),
        "expanded": lt.expand_dims(z, ["new", "z", ("labeled", "one")]),
        "identity": lt.identity(x, name="same"), "renamed": lt.rename_axis(x, "x", "y"),
    }, joined=repr(axes), inside=inside, outside=raised(lt.check_axis_order, z),
        no_order=raised(lt.align, lt.transpose(x), x),
        names=raised(lt.transpose, x, ["x", "z"]))


@program
def parts(tf):
    lt = tf.contrib.labeled_tensor
    tf.set_random_seed(1)
    x = _tensor(tf)
    mask = lt.constant([True, False], axes=["x"])
    return _run({
        "label": lt.select(x, {"channel": "green"}),
        "labels": lt.select(x, {"channel": ["blue", "red"]}),
        "slice": lt.select(x, {"channel": slice("green", None)}),
        "places": lt.slice(x, {"x": 1, "z": slice(1, 3)}),
        "masked": lt.boolean_mask(x, mask),
        "where": lt.where(lt.less(x, 1.5), x, lt.neg(x)),
        "crop": lt.random_crop(x, {"z": 2}, seed=3),
    }, axis=raised(lt.select, x, {"none": 1})["class"], labels=raised(lt.select, x, {"x": 1}),
        step=raised(lt.select, x, {"channel": slice(None, None, 2)}),
        mixed=raised(lt.select, lt.pack([x, x], ("new", ["a", "b"])),
                     {"channel": ["red"], "new": "a"}),
        mask=raised(lt.boolean_mask, x, lt.constant([True] * 3, axes=["x"]))["class"],
        crop=raised(lt.random_crop, x, {"none": 2})["class"])


@program
def shapes(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    coder = lt.ReshapeCoder(["channel", "z"], ["depth"])
    coded = coder.encode(x)
    first, second = lt.unpack(x)
    return _run({
        "concat": lt.concat([x, x], "x"), "labels": lt.concat(
            [lt.select(x, {"channel": ["red"]}), lt.select(x, {"channel": ["blue"]})], "channel"),
        "pack": lt.pack([first, second], "new", axis_position=1), "second": second,
        "unpack": lt.unpack(x, "channel")[2], "reshape": lt.reshape(x, ["x"], [("a", 2), "b"]),
        "coded": coded, "decoded": coder.decode(coded * 2.0),
        "tile": lt.tile(x, {"x": 2}), "pad": lt.pad(x, {"z": (1, 2), "channel": (["a"], [])}),
        "squeeze": lt.squeeze(lt.slice(x, {"x": slice(0, 1)})),
        "kept": lt.squeeze(x), "constant": lt.constant(7, tf.int64, [("a", 2), ("b", ["c"])]),
    }, one=raised(lt.concat, [], "x"), axis=raised(lt.concat, [x], "none"),
        sizes=raised(lt.reshape, x, ["x"], ["a", "b"]),
        split=raised(lt.reshape, x, ["x", "z"], ["a"])["class"],
        labelled=raised(lt.tile, x, {"channel": 2}),
        large=raised(lt.squeeze, x, ["x"])["class"],
        decoded=raised(lt.ReshapeCoder(["x"], ["y"]).decode, x))


@program
def reductions(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    found = {name: getattr(lt, name)(x, ["z", ("channel", "all")]) for name in REDUCTIONS}
    found["whole"] = lt.reduce_sum(x)
    found["kept"] = lt.reduce_mean(x, ("x", None))
    found["all"], found["any"] = lt.reduce_all(x > 1.0, "x"), lt.reduce_any(x > 2.4, "z")
    return _run(found, axis=raised(lt.reduce_sum, x, "none")["class"])


@program
def products_and_loops(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    matrix = lt.LabeledTensor(tf.constant(VALUES[0]), ["row", "column"])
    column = lt.LabeledTensor(tf.constant(VALUES[1, 0]), ["column"])
    other = lt.LabeledTensor(tf.constant(VALUES[1]), ["row", "other"])
    with lt.axis_order_scope(["other", "column", "row"]):
        ordered = lt.matmul(matrix, other)
    return _run({
        "vector": lt.matmul(matrix, column), "turned": lt.matmul(column, matrix),
        "matrix": lt.matmul(matrix, other), "number": lt.matmul(column, column),
        "ordered": ordered,
        "mapped": lt.map_fn(lambda part: lt.reduce_sum(part, "z"), x),
        "folded": lt.foldl(lambda total, part: total + part, x, lt.unpack(x)[0]),
    }, rank=raised(lt.matmul, x, x), none=raised(lt.matmul, lt.constant(1.0), matrix),
        apart=raised(lt.matmul, column, lt.rename_axis(column, "column", "c"))["class"])


@program
def batches(tf):
    lt = tf.contrib.labeled_tensor
    x = _tensor(tf)
    rows = lt.rename_axis(x, "x", "batch")
    found = [*lt.batch([x, lt.neg(x)], 3), *lt.batch([rows], 3, enqueue_many=True,
                                                       allow_smaller_final_batch=True),
             *lt.shuffle_batch([x], 3, min_after_dequeue=2, seed=4)]
    return Run(facts={"axes": [repr(each.axes) for each in found],
                      "many": raised(lt.batch, [x], 3, enqueue_many=True)["class"]})


@program
def examples(tf):
    lt = tf.contrib.labeled_tensor
    features = {"a": lt.FixedLenFeature([("color", ["red", "blue"])], tf.float32, [1.0, 2.0]),
                "b": lt.FixedLenFeature([], tf.int64, 3)}
    example = tf.train.Example(features=tf.train.Features(feature={
        "a": tf.train.Feature(float_list=tf.train.FloatList(value=[5.0, 6.0]))}))
    texts = [example.SerializeToString(), b""]
    many = lt.parse_example(lt.constant(texts, axes=["batch"]), features)
    one = lt.parse_single_example(lt.constant(texts[0]), features)
    fed = lt.placeholder(tf.float32, ["batch", ("color", ["red", "blue"])])
    return _run({"many": many["a"], "numbers": many["b"], "one": one["a"], "number": one["b"]},
                placeholder=repr(fed.axes), feature=[str(features["a"].dtype),
                                                    features["a"].default_value],
                unknown=raised(lt.parse_example, lt.constant(texts, axes=["batch"]),
                               {"a": lt.FixedLenFeature([("c", None)], tf.float32)}))


@program
def axes(tf):
    lt = tf.contrib.labeled_tensor
    axis, colors = lt.Axis("x", 3), lt.Axis("color", ["red", "blue"])
    axes = lt.Axes([axis, colors, ("none", None)])
    return Run(facts={
        "axis": [repr(axis), len(axis), axis.labels, str(axis.dimension), str(axis.value)],
        "colors": [repr(colors), colors.index("blue"), list(colors.value), colors.size],
        "equal": [axis == lt.Axis("x", 3), axis != colors, hash(axis) == hash(lt.Axis("x", 3))],
        "axes": [repr(axes), list(axes), len(axes), repr(axes.remove("x")), "x" in axes],
        "as_axis": repr(lt.as_axis(("y", 2))),
        "twice": raised(lt.Axis, "x", [1, 1]), "unknown": raised(len, axes["none"]),
        "no_labels": raised(axis.index, 1), "duplicate": raised(lt.Axes, [axis, axis]),
        "rank": raised(lt.LabeledTensor, tf.constant([1.0]), ["x", "y"])["class"],
        "size": raised(lt.LabeledTensor, tf.constant([1.0]), [("x", 2)])["class"],
        "type": raised(lt.Axis, "x", "text")["class"],
        "unlabeled": raised(lt.convert_to_labeled_tensor, np.ones(2))["class"],
    })
