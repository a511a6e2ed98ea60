"""Module that tests import as ``tensorflow.python.framework.test_util``.

Decorators that run a test in several ways run it in a session, and with operations that run when
they are called; functions that TensorFlow compiles in a way of its own are left as they are.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import unittest
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph.api import device as device_scope
from stillflow.graph.eager_mode import eager_mode, graph_mode
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.ops.control_flow import toggles
from stillflow.ops.functional import intermediates
from stillflow.testing.environment import (
    assert_equal_graph_def,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_rocm,
    is_gpu_available,
)
from stillflow.testing.in_functions import also_run_as_tf_function as also_run_as_tf_function
from stillflow.testing.in_functions import py_func_if_in_function as py_func_if_in_function
from stillflow.testing.layouts import NCHW_VECT_CToNHWC as NCHW_VECT_CToNHWC
from stillflow.testing.layouts import NCHWToNHWC as NCHWToNHWC
from stillflow.testing.layouts import NHWCToNCHW as NHWCToNCHW
from stillflow.testing.layouts import NHWCToNCHW_VECT_C as NHWCToNCHW_VECT_C
from stillflow.testing.local_cluster import create_local_cluster as create_local_cluster
from stillflow.testing.test_case import TestCase

TensorFlowTestCase = TestCase
assert_equal_graph_def_v1 = assert_equal_graph_def
IsGoogleCudaEnabled = is_built_with_cuda
IsBuiltWithROCm = is_built_with_rocm

Test = Callable[..., Any]


def _optional(decorate: Callable[[Any], Any]) -> Callable[..., Any]:
    """Let a decorator be written with or without parentheses."""

    def decorator(func: Any = None) -> Any:
        return decorate if func is None else decorate(func)

    return decorator


def _as_it_is(func: Any) -> Any:
    return func


def _described(description: str) -> Callable[[Any], Any]:
    """Return a decorator that takes a description, and leaves the test as it is."""
    return _as_it_is


def _needing(condition: Callable[[], Any], reason: str) -> Callable[[Any], Any]:
    """Return a decorator that skips a test unless a condition holds when it runs."""

    def decorate(func: Test) -> Test:
        if isinstance(func, type):
            raise ValueError("This decorator only supports test methods.")

        @functools.wraps(func)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not condition():
                self.skipTest(reason)
            return func(self, *args, **kwargs)

        return test

    return decorate


def _in_a_graph(func: Any) -> Any:
    """Run a test in graph mode, which is how all run; excluding it from a second run ends here."""
    if isinstance(func, type):
        return func

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return func(self, *args, **kwargs)

    vars(run).pop("_disable_control_flow_v2", None)
    return run


deprecated_graph_mode_only = run_deprecated_v1 = _optional(_in_a_graph)
use_deterministic_cudnn = _as_it_is
enable_c_shapes = with_c_shapes = _as_it_is
assert_no_new_pyobjects_executing_eagerly = assert_no_new_tensors = _as_it_is
assert_no_garbage_created = disable_cudnn_autotune = _as_it_is
disable_xla = no_xla_auto_jit = xla_allow_fallback = enable_tf_xla_constant_folding = _described
run_without_tensor_float_32 = run_all_without_tensor_float_32 = _described

run_v2_only = _optional(_needing(lambda: False, "Test is only compatible with v2"))
run_gpu_only = _optional(_needing(is_gpu_available, "Test requires GPU"))
run_cuda_only = _optional(
    _needing(lambda: is_gpu_available(cuda_only=True), "Test requires CUDA GPU")
)


def run_v1_only(reason: str, func: Any = None) -> Any:
    """Run a test, or the tests of a class, in TensorFlow 1's way."""
    if not isinstance(reason, str):
        raise ValueError(f"'reason' should be string, got {type(reason)}")
    return _as_it_is if func is None else func


