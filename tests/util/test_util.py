"""The Python tools that programs import from tensorflow.python.util."""

from __future__ import annotations

import functools
import json
import os
import sys
import types

import pytest

import stillflow as tf
from stillflow.platform import tf_logging
from stillflow.util import (
    all_util,
    decorator_utils,
    deprecation,
    function_utils,
    keyword_args,
    lazy_loader,
    tf_contextlib,
    tf_decorator,
    tf_inspect,
)


@pytest.fixture
def warned(monkeypatch):
    """Return the warnings of deprecated functions, each as one text."""
    texts = []
    monkeypatch.setattr(tf_logging, "warning", lambda text, *args: texts.append(text % args))
    monkeypatch.setattr(deprecation, "_PRINTED_WARNING", {})
    return texts


def double(x, y=2, *args, **kwargs):
    """Doubles.

    In full.
    """
    return 2 * x


def test_decorated_functions_can_be_looked_through():
    def wrapper(*args, **kwargs):
        return double(*args, **kwargs) + 1

    made = tf_decorator.make_decorator(double, wrapper, "outer", decorator_doc="Other words.")
    (decorator,), target = tf_decorator.unwrap(made)
    assert made is wrapper and target is double and made(3) == 7
    assert (made.__name__, made.__doc__, decorator.decorator_name) == (
        "double",
        "Other words.",
        "outer",
    )
    assert tf_inspect.getfullargspec(made).args == ["x", "y"]
    assert tf_inspect.isfunction(made) and tf_inspect.getsource(made).startswith("def double")


def test_targets_can_be_replaced():
    made = tf_decorator.make_decorator(double, lambda x: x)
    assert tf_decorator.rewrap(made, double, len) is made
    assert tf_decorator.unwrap(made)[1] is len
    assert tf_decorator.rewrap(double, double, len) is len


def test_argument_specifications():
    spec = tf_inspect.getargspec(double)
    assert spec == (["x", "y"], "args", "kwargs", (2,))
    assert tf_inspect.getargspec(functools.partial(double, 1)).args == ["y"]
    assert tf_inspect.getargspec(functools.partial(double, y=5)).defaults == (5,)
    with pytest.raises(ValueError, match="do not have default value"):
        tf_inspect.getargspec(functools.partial(lambda m, n: 0, m=1))
    with pytest.raises(ValueError, match="unknown partial keyword"):
        tf_inspect.getargspec(functools.partial(lambda m: 0, k=1))
    assert tf_inspect.getcallargs(double, 1, z=3) == {"x": 1, "y": 2, "z": 3}


def test_context_managers_keep_their_arguments():
    @tf_contextlib.contextmanager
    def context(value, other=1):
        yield value + other

    with context(1) as found:
        assert found == 2
    assert tf_inspect.getargspec(context).args == ["value", "other"]


class Callable:
    def __call__(self, a, b):
        return a

    def method(self, c, **kwargs):
        return c


@pytest.mark.parametrize(
    "function, args, keywords, name",
    [
        (double, ("x", "y"), True, "double"),
        (functools.partial(double, 1), ("y",), True, None),
        (Callable().method, ("c",), True, "Callable.method"),
        (Callable(), ("a", "b"), False, str(Callable)),
    ],
)
def test_facts_about_functions(function, args, keywords, name):
    assert function_utils.fn_args(function) == args
    assert function_utils.has_kwargs(function) is keywords
    if name is not None:
        assert function_utils.get_func_name(function) == name
        assert function_utils.get_func_code(function) is not None


def test_what_cannot_be_called_has_no_facts():
    with pytest.raises(TypeError, match="function-like"):
        function_utils.has_kwargs(3)
    with pytest.raises(ValueError, match="callable"):
        function_utils.get_func_name(3)


