"""Assertions about arrays, tensors, shapes, devices and messages."""

from __future__ import annotations

import collections.abc
import math
from typing import Any

import numpy as np

from stillflow.graph.device import canonical_name
from stillflow.graph.dtypes import bfloat16
from stillflow.graph.object_arrays import object_array
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor_like
from stillflow.testing.in_functions import py_func_if_in_function
from stillflow.testing.ragged_comparisons import RaggedComparisons, is_ragged

# ruff: noqa: N815 - the names are unittest's


class Comparisons(RaggedComparisons):
    """The assertions of `tf.test.TestCase`; mixed into a `unittest.TestCase`."""

    assertEqual: Any
    assertTrue: Any
    assertCountEqual: Any
    assertGreater: Any
    assertGreaterEqual: Any
    assertLess: Any
    assertLessEqual: Any
    fail: Any
    evaluate: Any

    def _GetNdArray(self, a: Any) -> np.ndarray:
        if isinstance(a, Tensor) or is_tensor_like(a):
            a = self.evaluate(a)
        if isinstance(a, np.ndarray):
            return a
        try:
            return np.array(a)
        except NotImplementedError:  # symbolic tensors, which are compared by identity
            return object_array(a)
        except ValueError:  # nested to different depths
            ragged = np.empty(len(a), dtype=object)
            ragged[:] = a
            return ragged

    @py_func_if_in_function
    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Two numbers are within `err`."""
        note = f" ({msg})" if msg is not None else ""
        close = f1 == f2 or math.fabs(f1 - f2) <= err
        first, second = np.asarray(f1).item(), np.asarray(f2).item()
        self.assertTrue(close, f"{first:f} != {second:f} +/- {err:f}{note}")

    @py_func_if_in_function
    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Two sequences of numbers are within `err`, one by one."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    @py_func_if_in_function
    def assertNDArrayNear(
        self, ndarray1: np.ndarray, ndarray2: np.ndarray, err: float, msg: Any = None
    ) -> None:
        """Assert that the norm of the difference of two arrays is below `err`."""
        self.assertTrue(self._NDArrayNear(ndarray1, ndarray2, err), msg=msg)

    def _NDArrayNear(self, ndarray1: np.ndarray, ndarray2: np.ndarray, err: float) -> bool:
        return bool(np.linalg.norm(ndarray1 - ndarray2) < err)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str) -> None:
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        shapes = f"Shape mismatch: expected {a.shape}, got {b.shape}"
        contents = f" with contents {b}." if b.ndim <= 3 or b.size < 500 else "."
        self.assertEqual(a.shape, b.shape, shapes + contents)
        if np.allclose(a, b, rtol=rtol, atol=atol):
            return
        far = (np.abs(a - b) > atol + rtol * np.abs(b)) | (np.isnan(a) != np.isnan(b))
        x, y = (a[np.where(far)], b[np.where(far)]) if a.ndim else (a, b)
        lines = [
            msg,
            f"not close where = {np.where(far) if a.ndim else ()}",
            f"not close lhs = {x}",
            f"not close rhs = {y}",
            f"not close dif = {np.abs(x - y)}",
            f"not close tol = {atol + rtol * np.abs(y)}",
            f"dtype = {a.dtype}, shape = {a.shape}",
        ]
        np.testing.assert_allclose(
            a, b, rtol=rtol, atol=atol, err_msg="\n".join(lines), equal_nan=True
        )

    def _close(self, a: Any, b: Any, rtol: float, atol: float, path: list[str], msg: str) -> None:
        a = a._asdict() if hasattr(a, "_asdict") else a
        b = b._asdict() if hasattr(b, "_asdict") else b
        where = "".join(f"[{part}]" for part in path)
        a_is_dict = isinstance(a, collections.abc.Mapping)
        if a_is_dict != isinstance(b, collections.abc.Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{where} vs b{where}. {msg}")
        if a_is_dict:
            self.assertCountEqual(
                a.keys(), b.keys(),
                msg=f"mismatched keys: a{where} has keys {a.keys()}, but b{where} has keys "
                f"{b.keys()}. {msg}",
            )  # fmt: skip
            for key in a:
                self._close(a[key], b[key], rtol, atol, [*path, str(key)], msg)
            return
        text = f"Mismatched value: a{where} is different from b{where}. {msg}"
        if not isinstance(a, (list, tuple)):
            self._arrays_close(a, b, rtol, atol, text)
            return
        try:
            self._arrays_close(self._GetNdArray(a), self._GetNdArray(b), rtol, atol, text)
        except (ValueError, TypeError) as error:
            if len(a) != len(b):
                raise ValueError(
                    f"Mismatched length: a{where} has {len(a)} items, but b{where} has {len(b)} "
                    f"items. {msg}"
                ) from error
            for index, (left, right) in enumerate(zip(a, b, strict=True)):
                self._close(left, right, rtol, atol, [*path, str(index)], msg)

    @py_func_if_in_function
    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Two (structures of) arrays or tensors are close."""
        if is_ragged(a) or is_ragged(b):
            self._assertRaggedClose(a, b, rtol, atol, msg)
            return
        self._close(a, b, rtol, atol, [], msg or "")

    @py_func_if_in_function
    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Two arrays are as close as their types allow."""
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        types = {a.dtype, b.dtype}
        looser = (
            ({np.dtype(np.float32), np.dtype(np.complex64)}, float_rtol, float_atol),
            ({np.dtype(np.float16)}, half_rtol, half_atol),
            ({np.dtype(bfloat16.as_numpy_dtype)}, bfloat16_rtol, bfloat16_atol),
        )
        for kinds, kind_rtol, kind_atol in looser:
            if types & kinds:
                rtol, atol = max(rtol, kind_rtol), max(atol, kind_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    @py_func_if_in_function
    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Two arrays are not close everywhere."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    @py_func_if_in_function
    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Two arrays or tensors are equal; NaN equals NaN."""
        if is_ragged(a) or is_ragged(b):
            self._assertRaggedEqual(a, b, msg)
            return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        contents = f" Contents: {b}. \n{msg or ''}." if b.ndim <= 3 or b.size < 500 else ""
        self.assertEqual(
            a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}.{contents}"
        )
        same = a == b
        if a.dtype.kind == "f" or a.dtype == bfloat16.as_numpy_dtype:
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if np.all(same):
            return
        diff = np.logical_not(same)
        x, y = (a[np.where(diff)], b[np.where(diff)]) if a.ndim else (a, b)
        lines = [
            msg or "",
            f"not equal where = {np.where(diff) if a.ndim else ()}",
            f"not equal lhs = {x}",
            f"not equal rhs = {y}",
        ]
        np.testing.assert_array_equal(a, b, err_msg="\n".join(lines))

    @py_func_if_in_function
    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Two arrays differ somewhere."""
        try:
            self.assertAllEqual(a, b, msg)
        except AssertionError:
            return
        raise AssertionError("The two values are equal at all elements")

    @py_func_if_in_function
    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(np.min(self._GetNdArray(a)), comparison_target)

    @py_func_if_in_function
    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(np.max(self._GetNdArray(a)), comparison_target)

    @py_func_if_in_function
    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(np.min(self._GetNdArray(a)), comparison_target)

    @py_func_if_in_function
    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(np.max(self._GetNdArray(a)), comparison_target)

    @py_func_if_in_function
    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements lie in an interval, and none is NaN."""
        target = self._GetNdArray(target)
        if target.dtype.kind not in "fiu":
            raise AssertionError(
                f"The value of {target} does not have an ordered numeric type, instead it has "
                f"type: {target.dtype}"
            )
        nans = np.argwhere(np.isnan(target))
        if nans.size:
            raise AssertionError(
                f"{len(nans)} of the {target.size} element(s) are NaN. Subscripts(s) and value(s) "
                "of the NaN element(s):\n" + "\n".join(self._subscripts(nans, target))
            )
        below = target <= lower_bound if open_lower_bound else target < lower_bound
        above = target >= upper_bound if open_upper_bound else target > upper_bound
        outside = np.argwhere(below | above)
        if outside.size or (not target.ndim and (below | above)):
            left, right = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
            raise AssertionError(
                f"{len(outside)} of the {target.size} element(s) are outside the range "
                f"{left}{lower_bound}, {upper_bound}{right}. Subscript(s) and value(s) of the "
                "offending elements:\n" + "\n".join(self._subscripts(outside, target))
            )

    @staticmethod
    def _subscripts(subscripts: Any, value: np.ndarray, limit: int = 10) -> list[str]:
        lines = [f"  {s} : {value[tuple(s)]}" for s in subscripts[:limit]]
        return [*lines, "  ..."] if len(subscripts) > limit else lines

    @py_func_if_in_function
    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """All elements are among those expected."""
        diff = np.setdiff1d(self._GetNdArray(target).flatten(), list(expected_set))
        if diff.size:
            raise AssertionError(
                f"{diff.size} unique element(s) are not in the set {expected_set}: {diff}"
            )

    @py_func_if_in_function
    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(self._GetNdArray(target).dtype, expected_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        """Assert that an array has the static shape of a tensor."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Two device strings name the same device."""
        first, second = canonical_name(device1), canonical_name(device2)
        self.assertEqual(first, second, f"Devices {first} and {second} are not equal. {msg}")

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        if not actual.startswith(expected_start):
            note = f" : {msg!r}" if msg else ""
            self.fail(f"{actual!r} does not start with {expected_start!r}{note}")

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None
    ) -> None:
        """Assert that a message equals another one, or the one that a text describes."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            from google.protobuf import text_format

            parsed = type(message)()
            pool = type(message).DESCRIPTOR.file.pool
            text_format.Merge(expected, parsed, descriptor_pool=pool)
            expected = parsed
        if not isinstance(expected, type(message)):
            raise AssertionError(
                f"Can't compare protos of type {type(expected)} and {type(message)}. {msg or ''}"
            )
        if expected != message:
            expected, message = rounded(expected), rounded(message)
            self.assertEqual(str(expected), str(message), msg)

    def assertProtoEqualsVersion(
        self,
        expected: str,
        actual: Any,
        producer: int = 134,
        min_consumer: int = 0,
        msg: Any = None,
    ) -> None:
        """Assert like `assertProtoEquals`, with the versions added to the expected text."""
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};\n"
        self.assertProtoEquals(versions + expected, actual, msg=msg)

    def assertItemsEqual(self, first: Any, second: Any, msg: Any = None) -> None:
        self.assertCountEqual(first, second, msg)


def rounded(message: Any) -> Any:
    """Return a copy of a message with its floating-point numbers rounded to six digits."""
    copy = type(message)()
    copy.CopyFrom(message)
    _round(copy)
    return copy


def _round(message: Any) -> None:
    for field, value in message.ListFields():
        repeated = not isinstance(value, (bool, int, float, str, bytes)) and not hasattr(
            value, "ListFields"
        )
        if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            if repeated:
                value[:] = [round(item, 6) for item in value]
            else:
                setattr(message, field.name, round(value, 6))
        elif field.cpp_type == field.CPPTYPE_MESSAGE:
            parts = [value] if not repeated else value
            for part in parts.values() if hasattr(parts, "values") else parts:
                if hasattr(part, "ListFields"):
                    _round(part)
