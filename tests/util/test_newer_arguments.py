"""Functions that hand their arguments on by name: signatures, fixed arguments, errors."""

from __future__ import annotations

import inspect
import types

import pytest

from stillflow.util.newer_arguments import handed_on


def older(a, b=2, c=3, strict=False):
    return a, b, c, strict


KIND = object()
module = types.SimpleNamespace(older=older)
newer = handed_on("c, a=..., b='x'", module, "older", given={"strict": True}, a=KIND)


def test_arguments_reach_the_function_by_name():
    assert newer(1) == (KIND, "x", 1, True)
    assert newer(1, 2, 3) == (2, 3, 1, True)
    assert newer(b=5, c=4) == (KIND, 5, 4, True)


def test_the_signature_has_the_objects_for_which_dots_stand():
    parameters = inspect.signature(newer).parameters
    assert [(x.name, x.default) for x in parameters.values()] == [
        ("c", inspect.Parameter.empty), ("a", KIND), ("b", "x"),
    ]  # fmt: skip
    assert (newer.__name__, newer.__module__) == ("older", __name__)


def test_errors_name_the_function_and_the_argument():
    with pytest.raises(TypeError, match=r"older\(\) missing 1 required positional argument: 'c'"):
        newer()
    with pytest.raises(TypeError, match=r"older\(\) got an unexpected keyword argument 'd'"):
        newer(1, d=2)


def test_the_module_is_asked_at_each_call(monkeypatch):
    monkeypatch.setattr(module, "older", lambda **given: sorted(given))
    assert newer(1) == ["a", "b", "c", "strict"]
