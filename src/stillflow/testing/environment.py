"""Environment of tests: facts about the machine, and the start."""

from __future__ import annotations

import unittest.mock
from typing import Any

from stillflow.graph.export import export, export_value

mock = export_value("test.mock", unittest.mock)


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Return True if torch was built with CUDA."""
    import torch

    return torch.version.cuda is not None


@export("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Return True if torch was built with ROCm."""
    import torch

    return torch.version.hip is not None


@export("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Return True if torch was built for some GPU."""
    return is_built_with_cuda() or is_built_with_rocm()


@export("test.is_gpu_available")
def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return True if operations can be placed on a GPU.

    Args:
      cuda_only: ask for CUDA GPUs only.
      min_cuda_compute_capability: (major, minor) that the GPU must have at least.
    """
    from stillflow.runtime.devices.devices import are_of_apple, gpu_count

    if not gpu_count():
        return False
    if are_of_apple():
        return not cuda_only and min_cuda_compute_capability is None
    if min_cuda_compute_capability is None:
        return True
    import torch

    return torch.cuda.get_device_capability(0) >= tuple(min_cuda_compute_capability)


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Return the name of the first GPU, or an empty string."""
    return "/device:GPU:0" if is_gpu_available() else ""


@export("test.main")
def main(argv: Any = None) -> None:
    """Run the tests of the main module.

    Args:
      argv: the arguments of the command line; `sys.argv` by default.

    Raises:
      SystemExit: always, with a code that says if tests failed.

    Example:
      >>> class SquareTest(tf.test.TestCase): test = lambda self: self.assertEqual(3 ** 2, 9)
      >>> try: tf.test.main()
      ... except SystemExit as end: print("failed" if end.code else "passed")
      passed
    """
    from absl.testing import absltest

    absltest.main(argv=argv)


@export("compat.v2.test.assert_equal_graph_def")
def assert_equal_graph_def_v2(expected: Any, actual: Any) -> None:
    """See `tf.test.assert_equal_graph_def`, whose arguments stand in another order."""
    assert_equal_graph_def(actual, expected)


@export("test.assert_equal_graph_def")
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Assert that two GraphDefs have the same nodes, in any order.

    Raises:
      AssertionError: with the first difference.
      TypeError: if an argument is no GraphDef.
    """
    from stillflow.protos import GraphDef
    from stillflow.testing.graph_differences import difference

    for name, value in (("actual", actual), ("expected", expected)):
        if not isinstance(value, GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(value).__name__}")
    del checkpoint_v2, hash_table_shared_name  # without effect in Python 3, as in TensorFlow
    found = difference(actual, expected)
    if found:
        raise AssertionError(found)
