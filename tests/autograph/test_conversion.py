"""Converted functions are the program's own, with their lines, closures and defaults."""

from __future__ import annotations

import gc
import traceback
import weakref

import pytest

import stillflow as tf
from stillflow.autograph.conversion import convert_function, is_converted
from stillflow.autograph.options import STANDARD


def _line(function, offset):
    return function.__code__.co_firstlineno + offset


def _lines_of(error, function):
    frames = traceback.extract_tb(error.__traceback__)
    return [f.lineno for f in frames if f.filename == function.__code__.co_filename]


def test_errors_show_the_lines_of_the_program():
    def f(x):
        total = 0
        for i in tf.range(x):
            if i > 1:
                total = tf.add(
                    total,
                    missing,  # noqa: F821
                )
        return total

    with tf.Graph().as_default(), pytest.raises(NameError) as caught:
        tf.autograph.to_graph(f)(tf.constant(3))
    expected = [_line(f, 2), _line(f, 3), _line(f, 6)]
    assert _lines_of(caught.value, f)[-3:] == expected
    named = {f.name for f in traceback.extract_tb(caught.value.__traceback__)}
    assert not any(name.startswith("ag__") for name in named)


def test_operations_are_created_in_the_lines_of_the_program():
    def f(x):
        if x > 0:
            x = x * 2
        return x

    with tf.Graph().as_default() as graph:
        tf.autograph.to_graph(f)(tf.constant(3))
        frames = graph.get_operation_by_name("cond/mul").traceback
    assert (__file__, _line(f, 2)) in [frame[:2] for frame in frames]


def test_a_function_keeps_what_it_is():
    def f(a, b=2, *rest, c=3, **named) -> int:
        """Do little."""
        return a, b, rest, c, named

    made = convert_function(f, STANDARD)
    assert made(1, 5, 6, d=7) == f(1, 5, 6, d=7)
    assert (made.__name__, made.__doc__, made.__module__) == (f.__name__, f.__doc__, f.__module__)
    assert (made.__defaults__, made.__kwdefaults__) == (f.__defaults__, f.__kwdefaults__)


def test_closures_are_shared():
    count = 0

    def add():
        nonlocal count
        if count < 5:
            count += 1

    made = convert_function(add, STANDARD)
    made()
    count += 10
    made()
    assert count == 11


def test_code_is_converted_once():
    def make(n):
        def f(x):
            return x if x > n else n

        return f

    one, two = (convert_function(make(n), STANDARD) for n in (1, 2))
    assert one.__code__ is two.__code__
    assert (one(0), two(0)) == (1, 2)
    assert is_converted(one) and not is_converted(make(1))


def test_functions_inside_count_as_converted():
    def f():
        def inner(x):
            return x if x else 1

        return inner, lambda x: not x

    assert all(is_converted(inner) for inner in convert_function(f, STANDARD)())


def test_nothing_is_kept_of_what_a_closure_holds():
    class Thing:
        pass

    def run():
        thing = Thing()
        f = lambda: thing if thing else None
        convert_function(f, STANDARD)()
        return weakref.ref(thing)

    held = run()
    gc.collect()
    assert held() is None


def test_super_and_class_cells():
    class Base:
        def f(self, x):
            return x + 1

    class Derived(Base):
        def f(self, x):
            for _ in range(2):
                if x > 0:
                    x = super().f(x)
            return x, __class__

    assert convert_function(Derived.f, STANDARD)(Derived(), 1) == (3, Derived)


def test_eval_sees_the_variables_of_the_code_around_it():
    def f(x):
        y = x + 1
        return eval("x + y"), {"x", "y"} <= set(locals())

    assert convert_function(f, STANDARD)(1) == (3, True)


def test_what_cannot_be_converted_is_refused_by_name():
    def generator():
        yield 1

    async def coroutine():
        await generator()

    class Private:
        def f(self):
            return self.__x

    for function, what in (
        (generator, "Generators"), (coroutine, "Coroutines"), (Private.f, "Mangled names")
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=what):
            convert_function(function, STANDARD)


def test_globals_are_the_function_s_own():
    def f(n):
        global _counter
        for i in range(n):
            if i % 2:
                _counter += i
        return _counter

    assert convert_function(f, STANDARD)(4) == 4 == _counter


_counter = 0


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_function_that_calls_itself():
    made = convert_function(factorial, STANDARD)
    assert made(5) == 120
    assert made.__code__.co_name == "factorial" and not made.__code__.co_freevars[1:]
