"""Python's statements over tensors, converted by AutoGraph into a graph of TF 1.

TensorFlow puts the variables of a branch or a loop in the order of a set, which is another one in
every process; these programs are recorded with PYTHONHASHSEED=434, for which it is the alphabet's.
"""

from __future__ import annotations

import functools

from tests.golden.registry import Run, program


def _converted(tf, function, *feeds, **kwargs):
    """Run of a function of one int32 scalar."""
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.autograph.to_graph(function, **kwargs)(x)
    return Run({"y": y}, [{x: value} for value in feeds], steps=len(feeds))


@program
def if_else(tf):
    def sign(x):
        if x > 0:
            y = x * 2
        elif x < -5:
            y = x - 1
        else:
            y = -x
        return y

    return _converted(tf, sign, 3, -2, -7)


@program
def if_without_else(tf):
    def positive(x):
        if x < 0:
            x = -x
        return x + 1

    return _converted(tf, positive, 3, -2)


@program
def if_for_its_effects(tf):
    v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer(), use_resource=True)

    def count(x):
        if x > 0:
            v.assign_add(x)
        else:
            v.assign_add(-1)
        return x

    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.autograph.to_graph(count)(x)
    return Run({"y": y, "v": v}, [{x: 3}, {x: -1}], setup=[v.initializer], steps=2)


@program
def early_return(tf):
    def f(x):
        """Return from several places."""
        if x > 10:
            return x
        x = x + 1
        if x > 5:
            return -x
        return x * 2

    return _converted(tf, f, 12, 7, 1)


@program
def collatz(tf):
    def steps(x):
        count = 0
        while tf.not_equal(x, 1):
            if tf.equal(x % 2, 0):
                x = x // 2
            else:
                x = 3 * x + 1
            count += 1
        return count

    return _converted(tf, steps, 7, 1, 27)


@program
def while_break_continue(tf):
    def f(n):
        i = 0
        total = 0
        while i < n:
            i += 1
            if i % 2 > 0:
                continue
            if i > 7:
                break
            total += i
        return total

    return _converted(tf, f, 3, 20)


@program
def for_range(tf):
    def f(n):
        total = 0
        for i in tf.range(n):
            total += i * i
        return total

    return _converted(tf, f, 0, 5)


@program
def for_python_range(tf):
    def f(n):
        total = 0
        for i in range(n):
            if i > 2:
                break
            total += i
        for j in range(1, n):
            total += j
        for k in range(n, 0, -1):
            total += k
        return total

    return _converted(tf, f, 0, 5)


@program
def for_rows(tf):
    def f(rows):
        total = tf.zeros([2])
        for row in rows:
            total += row
        return total

    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.autograph.to_graph(f)(x)
    known = tf.autograph.to_graph(f)(tf.ones([3, 2]))
    return Run({"y": y, "known": known, "grad": tf.gradients(y, x)},
               {x: [[1.0, 2.0], [3.0, 4.0]]})


@program
def for_rows_break(tf):
    def f(rows):
        total = 0.0
        for row in rows:
            if row > 3.0:
                break
            total += row
        return total

    x = tf.placeholder(tf.float32, [None], name="x")
    return Run({"y": tf.autograph.to_graph(f)(x)}, {x: [1.0, 2.0, 4.0, 1.0]})


@program
def nested_loops(tf):
    def f(n):
        total = 0
        for i in tf.range(n):
            for j in tf.range(i):
                if j > 1:
                    total += j
        return total

    return _converted(tf, f, 5)


@program
def python_values(tf):
    def f(x):
        parts = []
        for i in range(4):
            if i == 2:
                continue
            parts.append(x * i)
        n = 0
        while n < 3:
            n += 1
        return tf.add_n(parts) + n

    return _converted(tf, f, 2)


@program
def logical_expressions(tf):
    def f(x):
        a = x > 0 and x < 5
        b = x < -3 or not a
        return tf.stack([a, b, not (a or (b and x > 2))])

    return _converted(tf, f, 3, -4, 9)


@program
def conditional_expressions(tf):
    def f(x):
        y = x if x > 0 else -x
        return y + (1 if x is None else 2)

    return _converted(tf, f, 3, -4)


@program
def builtins(tf):
    def f(x):
        n = len(x) + len([1, 2])
        return abs(x), int(x), float(3) + float(x), n

    x = tf.placeholder(tf.float32, [None], name="x")
    converted = tf.autograph.to_graph(f)
    text = tf.autograph.to_graph(lambda s: (int(s), float(s)))(tf.constant(["12", "7"]))
    known = tf.autograph.to_graph(lambda v: len(v))(tf.ones([4, 2]))
    return Run({"y": converted(x), "text": text}, {x: [-1.5, 2.0]}, facts={"known": known})


@program
def calls(tf):
    def double(x):
        if x > 0:
            return x * 2
        return x

    class Model:
        factor = 3

        def scale(self, x, by=1):
            if x > self.factor:
                return x * by
            return x - by

        def __call__(self, x):
            return self.scale(x) + self.scale(x, by=2)

    def apply(f, *args, **kwargs):
        return f(*args, **kwargs)

    def f(x):
        model = Model()
        partly = functools.partial(model.scale, by=5)
        inner = lambda y: double(y) if y > 1 else y
        return apply(double, x) + model(x) + partly(x) + inner(x) + max(1, 2)

    return _converted(tf, f, 4, 1)


