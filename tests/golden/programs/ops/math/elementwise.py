"""Unary and binary math, comparison, complex numbers, casting rules."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.array([[-2.5, -1.0, -0.3], [0.2, 1.0, 3.5]], np.float32)
POSITIVE = np.abs(X) + 0.1
UNIT = X / 4.0


@program
def unary_on_any_number(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    names = ["abs", "negative", "sign", "square", "exp", "expm1", "sin", "cos", "tan", "atan",
             "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "floor", "ceil", "round", "sigmoid",
             "is_nan", "is_inf", "is_finite"]
    return Run({name: getattr(tf, name)(x) for name in names}, {x: X})


@program
def unary_on_positive_numbers(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    names = ["sqrt", "rsqrt", "log", "log1p", "lgamma", "digamma", "reciprocal", "inv", "erfc"]
    fetches = {n: getattr(tf, n)(x) for n in names if hasattr(tf, n)}
    fetches["acosh"] = tf.acosh(x + 1.0)
    fetches["rint"] = tf.rint(x)
    fetches["bessel_i0e"] = tf.math.bessel_i0e(x)
    fetches["bessel_i1e"] = tf.math.bessel_i1e(x)
    return Run(fetches, {x: POSITIVE})


@program
def unary_on_the_unit_interval(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    names = ["asin", "acos", "atanh", "log_sigmoid"]
    fetches = {n: getattr(tf, n, None) or getattr(tf.math, n) for n in names}
    return Run({n: f(x) for n, f in fetches.items()}, {x: UNIT})


@program
def unary_in_double_and_half(tf):
    d = tf.placeholder(tf.float64, [2, 3])
    h = tf.cast(d, tf.float16)
    names = ["abs", "exp", "tanh", "sigmoid", "square", "negative", "cos", "erf", "floor", "round"]
    fetches = {"double_" + n: getattr(tf, n)(d) for n in names}
    fetches.update({"half_" + n: getattr(tf, n)(h) for n in names})
    fetches["half_sqrt"] = tf.sqrt(tf.abs(h))
    return Run(fetches, {d: X})


@program
def unary_on_integers(tf):
    x = tf.constant([-3, 0, 7])
    fetches = {n: getattr(tf, n)(x) for n in ["abs", "negative", "sign", "square"]}
    fetches["int64_abs"] = tf.abs(tf.constant([-3, 4], tf.int64))
    fetches["round"] = tf.round(x)
    fetches["invert"] = tf.bitwise.invert(x)
    return Run(fetches, facts={"sqrt": raised(tf.sqrt, x), "exp": raised(tf.exp, x)})


@program
def rounding_half_to_even(tf):
    x = tf.constant([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.0])
    return Run({n: getattr(tf, n)(x) for n in ["round", "rint", "floor", "ceil", "sign"]})


@program
def binary_with_broadcasting(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [3], name="y")
    z = tf.placeholder(tf.float32, [None, 1], name="z")
    fetches = {
        "add": x + y,
        "subtract": tf.subtract(x, z),
        "multiply": x * z * 2.0,
        "divide": tf.divide(x, y),
        "truediv": tf.truediv(x, z),
        "realdiv": tf.realdiv(x, y),
        "div": tf.div(x, y),
        "div_no_nan": tf.div_no_nan(x, tf.constant([0.0, 1.0, 2.0])),
        "maximum": tf.maximum(x, y),
        "minimum": tf.minimum(z, y),
        "squared_difference": tf.squared_difference(x, y),
        "pow": tf.pow(tf.abs(x), y),
        "atan2": tf.atan2(x, y),
        "floordiv": tf.floordiv(x, y),
        "floormod": tf.floormod(x, y),
        "mod": tf.mod(x, 1.5),
        "truncatemod": tf.truncatemod(x, y),
        "add_n": tf.add_n([x, x, x]),
        "accumulate_n": tf.accumulate_n([x, x * 2.0]),
        "scalar_mul": tf.scalar_mul(0.5, x),
        "xlogy": tf.math.xlogy(z, y),
        "xdivy": tf.math.xdivy(z, y),
        "zeta": tf.zeta(tf.abs(x) + 1.1, tf.abs(y)),
        "polygamma": tf.polygamma(tf.constant(1.0), tf.abs(x) + 1.0),
        "igamma": tf.igamma(tf.abs(x), y),
        "igammac": tf.igammac(tf.abs(x), y),
    }
    return Run(fetches, {x: X, y: [0.5, 1.0, 2.0], z: [[1.5], [-0.5]]})


@program
def integer_division_and_modulo(tf):
    x = tf.constant([-7, -7, 7, 7])
    y = tf.placeholder(tf.int32, [None])
    fetches = {
        "floordiv": x // y,
        "div": tf.div(x, y),
        "truediv": x / y,
        "divide": tf.divide(x, y),
        "floor_div": tf.floor_div(x, y),
        "truncatediv": tf.truncatediv(x, y),
        "mod": x % y,
        "floormod": tf.floormod(x, y),
        "truncatemod": tf.truncatemod(x, y),
        "int8_truediv": tf.truediv(tf.constant([1], tf.int8), tf.constant([2], tf.int8)),
        "int64_truediv": tf.truediv(tf.constant([1], tf.int64), tf.constant([3], tf.int64)),
        "pow": tf.pow(x, tf.abs(y)),
    }
    return [
        Run(fetches, {y: [2, -2, 2, -2]}),
        Run({"by_zero": x // y}, {y: [0, 1, 1, 1]}, fails=True),
        Run({"modulo_zero": x % y}, {y: [1, 1, 0, 1]}, fails=True),
    ]


@program
def python_operators(tf):
    x = tf.placeholder(tf.float32, [2])
    n = tf.constant([5, 6])
    b = tf.constant([True, False])
    fetches = {
        "sum": 1 + x + 2,
        "difference": 1 - x - 2,
        "product": 3 * x * 2,
        "quotient": 1 / x / 2,
        "floor": 7 // n // 2,
        "modulo": 7 % n % 2,
        "power": 2 ** x ** 2,
        "negative": -x,
        "absolute": abs(-x),
        "less": x < 1,
        "less_equal": x >= 1,
        "greater": x > 1.5,
        "greater_equal": x >= [1.0, 3.0],
        "and": b & True,
        "or": b | [False, True],
        "xor": b ^ True,
        "not": ~b,
        "matmul": tf.reshape(x, [1, 2]) @ tf.reshape(x, [2, 1]),
        "numpy": x + np.array([1.0, 2.0]),
        "numpy_left": np.float32(2.0) * x,
    }
    facts = {"equality_is_identity": bool(x == x), "hash": hash(x) == hash(x)}
    return Run(fetches, {x: [1.0, 2.0]}, facts=facts)


@program
def comparisons_and_logic(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.constant([1.0, 3.0])
    a, b = tf.constant([True, True, False]), tf.constant([True, False, False])
    fetches = {
        "equal": tf.equal(x, y),
        "not_equal": tf.not_equal(x, y),
        "less": tf.less(x, y),
        "less_equal": tf.less_equal(x, 2.0),
        "greater": tf.greater(x, y),
        "greater_equal": tf.greater_equal(x, y),
        "strings": tf.equal(["a", "b"], "a"),
        "bools": tf.equal(a, b),
        "ints": tf.not_equal([1, 2], [1, 3]),
        "and": tf.logical_and(a, b),
        "or": tf.logical_or(a, b),
        "xor": tf.logical_xor(a, b),
        "not": tf.logical_not(a),
        "close": tf.math.reduce_all(tf.abs(x - x) < 1e-6),
        "nan": tf.equal([np.nan], [np.nan]),
    }
    return Run(fetches, {x: [[1.0, 2.0], [3.0, 3.0]]})


@program
def binary_errors(tf):
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    z = tf.add(x, y, name="z")
    facts = {
        "shapes": raised(tf.add, tf.zeros([2, 3]), tf.zeros([2, 2])),
        "dtypes": raised(tf.add, tf.constant(1), tf.constant(1.0)),
        "python_float_and_int": raised(lambda: tf.constant(1) + 1.5),
        "string": raised(tf.multiply, tf.constant("a"), tf.constant("b")),
        "bools": raised(tf.logical_and, tf.constant(1), tf.constant(2)),
        "none": raised(tf.add, tf.constant(1.0), None),
    }
    return Run(facts=facts, call=lambda s: {"run": raised(s.run, z, {x: [1, 2], y: [1, 2, 3]})})


@program
def complex_numbers(tf):
    z = tf.placeholder(tf.complex64, [None])
    w = tf.complex([1.0, 2.0], [0.5, -1.0])
    fetches = {
        "made": w,
        "double": tf.complex(tf.constant([1.0], tf.float64), tf.constant([2.0], tf.float64)),
        "real": tf.real(z),
        "imag": tf.imag(z),
        "abs": tf.abs(z),
        "angle": tf.angle(z),
        "conj": tf.conj(z),
        "sum": z + w,
        "product": z * w,
        "quotient": z / w,
        "exp": tf.exp(z),
        "sqrt": tf.sqrt(z),
        "square": tf.square(z),
        "real_of_real": tf.real(tf.constant([1.0])),
        "conj_of_real": tf.conj(tf.constant([1.0])),
        "reduce_sum": tf.reduce_sum(z),
        "matmul": tf.matmul([[1 + 1j]], [[2 - 1j]]),
        "polar": tf.sin(z),
    }
    return Run(fetches, {z: [1 + 2j, -3.5 + 0.5j]})


@program
def special_values(tf):
    x = tf.constant([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    names = ["abs", "sign", "sqrt", "log", "exp", "reciprocal", "tanh", "sigmoid", "is_nan",
             "is_inf", "is_finite", "floor"]
    fetches = {n: getattr(tf, n)(x) for n in names}
    fetches["maximum"] = tf.maximum(x, 0.0)
    fetches["relu"] = tf.nn.relu(x)
    fetches["softmax"] = tf.nn.softmax(tf.constant([1000.0, 0.0, -1000.0]))
    fetches["divide"] = x / 0.0
    return Run(fetches)


@program
def assertions_that_hold(tf):
    x = tf.placeholder(tf.float32, [None])
    checks = [
        tf.assert_equal(tf.size(x), 2),
        tf.assert_positive(x),
        tf.assert_non_negative(x),
        tf.assert_less(x, 10.0),
        tf.assert_less_equal(x, [2.0, 2.0]),
        tf.assert_greater(x, 0.5, message="too small"),
        tf.assert_greater_equal(x, 1.0),
        tf.assert_none_equal(x, 0.0),
        tf.assert_rank(x, 1),
        tf.assert_rank_at_least(x, 1),
        tf.assert_integer(tf.constant([1])),
        tf.Assert(tf.reduce_all(x > 0), [x]),
    ]
    with tf.control_dependencies(checks):
        y = tf.identity(x)
    facts = {
        "static_rank": raised(tf.assert_rank, x, 2),
        "type": raised(tf.assert_type, x, tf.int32),
        "integer": raised(tf.assert_integer, x),
        "static_value": raised(tf.assert_equal, tf.constant(1), tf.constant(2)),
    }
    return Run({"y": y}, {x: [1.0, 2.0]}, facts=facts)


@program
def assertions_that_fail(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    checks = {
        "equal": tf.assert_equal(x, 1.0, message="not one"),
        "positive": tf.assert_positive(x),
        "less": tf.assert_less(x, 1.0, data=[x], summarize=2),
        "assert": tf.Assert(tf.reduce_all(x < 0), [x, "and text", tf.shape(x)]),
        "numerics": tf.check_numerics(1.0 / x, "divided"),
        "finite": tf.verify_tensor_all_finite(tf.log(x), "bad logarithm"),
    }
    return Run(call=lambda s: {n: raised(s.run, c, {x: [2.0, 0.0]}) for n, c in checks.items()})


@program
def incomplete_beta_at_its_edges(tf):
    values = [0.0, 1.0, 0.5, float("nan")]
    points = [(a, b, x) for a in values for b in values for x in (0.0, 0.25, 1.0, -0.5)]
    a, b, x = (tf.constant(list(column)) for column in zip(*points))
    return Run({"z": tf.betainc(a, b, x)})


@program
def integers_divided_by_zero(tf):
    runs = []
    for kind in ("int32", "uint8", "int64", "int8", "int16", "uint16"):
        x, y = tf.placeholder(kind, [4]), tf.placeholder(kind, [4])
        feeds = {x: [6, 5, 0, 7], y: [4, 0, 0, 0]}
        names = ("Div", "FloorDiv", "TruncateDiv") + (() if "16" in kind else ("RealDiv",))
        for name in names:
            gives = name == "RealDiv" or (kind == "int8" and name != "FloorDiv")
            quotient = getattr(tf.raw_ops, name)(x=x, y=y)
            runs.append(Run({"q": quotient}, feeds, fails=not gives))
        if kind in ("int32", "int64"):
            for name in ("Mod", "FloorMod", "TruncateMod"):
                runs.append(Run({"r": getattr(tf.raw_ops, name)(x=x, y=y)}, feeds, fails=True))
    return runs


@program
def shapes_of_what_may_not_be_comparable(tf):
    facts = {}
    for first, second in (([2, 3], [3]), ([2, 3], [4]), ([2, 3], [2, 2]), (None, [2]), ([], [2]),
                          ([None, 3], [2, 1]), ([None, 3], [1, 1]), ([None], [None]),
                          ([1, 3], [None, 3]), ([None, 2], [3])):  # fmt: skip
        x, y = tf.placeholder(tf.float32, first), tf.placeholder(tf.float32, second)
        for name in ("Equal", "NotEqual"):
            made = getattr(tf.raw_ops, name)(x=x, y=y, incompatible_shape_error=False)
            facts[f"{name} {first} {second}"] = str(made.shape)
    x = tf.placeholder(tf.float32, [None, 3])
    facts["itself"] = str(tf.raw_ops.Equal(x=x, y=x, incompatible_shape_error=False).shape)
    return Run(facts=facts)


@program
def indices_out_of_what_they_index(tf):
    pairs = ((7, [3]), (-1, [3]), (7, [2, 3]), (-7, [2, 3]), ([7, 2], [2, 3]))
    return Run({f"{index} {sizes}": tf.unravel_index(tf.constant(index), sizes)
                for index, sizes in pairs})


@program
def quantized_between_ends_the_wrong_way_round(tf):
    x = tf.constant([-3.0, -1.0, 0.0, 0.3, 1.0, 5.0])
    fetches = {}
    for low, high in ((0.3, -2.5), (1.0, -1.0), (5.0, 1.0), (-1.0, -5.0), (-1.0, 1.0)):
        ends = {"min": low, "max": high, "num_bits": 4}
        columns = {"min": [low], "max": [high], "num_bits": 4}
        fetches[f"{low} {high}"] = [
            tf.raw_ops.FakeQuantWithMinMaxVars(inputs=x, **ends),
            tf.raw_ops.FakeQuantWithMinMaxVarsPerChannel(inputs=x[:, None], **columns),
            tf.raw_ops.FakeQuantWithMinMaxVarsGradient(gradients=x, inputs=x, **ends),
        ]
    return Run(fetches)


@program
def polynomials(tf):
    x = tf.placeholder(tf.float32, [3])
    value = tf.math.polyval([tf.constant(2.0), x, 1.0], x)
    return Run({"value": value, "gradient": tf.gradients(value, x)[0],
                "none": tf.math.polyval([], x), "one": tf.math.polyval([4.0], x)},
               {x: [0.5, -1.0, 2.0]})