@export("contrib.eager.run_test_in_graph_and_eager_modes")
def run_in_graph_and_eager_modes(
    func: Test | None = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Callable[..., Any]:
    """Run a test in a session of its own, and again with operations that run when called.

    Args:
      func: the test; without it a decorator is returned.
      config: the session's ConfigProto.
      use_gpu: whether operations may go to a GPU.
      reset_test: whether it is torn down and set up between both.
      assert_no_eager_garbage: nothing here.
    """

    def decorate(test: Test) -> Test:
        if isinstance(test, type):
            raise ValueError(
                "`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                "`run_all_in_graph_and_eager_modes`?"
            )

        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with contextlib.suppress(unittest.SkipTest), graph_mode():
                with self.test_session(use_gpu=use_gpu, config=config):
                    test(self, *args, **kwargs)
            if reset_test:
                self.tearDown()
                self._tempdir = None
            with Graph().as_default(), eager_mode():
                if reset_test:
                    self.setUp()
                with contextlib.nullcontext() if use_gpu else device_scope("/device:CPU:0"):
                    test(self, *args, **kwargs)

        return run

    return decorate if func is None else decorate(func)


@export("contrib.eager.run_all_tests_in_graph_and_eager_modes")
def run_all_in_graph_and_eager_modes(cls: Any) -> Any:
    """Apply `run_in_graph_and_eager_modes` to the tests of a class."""
    for name, value in list(vars(cls).items()):
        excluded = name == "test_session" or name.startswith("testSkipEager")
        if name.startswith("test") and not excluded and callable(value):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def enable_control_flow_v2(func: Test) -> Test:
    """Have a test build functions instead of the graph's own loops and branches."""
    return _with_setting(func, toggles, "enabled")


def enable_output_all_intermediates(func: Test) -> Test:
    """Have branches and loops that are functions give all that they compute."""
    return _with_setting(func, intermediates, "wanted")


def _with_setting(func: Test, module: Any, name: str) -> Test:
    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(module, name)
        setattr(module, name, True)
        try:
            return func(self, *args, **kwargs)
        finally:
            setattr(module, name, before)

    return run


def with_control_flow_v2(cls: Any) -> Any:
    """Have the tests of a class run a second time, under the names TensorFlow gives them.

    There they build functions instead of the graph's own loops and branches.
    """
    if toggles.enabled:
        return cls
    for name, value in list(vars(cls).items()):
        tested = name.startswith("test") and callable(value)
        if tested and not getattr(value, "_disable_control_flow_v2", False):
            setattr(cls, f"{name}WithControlFlowV2", enable_control_flow_v2(value))
    return cls


def disable_control_flow_v2(unused_msg: str) -> Callable[[Any], Any]:
    """Return a decorator that excludes a test from `with_control_flow_v2`."""

    def decorate(func: Any) -> Any:
        func._disable_control_flow_v2 = True
        return func

    return decorate


def build_as_function_and_v1_graph(func: Any = None) -> Callable[..., Any]:
    """Have a test of an absl `TestCase` run under the two names TensorFlow gives it.

    There one builds a function; here both build a graph of their own.
    """
    from absl.testing import parameterized

    def decorate(test: Test) -> Test:
        if isinstance(test, type):
            raise ValueError("`run_in_graph_mode_and_function` only supports test methods.")

        @functools.wraps(test)
        def decorated(self: Any, unused_mode: str, *args: Any, **kwargs: Any) -> None:
            with Graph().as_default():
                test(self, *args, **kwargs)

        modes = (("_v1_graph", "v1_graph"), ("_function", "function"))
        named: Test = parameterized.named_parameters(*modes)(decorated)
        return named

    return decorate if func is None else decorate(func)


def skip_if(condition: Any) -> Callable[[Test], Test]:
    """Return a decorator that leaves a test out if a condition, or its result, is True."""

    def decorate(func: Test) -> Test:
        @functools.wraps(func)
        def test(self: Any, *args: Any, **kwargs: Any) -> None:
            if not (condition() if callable(condition) else condition):
                func(self, *args, **kwargs)

        return test

    return decorate


def for_all_test_methods(decorator: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a class decorator that applies another one, with arguments, to every test."""

    def decorate(cls: Any) -> Any:
        for name, value in inspect.getmembers(cls, callable):
            if name.startswith("test") and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def is_xla_enabled() -> bool:
    """Return False: the program's own graph is run."""
    return False


def IsMklEnabled() -> bool:
    """Return False."""
    return False


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Return True."""
    return True


def InstallStackTraceHandler() -> None:
    """Do nothing: Python reports its own faults."""


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Place operations on the GPU, if there is one and it is wanted, otherwise on the CPU."""
    with device_scope((use_gpu and gpu_device_name()) or "/device:CPU:0"):
        yield


def use_gpu() -> Any:
    """Place operations on the GPU, if there is one."""
    return device(use_gpu=True)


@contextlib.contextmanager
def force_gpu() -> Iterator[None]:
    """Place operations on the GPU."""
    with device_scope("/device:GPU:0"):
        yield


@contextlib.contextmanager
def force_cpu() -> Iterator[None]:
    """Place operations on the CPU."""
    with device_scope("/device:CPU:0"):
        yield


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """Return {node name: NodeDef} of expected names and types in a graph, or raise ValueError."""
    found = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, node in found.items():
        if expected_ops[name] != node.op:
            raise ValueError(
                f"Expected op for node {name} is different. {expected_ops[name]} vs {node.op}"
            )
    if found.keys() != expected_ops.keys():
        raise ValueError(
            f"Not all expected ops are present. Expected {expected_ops.keys()}, "
            f"found {found.keys()}"
        )
    return found


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """Return the NodeDef of a name in a GraphDef, None if there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def set_producer_version(graph: Any, producer_version: int) -> None:
    """Have a graph pretend that an older TensorFlow made it."""
    import stillflow as tf

    with graph.as_default():
        graph_def = tf.GraphDef()
        graph_def.versions.producer = producer_version
        tf.import_graph_def(graph_def)


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Assert that two MetaGraphDefs are the same, with collections in any order."""
    tester.assertEqual(set(a.collection_def), set(b.collection_def))
    for key in a.collection_def:
        first, second = a.collection_def[key], b.collection_def[key]
        tester.assertEqual(first.WhichOneof("kind"), second.WhichOneof("kind"))
        kind = first.WhichOneof("kind")
        if kind is not None:
            tester.assertEqual(list(getattr(first, kind).value), list(getattr(second, kind).value))
    assert_equal_graph_def(a.graph_def, b.graph_def)
    rests = []
    for each in (a, b):
        rest = type(each)()
        rest.CopyFrom(each)
        rest.ClearField("collection_def")
        rest.ClearField("graph_def")
        rests.append(rest)
    tester.assertEqual(*rests)


def _combine_named_parameters(**kwargs: Any) -> list[OrderedDict[str, Any]]:
    """Return every combination of the values of some parameters."""
    names = sorted(kwargs)
    values = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    return [OrderedDict(zip(names, choice)) for choice in itertools.product(*values)]


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[OrderedDict[str, Any]]:
    """Return every combination of the values of some parameters, with a name for each."""
    named = []
    for combination in _combine_named_parameters(**kwargs):
        name = "".join(
            f"_{''.join(filter(str.isalnum, key))}_{''.join(filter(str.isalnum, str(value)))}"
            for key, value in combination.items()
        )
        named.append(OrderedDict([*combination.items(), ("testcase_name", f"_test{name}")]))
    return named


class CapturedWrites:
    """Writes to a stream, in parts."""

    def __init__(self, capture_location: str) -> None:
        self.capture_location = capture_location

    def contents(self) -> str:
        """Return all of it."""
        with open(self.capture_location) as file:
            return file.read()
