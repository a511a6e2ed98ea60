"""Converted functions do with Python's values what the functions themselves do."""

from __future__ import annotations

import contextlib

import pytest

import stillflow as tf


def branches(x):
    if x > 3:
        y, z = x, 1
    elif x > 1:
        y, z = -x, 2
    else:
        return None
    if y < 0:
        z += 5
    return y + z


def loops(n):
    found = []
    i = 0
    while True:
        i += 1
        if i % 3 == 0:
            continue
        for j in range(n):
            if j == i:
                break
            if (i + j) % 4 == 0:
                continue
            found.append((i, j))
        else:
            found.append("all")
        if i > n:
            break
    else:
        found.append("never")
    return found


def early(n):
    for i in range(10):
        for j in range(10):
            if i * j > n:
                return i, j
    return None


def closures(n):
    count = 0

    def add(by):
        nonlocal count
        if by > 1:
            count += by
        return count

    seen = lambda: count
    while count < n:
        add(3)
        if seen() % 2:
            count += 1
    return count, seen()


def exceptions(n):
    log = []
    for i in range(n):
        try:
            if i == 2:
                raise ValueError(i)
            log.append(10 // (i - 1))
        except ZeroDivisionError as error:
            log.append(type(error).__name__)
            continue
        except ValueError:
            if n > 3:
                break
        finally:
            log.append("end")
        with contextlib.suppress(KeyError):
            if i == 0:
                {}["missing"]
            log.append("kept")
    return log


def expressions(n):
    a = (n and n + 1) or 7
    b = not a
    c = 1 if n > 2 else 2 if n else 3
    evens = [i for i in range(n) if not i % 2 and i]
    if (half := n // 2) and half > 1:
        c += half
    d = {k: v if v else k for k, v in zip("abc", evens)}
    return a, b, c, evens, d, max(*evens, 1, *[2], key=lambda v: -v if v > 1 else v)


def branch_variables(n):
    t = n
    if n > 2:
        t = t + 1
        y = t
    else:
        y = t * 2
    t = 0
    for t in range(n):
        if t > 1:
            u = t
            t = u * 2
    return y, t


def state(n):
    class Holder:
        x = 0

    h, d = Holder(), {"k": [0]}
    while h.x < n:
        h.x += 1
        if h.x % 2:
            d["k"].append(h.x)
            d["last"] = h.x
    return h.x, d


def heads(n):
    with contextlib.nullcontext(n) as x:
        if n:
            x += n
    try:
        [][n]
    except IndexError as error:
        kind = type(error)
        if n > 1:
            error = n
        x = (x, kind, str(error))
    return x


def named_expressions(n):
    left, found = list(range(n)), []
    while left and (x := left.pop()) != 1:
        if x % 2:
            continue
        found.append(x)
    while (y := n) > 3:
        n -= 1
    return found, y, [z for v in found if (z := v + 1)]


def patterns(n):
    match (n, [1, 2, 3]):
        case (0, _):
            found = "none"
        case (k, [first, *rest]) if k > 2:
            found = (k, first, rest)
        case _:
            found = "few"
    return found


FUNCTIONS = [
    branches, loops, early, closures, exceptions, expressions, branch_variables, state,
    heads, named_expressions, patterns,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
def test_python_values_give_what_python_gives(function, n):
    assert tf.autograph.to_graph(function)(n) == function(n)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_code_can_be_shown(function):
    code = tf.autograph.to_code(function)
    compile(code, "<converted>", "exec")
    assert "FunctionScope" in code


def test_what_is_made_and_forgotten_in_a_branch_is_no_state_of_it():
    class Holder:
        pass

    def f(x):
        if x > 0:
            held = Holder()
            held.value = x * 2
            x = held.value
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.autograph.to_graph(f)(tf.constant(3))) == 6
