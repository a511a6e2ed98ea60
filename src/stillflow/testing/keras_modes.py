"""Keras tests that run once for each way of executing a model, or of making one."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from absl.testing import parameterized

from stillflow import nest
from stillflow.eager import v2_behavior
from stillflow.graph.eager_mode import eager_mode, executing_eagerly, graph_mode
from stillflow.keras.backend.session import clear_session
from stillflow.testing import test_util

_MODEL_TYPES = ("functional", "subclass", "sequential")


class TestCase(test_util.TensorFlowTestCase, parameterized.TestCase):
    """A test case whose methods leave no Keras session and no names behind."""

    def tearDown(self) -> None:
        clear_session()
        super().tearDown()


class _Settings(threading.local):
    """Settings of the test that runs in a thread; None outside of their scopes."""

    model_type: str | None = None
    run_eagerly: bool | None = None
    run_tf_function: bool | None = None


_settings = _Settings()


@contextlib.contextmanager
def _set(name: str, value: Any) -> Iterator[Any]:
    before = getattr(_settings, name)
    setattr(_settings, name, value)
    try:
        yield value
    finally:
        setattr(_settings, name, before)


def model_type_scope(value: str) -> Any:
    """Return a context in which `get_model_type()` is a value."""
    return _set("model_type", value)


def run_eagerly_scope(value: bool) -> Any:
    """Return a context in which `should_run_eagerly()` follows a value."""
    return _set("run_eagerly", value)


def experimental_run_tf_function_scope(value: bool) -> Any:
    """Return a context in which `should_run_tf_function()` follows a value."""
    return _set("run_tf_function", value)


def get_model_type() -> str:
    """Return the type of the models to make; ValueError outside of tests with model types."""
    return str(_setting("get_model_type", "model_type", "run_with_all_model_types"))


def should_run_eagerly() -> bool:
    """Return True if models are to run operation by operation; ValueError outside of tests."""
    asked = _setting("should_run_eagerly", "run_eagerly", "run_all_keras_modes")
    return bool(asked and executing_eagerly())


def should_run_tf_function() -> bool:
    """Return True if models are to run as functions; ValueError outside of such tests."""
    asked = _setting("should_run_tf_function", "run_tf_function", "run_all_keras_modes")
    return bool(asked and executing_eagerly())


def runs_eagerly_if_said() -> dict[str, bool]:
    """Return the arguments of `compile` that the mode of the running test asks for."""
    return {} if _settings.run_eagerly is None else {"run_eagerly": should_run_eagerly()}


_SCOPES = {
    "model_type": "model_type_scope()",
    "run_eagerly": "run_eagerly_scope()",
    "run_tf_function": "experimental_run_tf_function_scope()",
}


def _setting(function: str, name: str, decorator: str) -> Any:
    value = getattr(_settings, name)
    if value is None:
        raise ValueError(
            f"Cannot call `{function}()` outside of a `{_SCOPES[name]}` or `{decorator}` decorator."
        )
    return value


def run_with_all_model_types(test_or_class: Any = None, exclude_models: Any = None) -> Any:
    """Decorate tests, or a class, that run for functional, subclass and sequential models."""
    left_out = nest.flatten(exclude_models)
    cases = [(f"_{kind}", kind) for kind in _MODEL_TYPES if kind not in left_out]

    def run(method: Callable[..., Any], self: Any, kind: str, *args: Any, **kwargs: Any) -> None:
        with model_type_scope(kind):
            method(self, *args, **kwargs)

    return _decorated(test_or_class, cases, run)


def run_all_keras_modes(
    test_or_class: Any = None,
    config: Any = None,
    always_skip_v1: bool = False,
    always_skip_eager: bool = False,
) -> Any:
    """Decorate tests that run in a session, as functions and operation by operation.

    `test_or_class` is a method, a class of methods, or None for a decorator. The flags leave out
    the session, or the run operation by operation.
    """
    modes = ["v2_function", "v2_funcgraph"]
    if not always_skip_eager:
        modes.append("v2_eager")
    if not (always_skip_v1 or v2_behavior.is_enabled):
        modes.append("v1_session")

    def run(method: Callable[..., Any], self: Any, mode: str, *args: Any, **kwargs: Any) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(graph_mode() if mode == "v1_session" else eager_mode())
            stack.enter_context(run_eagerly_scope(mode == "v2_eager"))
            as_function = mode in ("v2_function", "v2_eager")
            stack.enter_context(experimental_run_tf_function_scope(as_function))
            if mode == "v1_session":
                stack.enter_context(self.test_session(use_gpu=True, config=config))
            method(self, *args, **kwargs)

    return _decorated(test_or_class, [(f"_{mode}", mode) for mode in modes], run)


def _decorated(target: Any, cases: list[tuple[str, str]], run: Callable[..., None]) -> Any:
    """Return a method, the methods of a class, or parameterized ones, once for each case."""

    def one(method: Callable[..., Any]) -> Any:
        @parameterized.named_parameters(*cases)
        @functools.wraps(method)
        def test(self: Any, case: str, *args: Any, **kwargs: Any) -> None:
            run(method, self, case, *args, **kwargs)

        return test

    def any_kind(obj: Any) -> Any:
        if isinstance(obj, Iterable):
            return itertools.chain.from_iterable(one(method) for method in obj)
        if not isinstance(obj, type):
            return one(obj)
        members = dict(vars(obj))
        for name, value in list(members.items()):
            if callable(value) and name.startswith(unittest.TestLoader.testMethodPrefix):
                members[name] = one(value)
        # A new class: its metaclass makes methods of the parameterized ones.
        for slot in ("__dict__", "__weakref__"):
            members.pop(slot, None)
        return type(obj)(obj.__name__, obj.__bases__, members)

    return any_kind if target is None else any_kind(target)
