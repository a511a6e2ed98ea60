"""TensorArrays go through branches and loops as their flow, and become TensorArrays again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest


def is_tensor_array(value: Any) -> bool:
    return hasattr(type(value), "_with_flow")


def flow_of(value: Any) -> Any:
    """Return the flow of a TensorArray; anything else as it is."""
    return value.flow if is_tensor_array(value) else value


def like(original: Any, tensor: Any) -> Any:
    """`tensor`, or the TensorArray it is the flow of if `original` is one."""
    return original._with_flow(tensor) if is_tensor_array(original) else tensor


def all_like(originals: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return each of `tensors` in the form of the original at the same position."""
    if len(originals) != len(tensors):
        raise ValueError(
            "Lengths of original Tensor list and new list do not match: "
            f"{len(originals)} vs. {len(tensors)}"
        )
    return [like(original, tensor) for original, tensor in zip(originals, tensors, strict=True)]


def packed(structure: Any, tensors: Sequence[Any]) -> Any:
    """`tensors` in a structure; flows become TensorArrays where it has such."""
    originals = nest.flatten(structure, expand_composites=True)
    return nest.pack_sequence_as(structure, all_like(originals, tensors), expand_composites=True)
