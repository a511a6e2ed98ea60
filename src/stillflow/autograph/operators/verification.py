"""Checks of the results of a condition's branches and a loop's iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stillflow import nest
from stillflow.autograph.operators.special_values import is_undefined, is_undefined_return
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.tensor_like import is_tensor

Names = Sequence[Any] | None
_SCALARS = (bool, int, float, str)


def check_defined_before_loop(values: Iterable[Any]) -> None:
    """Raise ValueError unless every variable of a loop has a value before it."""
    values = tuple(values)
    undefined = tuple(value.symbol_name for value in values if is_undefined(value))
    if undefined:
        raise ValueError(
            "TensorFlow requires that the following symbols must be defined before the loop: "
            f"{undefined}"
        )
    if any(is_undefined_return(value) for value in values):
        raise ValueError("return statements are not supported within a TensorFlow loop.")


def check_defined_in_branch(values: Iterable[Any], branch: str) -> None:
    """Raise ValueError unless every variable has a value after a branch."""
    values = tuple(values)
    undefined = tuple(value.symbol_name for value in values if is_undefined(value))
    if undefined:
        raise ValueError(
            f"The following symbols must also be initialized in the {branch} branch: {undefined}. "
            "Alternatively, you may initialize them before the if statement."
        )
    if any(is_undefined_return(value) for value in values):
        raise ValueError(
            f"A value must also be returned from the {branch} branch. If a value is returned from "
            "one branch of a conditional a value must be returned from all branches."
        )


def check_branches(if_true: Sequence[Any], if_false: Sequence[Any], names: Names) -> None:
    """Raise TypeError unless branches agree in structure and types; without names, never."""

    def check(name: Any, a: Any, b: Any) -> None:
        if a.dtype != b.dtype:
            raise TypeError(
                f'"{name}" has dtype {a.dtype.name} in the TRUE branch, but dtype={b.dtype.name} '
                "in the FALSE branch. TensorFlow control flow requires that they are the same."
            )

    where = "in the TRUE and FALSE branches"
    _check_pairs(if_true, if_false, names, where, check)


def check_iteration(
    before: Sequence[Any], after: Sequence[Any], names: Names, shapes: bool = True
) -> None:
    """Raise TypeError or ValueError unless a loop's variables keep structure, types and shapes.

    Nothing is checked without names.
    """

    def check(name: Any, a: Any, b: Any) -> None:
        if not hasattr(a, "shape") or not hasattr(b, "shape"):
            return
        if a.dtype != b.dtype:
            raise TypeError(
                f'"{name}" has dtype {a.dtype.name} before the loop, but dtype {b.dtype.name} '
                "after one iteration. TensorFlow control flow requires it stays the same."
            )
        if shapes and not _at_least_as_known(a.shape, b.shape):
            raise ValueError(
                f'"{name}" has shape {a.shape} before the loop, but shape {b.shape} after one '
                "iteration. TensorFlow control flow requires it stays the same or be more specific."
            )

    _check_pairs(before, after, names, "after one iteration", check)


def _check_pairs(
    first: Sequence[Any], second: Sequence[Any], names: Names, where: str,
    check: Callable[[Any, Any, Any], None],
) -> None:  # fmt: skip
    if names is None:
        return
    for name, one, other in zip(names, first, second):
        try:
            nest.assert_same_structure(one, other, expand_composites=True)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f'"{name}" does not have the same nested structure {where}.\n\n{error}'
            ) from None
        flat = (nest.flatten(value, expand_composites=True) for value in (one, other))
        for a, b in zip(*flat, strict=True):
            # Numbers become nodes of the graph here, as they do in TensorFlow.
            a, b = (convert_to_tensor(v) if isinstance(v, _SCALARS) else v for v in (a, b))
            if is_tensor(a) and is_tensor(b) and hasattr(a, "dtype") and hasattr(b, "dtype"):
                check(name, a, b)


def _at_least_as_known(before: Any, after: Any) -> bool:
    """Return True if a shape says all that another one does."""
    if before.dims is None:
        return True
    if before.ndims != after.ndims:
        return False
    return all(b is None or b == a for b, a in zip(before.as_list(), after.as_list()))
