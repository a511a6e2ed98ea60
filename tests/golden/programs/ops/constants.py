"""Constants, dtypes and placeholders."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def scalar_constants(tf):
    values = [tf.constant(3), tf.constant(2.5), tf.constant(True), tf.constant("text")]
    return Run({"value": values}, facts={"dtypes": [v.dtype.name for v in values]})


@program
def constant_of_every_dtype(tf):
    names = ["float16", "float32", "float64"]
    names += [sign + "int" + bits for sign in ("", "u") for bits in ("8", "16", "32", "64")]
    constants = {n: tf.constant([[1, 2], [3, 100]], dtype=getattr(tf, n), name=n) for n in names}
    constants["bool"] = tf.constant([True, False, True])
    constants["complex64"] = tf.constant([1 + 2j, -3.5j], tf.complex64)
    constants["complex128"] = tf.constant([1 + 2j, -3.5j], tf.complex128)
    constants["bfloat16"] = tf.cast(tf.constant([1.5, -2.25], tf.bfloat16), tf.float32)
    return Run(constants)


@program
def constant_filled_by_shape(tf):
    return Run({
        "scalar_to_matrix": tf.constant(-1.0, shape=[2, 3]),
        "last_value_repeats": tf.constant([1, 2, 3], shape=[2, 3]),
        "string": tf.constant("ab", shape=[2]),
        "empty": tf.constant([], shape=[0, 3]),
        "empty_int": tf.constant([], dtype=tf.int32),
    })


@program
def constants_from_numpy(tf):
    rng = np.random.RandomState(0)
    return Run({
        "float64": tf.constant(rng.randn(3, 2)),
        "float32": tf.constant(rng.randn(4).astype(np.float32)),
        "int64": tf.constant(np.arange(6).reshape(2, 3)),
        "uint8": tf.constant(np.array([[0, 255]], np.uint8)),
        "bool": tf.constant(np.array([[True], [False]])),
        "strings": tf.constant(np.array([b"a", b"bcd"])),
        "unicode": tf.constant(["gr\u00fcn", "\u65e5"]),
        "all_equal": tf.constant(np.full([2, 2], 7.0, np.float32)),
        "scalar": tf.constant(np.float32(0.1)),
        "cast_down": tf.constant(rng.randn(2), dtype=tf.float32),
    })


@program
def zeros_ones_fill(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    fetches = {
        "zeros": tf.zeros([2, 3]),
        "zeros_int": tf.zeros([2], tf.int32),
        "zeros_string": tf.zeros([2], tf.string),
        "zeros_bool": tf.zeros((), tf.bool),
        "zeros_dynamic": tf.zeros([tf.shape(x)[0], 2]),
        "zeros_large": tf.zeros([40, 30]),
        "ones": tf.ones([2, 1], tf.float64),
        "ones_dynamic": tf.ones(tf.shape(x)),
        "ones_large": tf.ones([1200], tf.uint8),
        "fill": tf.fill([2, 2], 9.5),
        "fill_dynamic": tf.fill(tf.stack([tf.shape(x)[0], 1]), "s"),
    }
    return Run(fetches, {x: np.ones([2, 3])})


@program
def zeros_like_and_ones_like(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.constant([[1, 2], [3, 4]])
    unknown = tf.placeholder(tf.float32)
    fetches = {
        "zeros_like": tf.zeros_like(x),
        "zeros_like_static": tf.zeros_like(y),
        "zeros_like_cast": tf.zeros_like(y, dtype=tf.float64),
        "zeros_like_dynamic": tf.zeros_like(y, optimize=False),
        "ones_like": tf.ones_like(x, name="one"),
        "ones_like_static": tf.ones_like(y),
        "ones_like_bool": tf.ones_like(y, dtype=tf.bool),
        "unknown": tf.ones_like(unknown) + tf.zeros_like(unknown),
    }
    return Run(fetches, {x: np.zeros([1, 3]), unknown: [[[5.0]]]})


@program
def ranges_and_linspace(tf):
    n = tf.placeholder(tf.int32, [])
    fetches = {
        "limit": tf.range(5),
        "start_limit": tf.range(3, 18, 3),
        "downward": tf.range(3, 1, -0.5),
        "floats": tf.range(0.0, 1.0, 0.3),
        "int64": tf.range(tf.constant(2, tf.int64), 6),
        "dtype": tf.range(3, dtype=tf.float32),
        "dynamic": tf.range(n),
        "dynamic_floats": tf.range(tf.to_float(n), name="floats"),
        "linspace": tf.linspace(10.0, 12.0, 5),
        "lin_space": tf.lin_space(tf.constant(-1.0, tf.float64), 1.0, n),
    }
    return Run(fetches, {n: 4})


@program
def eye_and_identity_matrices(tf):
    n = tf.placeholder(tf.int32, [])
    fetches = {
        "eye": tf.eye(3),
        "rows_columns": tf.eye(2, num_columns=4, dtype=tf.int32),
        "batch": tf.eye(2, batch_shape=[3]),
        "dynamic": tf.eye(n),
    }
    return Run(fetches, {n: 2})


@program
def placeholders_of_all_kinds(tf):
    known = tf.placeholder(tf.float32, shape=[2, 2], name="known")
    partial = tf.placeholder(tf.int32, shape=(None, 2), name="partial")
    unknown = tf.placeholder(tf.float64, name="unknown")
    text = tf.placeholder(tf.string, [None])
    flag = tf.placeholder(tf.bool, shape=[])
    default = tf.placeholder_with_default([1.0, 2.0], shape=[None], name="default")
    scalar = tf.placeholder_with_default(0.5, [], name="keep_prob")
    fetches = {
        "known": tf.identity(known),
        "partial": partial * 2,
        "unknown": unknown + 1,
        "text": tf.identity(text),
        "flag": tf.logical_not(flag),
        "default": default * scalar,
    }
    feeds = {known: [[1, 2], [3, 4]], partial: [[1, 2]], unknown: 2.5, text: ["a", "\u00e9"],
             flag: True}
    overridden = dict(feeds)
    overridden.update({default: [5.0], scalar: 2.0})
    shapes = [str(t.shape) for t in (known, partial, unknown, text, flag, default, scalar)]
    return [Run(fetches, feeds, facts={"shapes": shapes}), Run(fetches, overridden)]


@program
def feeding_intermediate_tensors(tf):
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.multiply(a, 3.0, name="b")
    c = b + 1.0
    return [Run({"c": c}), Run({"c": c}, {b: [10.0, 20.0]}), Run({"c": c}, {"b:0": [0.0, 1.0]})]


@program
def shape_constants_of_placeholders(tf):
    x = tf.placeholder(tf.float32, [None, 4, 3])
    y = tf.placeholder(tf.float32, [2, 5])
    fetches = {
        "shape": tf.shape(x),
        "shape64": tf.shape(x, out_type=tf.int64),
        "static_shape": tf.shape(y),
        "size": tf.size(x),
        "static_size": tf.size(y),
        "rank": tf.rank(x),
        "shape_n": tf.shape_n([x, y]),
        "row": tf.shape(x)[1],
        "last": tf.shape(y)[-1],
    }
    return Run(fetches, {x: np.zeros([2, 4, 3]), y: np.zeros([2, 5])})


@program
def convert_to_tensor_forms(tf):
    part = tf.constant(2.0)
    variable = tf.Variable([1.0, 2.0], name="v")
    fetches = {
        "list": tf.convert_to_tensor([[1, 2], [3, 4]]),
        "packed": tf.convert_to_tensor([1.0, part, 3.0]),
        "nested": tf.convert_to_tensor([[part, 1.0], [2.0, part]]),
        "preferred": tf.convert_to_tensor(1, preferred_dtype=tf.float32),
        "shape": tf.convert_to_tensor(tf.TensorShape([2, 3])),
        "dimension": tf.convert_to_tensor(tf.TensorShape([2, 3])[1]),
        "numpy": tf.convert_to_tensor(np.float64(3.5)),
        "variable": tf.convert_to_tensor(variable),
        "operators": 1.0 + part * 2 - part / 3.0,
    }
    return Run(fetches, setup=[variable.initializer])


@program
def register_a_conversion_function(tf):
    class Money:
        def __init__(self, cents):
            self.cents = cents

    def to_tensor(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.cents / 100.0, dtype=dtype or tf.float32, name=name)

    tf.register_tensor_conversion_function(Money, to_tensor)
    return Run({"sum": tf.add(Money(250), tf.constant(1.0)), "half": 0.5 * tf.identity(Money(50))})


@program
def tensor_protos(tf):
    proto = tf.make_tensor_proto([[1.5, 2.0]], dtype=tf.float64)
    back = tf.make_ndarray(proto)
    ints = tf.make_tensor_proto([1, 2, 3], shape=[3])
    strings = tf.make_tensor_proto(["a", "b"])
    return Run(facts={
        "back": back,
        "ints": tf.make_ndarray(ints),
        "strings": tf.make_ndarray(strings),
        "dtypes": [proto.dtype, ints.dtype, strings.dtype],
    })


@program
def dtype_properties(tf):
    facts = {}
    for name in ["float16", "float32", "float64", "int8", "int32", "uint16", "bool", "string",
                 "complex64", "qint8", "quint8", "qint32", "bfloat16", "resource"]:
        dtype = getattr(tf, name)
        facts[name] = [str(dtype), repr(dtype), bool(dtype.is_floating), bool(dtype.is_integer),
                       dtype.is_complex, bool(dtype.is_unsigned), dtype.is_quantized,
                       dtype.as_datatype_enum, dtype.size, dtype.real_dtype.name]
    facts["limits"] = [tf.int32.max, tf.int8.min, tf.uint8.max, tf.int64.min, float(tf.float16.max)]
    facts["as_dtype"] = [tf.as_dtype(x).name for x in (np.float32, "int64", 1, np.dtype("bool"))]
    facts["equal"] = [tf.float32 == np.float32, tf.float32 == "float32", tf.int32 != tf.int64]
    facts["unknown"] = raised(tf.as_dtype, "floaty")
    return Run(facts=facts)


@program
def tensor_shape_algebra(tf):
    full, part = tf.TensorShape([2, 3]), tf.TensorShape([None, 3])
    unknown = tf.TensorShape(None)
    return Run(facts={
        "str": [str(full), str(part), str(unknown), repr(part)],
        "merge": str(part.merge_with(full)),
        "concatenate": [str(full.concatenate(part)), str(full.concatenate(unknown))],
        "compatible": [part.is_compatible_with(full), full.is_compatible_with([3, 3]),
                       unknown.is_compatible_with(full)],
        "defined": [full.is_fully_defined(), part.is_fully_defined()],
        "elements": [full.num_elements(), part.num_elements()],
        "ranks": [full.ndims, unknown.ndims, len(full)],
        "slices": [str(full[1:]), str(part[0]), str(full[-1])],
        "equal": [full == [2, 3], part == [None, 3], full == tf.TensorShape([2, 3])],
        "dimension": [str(tf.Dimension(3) * 2), str(tf.Dimension(7) // 2),
                      str(tf.Dimension(None) + 1), tf.Dimension(4).value, tf.Dimension(3) > 2],
        "not_compatible": raised(full.merge_with, [3, 3]),
        "rank_mismatch": raised(full.assert_has_rank, 3),
        "not_defined": raised(part.assert_is_fully_defined),
        "negative": raised(tf.TensorShape, [-2]),
        "unknown_len": raised(len, unknown),
        "unknown_list": raised(unknown.as_list),
    })


@program
def set_shape_of_tensors(tf):
    x = tf.placeholder(tf.float32)
    before = str(x.shape)
    x.set_shape([None, 3])
    y = tf.reduce_sum(x, 1)
    x.set_shape([2, None])
    z = x + 1.0
    conflict = raised(x.set_shape, [3, 3])
    facts = {"shapes": [before, str(x.shape), str(y.shape), str(z.get_shape())], "bad": conflict}
    return Run({"y": y, "z": z}, {x: np.ones([2, 3])}, facts=facts)


@program
def constants_that_are_refused(tf):
    return Run(facts={
        "wrong_dtype": raised(tf.constant, 1.5, dtype=tf.int32),
        "string_as_float": raised(tf.constant, "a", dtype=tf.float32),
        "none": raised(tf.constant, None),
        "too_many": raised(tf.constant, [1, 2, 3], shape=[2]),
        "mixed": raised(tf.constant, [1, "a"]),
        "tensor_dtype": raised(tf.convert_to_tensor, tf.constant(1), dtype=tf.float32),
        "truth": raised(bool, tf.constant(True)),
        "iterate": raised(list, tf.placeholder(tf.float32)),
    })


@program
def feeds_that_are_refused(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    other = tf.Graph()
    with other.as_default():
        foreign = tf.constant(1.0, name="foreign")
    y = tf.identity(x, name="y")

    def use(session):
        return {
            "shape": raised(session.run, y, {x: np.zeros([2, 3])}),
            "rank": raised(session.run, y, {x: 1.0}),
            "not_fed": raised(session.run, y),
            "text": raised(session.run, y, {x: [["a", "b"]]}),
            "tensor": raised(session.run, y, {x: tf.zeros([1, 2])}),
            "unknown_name": raised(session.run, y, {"nope:0": 1.0}),
            "foreign_feed": raised(session.run, y, {foreign: 1.0}),
            "foreign_fetch": raised(session.run, foreign),
            "fetch_none": raised(session.run, None),
            "fetch_number": raised(session.run, 3),
            "fetch_name": raised(session.run, "nothing:0"),
        }

    return Run(call=use)


@program
def shapes_of_constant_expressions(tf):
    unknown = tf.placeholder(tf.float32)
    chosen = tf.boolean_mask(tf.constant([1.0, 2.0, 3.0]), [True, False, True])
    length = tf.shape(chosen)
    wanted = {
        "shape": length,
        "plus": length + 0,
        "size": tf.reshape(tf.size(chosen), [1]),
        "joined": tf.concat([length, [3]], 0),
        "stacked": tf.stack([length[0], 3]),
        "of_both": tf.shape_n([chosen, chosen])[1],
    }
    shapes = {name: tf.reshape(unknown, shape).shape.ndims is None or
              tf.reshape(unknown, shape).shape.as_list() for name, shape in sorted(wanted.items())}
    tf.gradients(chosen * chosen, chosen)
    return Run({"filled": tf.fill(length, 1.0), "range": tf.range(length[0])},
               facts={"reshaped": shapes})
