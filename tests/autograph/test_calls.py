"""Conversion of callees in converted code, and callees that are not converted."""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import logging
import os

import numpy as np
import pytest

import stillflow as tf
from stillflow.autograph import calls
from stillflow.autograph.conversion import is_converted
from stillflow.autograph.options import STANDARD, ConversionOptions
from stillflow.graph.autograph_status import ControlStatusCtx, Status, control_status_ctx


def resolve(f, **options):
    return calls.resolve(f, ConversionOptions(True, optional_features=None, **options))


def scale(x, by=1):
    return x * by if x else by


class Model:
    def __call__(self, x):
        return self.scale(x)

    def scale(self, x):
        return x if x else 1

    @classmethod
    def make(cls):
        return cls() if cls else None

    @staticmethod
    def plain(x):
        return not x


def test_functions_methods_and_callable_objects_are_converted():
    model = Model()
    assert is_converted(resolve(scale))
    for f in (model, model.scale, Model.make):
        assert is_converted(resolve(f).__func__)
    assert resolve(model.scale).__self__ is model
    assert is_converted(resolve(Model.plain))


def test_partial_functions_are_converted_inside():
    made = resolve(functools.partial(functools.partial(scale, 2), by=3))
    assert is_converted(made.func) and made() == 6


def test_libraries_and_classes_are_left_alone():
    pair = collections.namedtuple("pair", "a b")
    for f in (
        tf.add,
        np.arange,
        json.dumps,
        os.makedirs,
        Model,
        pair,
        pair(1, 2)._asdict,
        "a".join,
        sorted,
    ):
        assert resolve(f) == f


def test_functions_that_tensors_need_have_their_own():
    assert resolve(len) is not len
    assert resolve(range)(3) == range(3)


def test_what_is_converted_is_not_converted_again():
    made = resolve(scale)
    assert resolve(made) is made
    function = tf.function(scale)
    assert resolve(function) is function


def test_cached_functions_are_left_alone():
    cached = functools.lru_cache(scale)
    assert resolve(cached) is cached


def test_context_managers_of_the_program_still_work():
    @contextlib.contextmanager
    def around():
        yield 3

    def f(n):
        with around() as x:
            if n:
                x += n
        return x

    assert tf.autograph.to_graph(f)(1) == 4


def test_what_cannot_be_converted_runs_with_a_warning(caplog):
    names = {}
    exec(compile("def f(x): return x + 1", "<stdin>", "exec"), names)
    with caplog.at_level(logging.WARNING, "tensorflow"):
        assert resolve(names["f"]) is names["f"]
        assert resolve(names["f"])(1) == 2
    (record,) = caplog.records
    assert "could not be transformed and will be executed as-is" in record.getMessage()


def test_generators_run_with_a_warning(caplog):
    def numbers():
        yield 1

    with caplog.at_level(logging.WARNING, "tensorflow"):
        assert resolve(numbers) is numbers
    assert "appears to be a generator function" in caplog.records[0].getMessage()


def test_strict_conversion_raises(monkeypatch):
    def numbers():
        yield 1

    monkeypatch.setenv("AUTOGRAPH_STRICT_CONVERSION", "1")
    with pytest.raises(NotImplementedError, match="Generators"):
        resolve(numbers, user_requested=True)


def test_do_not_convert_says_so():
    @tf.autograph.experimental.do_not_convert
    def status(x):
        return control_status_ctx().status

    @tf.autograph.experimental.do_not_convert()
    def again(x):
        return status(x)

    outer = calls.convert(recursive=True)(lambda x: (status(x), again(x)))
    assert outer(1) == (Status.DISABLED, Status.DISABLED)
    assert resolve(status) is status


def test_tf_convert_follows_its_context():
    def status():
        return control_status_ctx().status

    def found(where, **kwargs):
        with ControlStatusCtx(Status.DISABLED):
            return calls.tf_convert(status, ControlStatusCtx(where), **kwargs)()

    assert found(Status.DISABLED) is Status.DISABLED
    assert found(Status.ENABLED, user_requested=True) is Status.ENABLED
    assert found(Status.UNSPECIFIED, convert_by_default=False) is Status.UNSPECIFIED


def test_converted_call():
    def f(x):
        return x if x > 1 else -x

    with tf.Graph().as_default(), tf.Session() as session:
        y = calls.converted_call(f, STANDARD, (tf.constant(1),), None)
        assert session.run(y) == -1