def test_deprecated_functions_warn_once(warned):
    made = deprecation.deprecated("2018-01-31", "Do it otherwise.")(double)
    assert made(1) == 2 and made(1) == 2
    (text,) = warned
    assert "test_util.py:" in text and "double (from" in text
    assert text.endswith(
        "will be removed after 2018-01-31.\nInstructions for updating:\nDo it otherwise."
    )
    assert made.__doc__.splitlines()[:3] == [
        "Doubles. (deprecated)",
        "",
        "Warning: THIS FUNCTION IS DEPRECATED. It will be removed after 2018-01-31.",
    ]
    with deprecation.silence():
        deprecation.deprecated(None, "Never.")(lambda: 0)()
    assert len(warned) == 1


def test_a_call_from_this_package_gives_no_notice(warned):
    made = deprecation.deprecated(None, "Never.")(double)
    inside = {}
    place = os.path.join(os.path.dirname(tf.__file__), "somewhere.py")
    exec(compile("def call(f): return f(2)", place, "exec"), inside)
    assert inside["call"](made) == 4 and warned == []
    made(2)
    assert len(warned) == 1


def test_deprecated_arguments(warned):
    made = deprecation.deprecated_args(None, "Leave it.", "y", ("args", None))(double)
    made(1)
    assert warned == []
    made(1, 3)
    made(1, y=3)
    assert len(warned) == 1 and "with y is deprecated and will be removed in a future" in warned[0]
    fine = deprecation.deprecated_args(None, "Leave it.", ("y", 0))(double)
    fine(1, y=0)
    assert len(warned) == 1
    with pytest.raises(ValueError, match="not present in the function signature"):
        deprecation.deprecated_args(None, "Leave it.", "nothing")(double)


def test_deprecated_values_and_names(warned):
    made = deprecation.deprecated_arg_values(None, "Choose.", y=True)(double)
    made(1, y=False)
    assert warned == []
    made(1, y=True)
    assert "with y=True is deprecated" in warned[0]
    alias = deprecation.deprecated_alias("old.name", "new.name", Callable)
    assert isinstance(alias(), Callable) and "The name old.name is deprecated" in warned[1]
    assert deprecation.deprecated_argument_lookup("new", None, "old", 5) == 5
    with pytest.raises(ValueError, match="Cannot specify both 'old' and 'new'"):
        deprecation.deprecated_argument_lookup("new", 1, "old", 5)


@pytest.mark.parametrize("date, instructions", [("soon", "Do."), (None, "")])
def test_deprecation_has_a_date_and_instructions(date, instructions):
    with pytest.raises(ValueError):
        deprecation.deprecated(date, instructions)


def test_only_what_can_be_called_is_decorated():
    with pytest.raises(ValueError, match="make sure @property appears before"):
        decorator_utils.validate_callable(property(), "deprecated")


def test_keyword_only_functions():
    made = keyword_args.keyword_args_only(double)
    assert made(x=1) == 2
    with pytest.raises(ValueError, match="Must use keyword args to call double"):
        made(1)


def test_undocumented_names_are_removed(monkeypatch):
    module = types.ModuleType("shown", "Title.\n\n@@first\n@@missing\n")
    module.first, module.second, module.third = 1, 2, 3
    monkeypatch.setitem(sys.modules, "shown", module)
    assert all_util.make_all("shown") == ["first"]
    all_util.remove_undocumented("shown", ["third"])
    assert module.first == 1 and module.third == 3 and not hasattr(module, "second")


def test_the_arguments_of_public_functions_read_as_tensorflow_declares_them():
    spec = tf_inspect.getfullargspec(tf.cast)
    assert (spec.args, spec.defaults, spec.annotations) == (["x", "dtype", "name"], (None,), {})
    assert spec == tf_inspect.getfullargspec(lambda x, dtype, name=None: None)


def test_a_lazy_module_gives_way_to_the_real_one(warned):
    names = {}
    names["j"] = lazy_loader.LazyLoader("j", names, "json", warning="It comes")
    held = names["j"]
    assert held.dumps([1]) == "[1]" and "loads" in dir(held)
    assert names["j"] is json and warned == ["It comes"]
