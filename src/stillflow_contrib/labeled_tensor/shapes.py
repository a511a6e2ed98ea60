"""Labeled tensors of other shapes: joined, split, reshaped, repeated, padded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axes import Axis, as_axis, concat_axes, size_or_rest
from stillflow_contrib.labeled_tensor.axis_order import AxisOrderError
from stillflow_contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor, name_of


def _all_converted(labeled_tensors: Collection[Any], what: str) -> list[Any]:
    given = [convert_to_labeled_tensor(each) for each in labeled_tensors]
    if not given:
        raise ValueError(f"{what}, but received {given}")
    return given


def _place(names: list[str], name: str) -> int:
    if name not in names:
        raise ValueError(f"{name} not in {names}")
    return names.index(name)


@export("contrib.labeled_tensor.concat")
def concat(
    labeled_tensors: Collection[Any], axis_name: str, name: str | None = None
) -> LabeledTensor:
    """Tensors one behind the other along an axis.

    Raises:
      ValueError: if there is none, the axis is not there, or others differ.
    """
    with tf.name_scope(name, "lt_concat", list(labeled_tensors)) as scope:
        given = _all_converted(labeled_tensors, "concat expects at least 1 tensor")
        axes = given[0].axes
        place = _place(list(axes), axis_name)
        shared = axes.remove(axis_name)
        for each in given[1:]:
            others = each.axes.remove(axis_name)
            if others != shared:
                raise ValueError(
                    f"Mismatched shared axes: the first tensor had axes {shared!r} but this tensor "
                    f"has axes {others!r}."
                )
        joined = concat_axes([each.axes[axis_name] for each in given])
        tensor = tf.concat([each.tensor for each in given], place, name=scope)
        values = list(axes.values())
        return LabeledTensor(tensor, [*values[:place], joined, *values[place + 1 :]])


@export("contrib.labeled_tensor.pack")
def pack(
    labeled_tensors: Collection[Any], new_axis: Any, axis_position: int = 0,
    name: str | None = None,
) -> LabeledTensor:  # fmt: skip
    """Tensors side by side along a new axis.

    Args:
      labeled_tensors: of the same axes.
      new_axis: the name of the new axis, or an argument of `as_axis`.
      axis_position: where it stands among the axes.
      name: of the operation.

    Raises:
      ValueError: if there is none, or axes differ.
    """
    with tf.name_scope(name, "lt_pack", list(labeled_tensors)) as scope:
        given = _all_converted(labeled_tensors, "pack expects at least 1 tensors")
        axes = given[0].axes
        for each in given:
            if each.axes != axes:
                raise ValueError(f"Non-identical axes. Expected {axes} but got {each.axes}")
        packed = tf.stack([each.tensor for each in given], axis=axis_position, name=scope)
        values = list(axes.values())
        values.insert(axis_position, new_axis)
        return LabeledTensor(packed, values)


@export("contrib.labeled_tensor.unpack")
def unpack(
    labeled_tensor: Any, axis_name: str | None = None, name: str | None = None
) -> list[LabeledTensor]:
    """Return the parts of a tensor along an axis, by default the first.

    Raises:
      ValueError: if the axis is not there.
    """
    with tf.name_scope(name, "lt_unpack", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        names = list(given.axes)
        place = _place(names, names[0] if axis_name is None else axis_name)
        parts = tf.unstack(given.tensor, axis=place, name=scope)
        axes = [axis for axis in given.axes.values() if axis.name != names[place]]
        return [LabeledTensor(part, axes) for part in parts]


@export("contrib.labeled_tensor.reshape")
def reshape(
    labeled_tensor: Any, existing_axes: Collection[str], new_axes: Collection[Any],
    name: str | None = None,
) -> LabeledTensor:  # fmt: skip
    """Others in the place of some axes.

    Args:
      labeled_tensor: the tensor.
      existing_axes: names of axes that stand side by side.
      new_axes: names, of which one may be of unknown size, and arguments of `as_axis`.
      name: of the operation.

    Raises:
      ValueError: if axes are not there, or sizes not known.
      AxisOrderError: if they do not stand side by side.
    """
    with tf.name_scope(name, "lt_reshape", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        names, existing = list(given.axes), list(existing_axes)
        if not set(existing) <= set(names):
            raise ValueError(
                f"existing_axes {existing!r} are not contained in the set of axis names {names!r} "
                "on the input labeled tensor"
            )
        start, stop = names.index(existing[0]), names.index(existing[-1]) + 1
        if existing != names[start:stop]:
            raise AxisOrderError(
                f"existing_axes {existing!r} are not a slice of axis names {names!r} on the input "
                "labeled tensor. Use `transpose` or `impose_axis_order` to reorder axes on the "
                "input explicitly."
            )
        if sum(isinstance(axis, str) for axis in new_axes) > 1:
            raise ValueError(
                "at most one axis in new_axes can have unknown size. All other axes must have an "
                f"indicated integer size or labels: {new_axes!r}"
            )
        values = list(given.axes.values())
        axes = [*values[:start], *new_axes, *values[stop:]]
        shape = [-1 if isinstance(axis, str) else size_or_rest(as_axis(axis)) for axis in axes]
        return LabeledTensor(tf.reshape(given.tensor, shape, name=scope), axes)


@export("contrib.labeled_tensor.rename_axis")
def rename_axis(
    labeled_tensor: Any, existing_name: str, new_name: str, name: str | None = None
) -> LabeledTensor:
    """Another name for an axis.

    Raises:
      ValueError: if it is not there.
    """
    with tf.name_scope(name, "lt_rename_axis", [labeled_tensor]) as scope:
        axes = labeled_tensor.axes
        if existing_name not in axes:
            raise ValueError(
                f"existing_name {existing_name!r} are not contained in the set of axis names "
                f"{axes.keys()!r} on the input labeled tensor"
            )
        axis = Axis(new_name, axes[existing_name].value)
        return reshape(labeled_tensor, [existing_name], [axis], name=scope)


def _check_contained(names: Collection[str], given: Any, what: str) -> None:
    if not set(names) <= set(given.axes):
        raise ValueError(
            f"{what} axes {names!r} are not contained in the set of axis names {given.axes!r} on "
            "the input labeled tensor"
        )


@export("contrib.labeled_tensor.tile")
def tile(
    labeled_tensor: Any, multiples: Mapping[str, Any], name: str | None = None
) -> LabeledTensor:
    """Return a tensor repeated along axes without labels.

    Args:
      labeled_tensor: the tensor.
      multiples: {name of an axis: how often}.
      name: of the operation.

    Raises:
      ValueError: if an axis is not there, or has labels.
    """
    with tf.name_scope(name, "lt_tile", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        _check_contained(multiples.keys(), given, "tile")
        labelled = [each for each in multiples if given.axes[each].labels is not None]
        if labelled:
            raise ValueError(f"cannot tile axes with tick labels: {labelled!r}")
        times = [multiples.get(each, 1) for each in given.axes]
        axes = [axis.name if axis.labels is None else axis for axis in given.axes.values()]
        return LabeledTensor(tf.tile(given.tensor, times, name=scope), axes)


@export("contrib.labeled_tensor.pad")
def pad(
    labeled_tensor: Any, paddings: Mapping[str, tuple[Any, Any]], mode: str = "CONSTANT",
    name: str | None = None,
) -> LabeledTensor:  # fmt: skip
    """Return a tensor with more before and behind.

    Args:
      labeled_tensor: the tensor.
      paddings: {name of an axis: (sizes or labels before, and behind)}.
      mode: as of `tf.pad`.
      name: of the operation.

    Raises:
      ValueError: if an axis is not there.
    """
    with tf.name_scope(name, "lt_pad", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        _check_contained(paddings.keys(), given, "pad")
        axes, sizes = [], []
        for each, axis in given.axes.items():
            if each in paddings:
                before, behind = (Axis(each, value) for value in paddings[each])
                axes.append(concat_axes([before, axis, behind]))
                sizes.append((len(before), len(behind)))
            else:
                axes.append(axis)
                sizes.append((0, 0))
        return LabeledTensor(tf.pad(given.tensor, sizes, mode, name=scope), axes)


@export("contrib.labeled_tensor.ReshapeCoder")
class ReshapeCoder:
    """Reshapes tensors, and others back that came of them.

    Args:
      existing_axis_names: names of axes that stand side by side.
      new_axes: the new axes; see `reshape`.
      name: of the operations.
    """

    def __init__(
        self, existing_axis_names: Collection[str], new_axes: Collection[Any],
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._name, self._new_axes = name, new_axes
        self._existing_names = existing_axis_names
        self._existing: list[Axis] | None = None

    def encode(self, labeled_tensor: Any) -> LabeledTensor:
        """Return the tensor with the new axes.

        Raises:
          ValueError: if the old ones are others than those of a call before.
        """
        with tf.name_scope(self._name, "lt_reshape_encode", [labeled_tensor]) as scope:
            given = convert_to_labeled_tensor(labeled_tensor)
            encoded = reshape(given, self._existing_names, self._new_axes, name=scope)
            before, axes = self._existing, [given.axes[name] for name in self._existing_names]
            if before not in (None, axes):
                raise ValueError(
                    f"input axes {axes!r} do not match axes from previous method call {before!r}"
                )
            self._existing = axes
            return encoded

    def decode(self, labeled_tensor: Any) -> LabeledTensor:
        """Return the tensor with the old axes.

        Raises:
          ValueError: if nothing was encoded before.
        """
        if self._existing is None:
            raise ValueError("decode called before encode")
        with tf.name_scope(self._name, "lt_reshape_decode", [labeled_tensor]) as scope:
            given = convert_to_labeled_tensor(labeled_tensor)
            names = [name_of(axis) for axis in self._new_axes]
            return reshape(given, names, self._existing, name=scope)