@program
def recursion(tf):
    def power(x, n):
        if n == 0:
            return tf.ones_like(x)
        y = power(x, n - 1)
        if x > 2:
            y = y * x
        return y

    return _converted(tf, lambda x: power(x, 3), 3, 2)


@program
def attributes(tf):
    class State:
        value = None

    def f(x):
        state = State()
        state.value = x
        if x > 0:
            state.value = state.value + 1
        while state.value < 10:
            state.value = state.value * 2 + 1
        return state.value

    return _converted(tf, f, 3, 0, 100)


@program
def items(tf):
    def f(x):
        d = {"a": x}
        if x > 0:
            d["a"] = x + 1
        return d["a"]

    return _converted(tf, f, 3, -1)


@program
def closures(tf):
    offset = 3

    def f(x, by=offset):
        def shift(y):
            if y > by:
                y = y - offset
            return y

        for _ in tf.range(2):
            x = shift(x)
        return x

    return _converted(tf, f, 10, 1)


@program
def features(tf):
    feature = tf.autograph.experimental.Feature

    def f(x):
        assert x < 100, "too large"
        if x == 3 or (x != 4 and 0 < x <= 2):
            x = x * 10
        return x

    asked = (feature.EQUALITY_OPERATORS, feature.ASSERT_STATEMENTS, feature.NAME_SCOPES)
    return _converted(tf, f, 3, 4, 2, experimental_optional_features=asked)


@program
def lists(tf):
    ag = tf.contrib.autograph

    def f(n):
        numbers = []
        ag.set_element_type(numbers, tf.int32)
        for i in tf.range(n):
            numbers.append(i * i)
        last = numbers[n - 1]
        return ag.stack(numbers), last

    x = tf.placeholder(tf.int32, [], name="x")
    y = ag.to_graph(f, experimental_optional_features=ag.Feature.LISTS)(x)
    return Run({"y": y}, {x: 4})


@program
def ordered_effects(tf):
    v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer(), use_resource=True)

    def f(n):
        v.assign_add(n)
        if n > 1:
            v.assign(v * 2)
        v.assign_add(1)
        for i in tf.range(n):
            v.assign_add(i)
        return v.read_value()

    asked = tf.autograph.experimental.Feature.AUTO_CONTROL_DEPS
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.autograph.to_graph(f, experimental_optional_features=asked)(x)
    return Run({"y": y}, [{x: 3}, {x: 1}], setup=[v.initializer], steps=2)


@program
def primes(tf):
    ag = tf.contrib.autograph

    def all_primes(n):
        assert n > 0, "none"
        primes = []
        ag.set_element_type(primes, tf.int32)
        for i in range(2, n):
            is_prime = True
            for k in range(2, i):
                if i % k == 0:
                    is_prime = False
                    break
            if not is_prime:
                continue
            primes.append(i)
        return ag.stack(primes)

    return _converted(tf, all_primes, 50, experimental_optional_features=ag.Feature.ALL)


@program
def lists_of_python(tf):
    ag = tf.contrib.autograph

    def f(n):
        numbers = [n, n + 1]
        last = numbers.pop()
        pair = [1, 2]
        pair[1] = n
        return last + numbers[0] * pair[1] + len(numbers)

    return _converted(tf, f, 3, experimental_optional_features=ag.Feature.LISTS)


@program
def tensor_array_as_a_list(tf):
    ag = tf.contrib.autograph

    def f(rows):
        sums = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for row in rows:
            sums.append(tf.reduce_sum(row))
        return ag.stack(sums)

    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = ag.to_graph(f, experimental_optional_features=ag.Feature.LISTS)(x)
    return Run({"y": y}, {x: [[1.0, 2.0], [3.0, 4.0]]})


def _refused(tf, function, *args):
    try:
        tf.autograph.to_graph(function)(*args)
    except Exception as error:
        return [type(error).__name__, str(error).strip().split("\n")[-1].strip()]
    return None


@program
def refused(tf):
    def one_branch(x):
        if x > 0:
            y = x
        return y

    def one_return(x):
        for i in tf.range(x):
            if i > 2:
                return x
        return -x

    def undefined(x):
        for i in tf.range(x):
            last = i
        return last

    def types(x):
        if x > 0:
            y = 1
        else:
            y = 1.0
        return y

    def loop_type(x):
        y = 1
        while x > 0:
            y = 1.5
            x -= 1
        return y

    def loop_shape(x):
        y = [0]
        for _ in tf.range(x):
            y = tf.concat([y, y], 0)
        return y

    functions = (one_branch, one_return, undefined, types, loop_type)
    x = tf.placeholder(tf.int32, [], name="x")
    facts = {f.__name__: str(_refused(tf, f, x)) for f in functions}
    return Run({"x": x}, {x: 1}, facts=facts)
