"""`tf.test.TestCase`: sessions for tests, and comparisons of tensors and arrays."""

from __future__ import annotations

import contextlib
import random
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np
from absl.testing import absltest

from stillflow import errors, nest
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import graph as graphs
from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.random_seed import set_random_seed
from stillflow.protos import ConfigProto
from stillflow.runtime.session.session import Session
from stillflow.summary import recording
from stillflow.testing.comparisons import Comparisons
from stillflow.testing.eager_sessions import EagerSession, NoSession
from stillflow.testing.eager_values import value_now
from stillflow.testing.environment import gpu_device_name
from stillflow.testing.googletest import get_temp_dir

DEFAULT_GRAPH_SEED = 87654321


class CheckedThread:
    """A thread whose exception fails the test that joins it."""

    def __init__(self, testcase: Any, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._testcase, self._target = testcase, target
        self._args, self._kwargs = args or (), kwargs or {}
        self._thread = threading.Thread(target=self._run)
        self._exception: Exception | None = None
        self._joined = False

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:
            self._exception = error

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._joined = True
        self._thread.join()
        if self._exception is not None:
            self._testcase.fail(f"Error in checkedThread: {self._exception}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        if not self._joined:
            self._testcase.fail("A checked thread was not joined.")
        elif self.is_alive():
            raise RuntimeError(
                "Thread was not joined with main thread, and is still running when the test "
                "finished."
            )


@export("test.TestCase")
class TestCase(Comparisons, absltest.TestCase):
    """A test case with a fresh graph, fixed seeds, and sessions.

    Args:
      methodName: of the method that holds the test.

    Example:
      >>> class SquareTest(tf.test.TestCase):
      ...     def test(self): self.assertAllClose(self.evaluate(tf.square([2.0, 3.0])), [4.0, 9.0])
      >>> SquareTest("test").run().wasSuccessful()
      True
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._tempdir: str | None = None
        self._cached_session: Any = None

    def setUp(self) -> None:
        super().setUp()
        self._clear_cached_session()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        graphs._default.reset()
        graphs.reset_default_graph()
        set_random_seed(DEFAULT_GRAPH_SEED)
        recording.state.writer = None  # an earlier test may have left a graph's writer there
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._clear_cached_session()
        super().tearDown()

    def _clear_cached_session(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    def get_temp_dir(self) -> str:
        """Return a folder of this test's own."""
        if not self._tempdir:
            self._tempdir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._tempdir

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors: their own, or in the default session or the cached one."""
        if executing_eagerly():
            return self._eval_helper(tensors)
        if isinstance(tensors, EagerTensor):
            return tensors.numpy()
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as session:
            return session.run(tensors)

    def _eval_helper(self, tensors: Any) -> Any:
        """Return the values that tensors of eager execution have, in the same structure."""
        return nest.map_structure(value_now, tensors)

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Enter a new session as the default one; an unusable one in eager execution."""
        if executing_eagerly():
            yield NoSession()
            return
        with (
            Session(graph=graph, config=_config(config, force_gpu)) as session,
            self._entered(session, use_gpu, force_gpu),
        ):
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Enter the test's one session, which keeps its variables, as the default one.

        In eager execution it gives the values that tensors have.
        """
        if executing_eagerly():
            yield EagerSession(self.evaluate)
            return
        session = self._get_cached_session(graph, config, force_gpu, check=True)
        with self._entered(session, use_gpu, force_gpu):
            yield session

    @contextlib.contextmanager
    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """The cached session, or a new one if a graph is given; None in eager execution."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        entered: Any = contextlib.nullcontext()
        if graph is not None and not executing_eagerly():
            entered = self.session(graph, config, use_gpu, force_gpu)
        elif not executing_eagerly():
            session = self._get_cached_session(graph, config, force_gpu, check=False)
            entered = self._entered(session, use_gpu, force_gpu)
        with entered as current:
            yield current

    def _get_cached_session(self, graph: Any, config: Any, force_gpu: bool, check: bool) -> Session:
        arguments = (graph, config, force_gpu)
        if self._cached_session is None:
            self._cached_session = Session(graph=graph, config=_config(config, force_gpu))
            self._asked_arguments = arguments
        elif check:
            names = ("graph", "config", "force_gpu option")
            for name, now, before in zip(names, arguments, self._asked_arguments, strict=True):
                if now is not before:
                    raise ValueError(
                        f"The {name} used to get the cached session is different than the one "
                        "that was used to create the session. Maybe create a new session with "
                        "self.session()"
                    )
        return self._cached_session

    @contextlib.contextmanager
    def _entered(self, session: Any, use_gpu: bool, force_gpu: bool) -> Iterator[Any]:
        device: Any = contextlib.nullcontext()
        if force_gpu:
            device = session.graph.device(gpu_device_name() or "/device:GPU:0")
        elif not use_gpu:
            device = session.graph.device("/device:CPU:0")
        with session.graph.as_default(), session.as_default(), device:
            yield session

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Capture writes to a stream with a file descriptor, by C code too."""
        import os

        stream.flush()
        descriptor = stream.fileno()
        file, path = tempfile.mkstemp(dir=self.get_temp_dir())
        original = os.dup(descriptor)
        os.dup2(file, descriptor)
        try:
            yield _Captured(path)
        finally:
            stream.flush()
            os.close(file)
            os.dup2(original, descriptor)
            os.close(original)

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> CheckedThread:
        """Return a thread whose exception fails this test; it must be joined."""
        thread = CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread

    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> contextlib.AbstractContextManager[None]:
        """Assert an exception whose text matches a regular expression or a function."""
        if callable(expected_err_re_or_predicate):
            return _Raises(self, exception_type, expected_err_re_or_predicate)
        return _Raises(
            self,
            exception_type,
            lambda error: re.search(expected_err_re_or_predicate, _text(error)),
        )

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Assert a `tf.errors.OpError` with a matching text."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


class _Raises(contextlib.AbstractContextManager[None]):
    """Inside it, an exception that a predicate accepts must be raised.

    A class, as a generator that swallows an exception makes it a part of a cycle with its frames.
    """

    def __init__(
        self, case: absltest.TestCase, kind: Any, predicate: Callable[[Exception], Any]
    ) -> None:
        self._case, self._kind, self._predicate = case, kind, predicate

    def __exit__(
        self, kind: Any, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is None:
            self._case.fail(self._kind.__name__ + " not raised")
        if not isinstance(error, Exception):
            return False
        if not isinstance(error, self._kind) or not self._predicate(error):
            raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        return True


def _text(error: Exception) -> str:
    """Return an error's message, followed by the operations that caused it."""
    if not isinstance(error, errors.OpError):
        return str(error)
    text, op = error.message, error.op
    while op is not None:
        text += f"\nCaused by: {op.name}"
        op = op._original_op
    return text


def _config(config: Any, force_gpu: bool) -> Any:
    if config is None:
        return ConfigProto(allow_soft_placement=not force_gpu)
    if force_gpu and config.allow_soft_placement:
        copy = ConfigProto()
        copy.CopyFrom(config)
        copy.allow_soft_placement = False
        return copy
    return config


class _Captured:
    """Captured writes to a stream."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        with open(self._path, errors="replace") as file:
            return file.read()
