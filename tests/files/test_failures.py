"""Errors of the operating system as those of `tf.errors`."""

from __future__ import annotations

import errno
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stillflow as tf
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import remote_errors


class Thing:
    """Something that can be watched."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("context", [os_errors, remote_errors])
def test_an_error_that_was_handled_keeps_nothing_of_its_callers(
    context: Callable[[str], Any], no_collector: None
) -> None:
    def caller() -> weakref.ref[Thing]:
        thing = Thing()
        try:
            with context("x"):
                raise FileNotFoundError(errno.ENOENT, "x")
        except tf.errors.NotFoundError:
            return weakref.ref(thing)

    assert caller()() is None


@pytest.mark.parametrize(
    "error, kind, message",
    [
        (OSError(errno.EACCES, "no"), tf.errors.PermissionDeniedError, "a/b; Permission denied"),
        (ValueError("embedded null byte"), tf.errors.InvalidArgumentError, "embedded null byte"),
        (OSError("of no number"), tf.errors.UnknownError, "a/b; of no number"),
    ],
)
def test_errors_name_the_path(error: Exception, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as raised, os_errors("a/b"):
        raise error
    assert raised.value.__suppress_context__


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), os_errors("a"):
        raise KeyError("x")


def test_remote_errors_without_a_number_have_that_of_their_kind() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="a; No such file"), remote_errors("a"):
        raise FileNotFoundError("gs://a")
    with pytest.raises(tf.errors.UnknownError, match="a; odd"), remote_errors("a"):
        raise OSError("odd")
