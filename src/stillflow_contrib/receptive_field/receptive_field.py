"""Receptive field of a network's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Tensor
from stillflow_contrib.receptive_field.compute_order import NodeInfo, get_compute_order
from stillflow_contrib.receptive_field.layer_parameters import get_layer_params


class ReceptiveField:
    """Receptive field of an output's place.

    Args:
      size: of the part of the input, along x and y.
      stride: how far parts of neighbouring outputs are apart.
      padding: how far the first part begins before the input; None where that is not known.
    """

    def __init__(self, size: Any, stride: Any, padding: Any) -> None:
        self.size = np.asarray(size)
        self.stride = np.asarray(stride)
        self.padding = np.asarray(padding)

    def _axes(self, axis: Any, coordinates: np.ndarray, which: str) -> list[int]:
        axes = list(range(self.size.size) if axis is None else axis)
        if coordinates.shape[-1] != len(axes):
            raise ValueError(
                f"Dimensionality of the {which} ({coordinates.shape[-1]:d}) does not match "
                f"dimensionality of `axis` ({len(axes):d})"
            )
        return axes

    def compute_input_center_coordinates(self, y: Any, axis: Sequence[int] | None = None) -> Array:
        """Centers of the parts of the input that outputs see.

        Args:
          y: [..., axes], places of outputs.
          axis: of which axes; all by default.

        Raises:
          ValueError: if there are as many coordinates as axes not.
        """
        y = np.asarray(y)
        axes = self._axes(axis, y, "feature coordinates `y`")
        return -self.padding[axes] + y * self.stride[axes] + (self.size[axes] - 1) / 2

    def compute_feature_coordinates(self, x: Any, axis: Sequence[int] | None = None) -> Array:
        """Places of outputs that see parts of the input around `x`, [..., axes]."""
        x = np.asarray(x)
        axes = self._axes(axis, x, "input center coordinates `x`")
        return (x + self.padding[axes] + (1 - self.size[axes]) / 2) / self.stride[axes]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.concatenate([self.size, self.stride, self.padding]))


@dataclass
class _Sight:
    """Receptive field in a node along one axis."""

    size: Any = 1
    stride: Any = 1
    padding: Any = 0

    def through(self, kernel: Any, stride: Any, padding: Any, known: bool) -> _Sight:
        """Return the receptive field in an input of the node."""
        return _Sight(
            stride * self.size + kernel - stride,
            stride * self.stride,
            stride * self.padding + padding if known else None,
        )

    @property
    def center(self) -> float:
        """The center of the receptive field."""
        center: float = (self.size - 1) / 2 - self.padding
        return center


_DIRECTIONS = ("horizontal", "vertical")
_MEASURES = (("effective stride", "stride"), ("center shift", "center"))


def _check_aligned(before: list[_Sight], seen: list[_Sight]) -> None:
    """Raise an error for a receptive field that differs on another path."""
    for what, attribute in _MEASURES:
        for old, new, direction in zip(before, seen, _DIRECTIONS, strict=True):
            if getattr(old, attribute) != getattr(new, attribute):
                raise ValueError(
                    f"Graph is not aligned since {what} from different paths is different in "
                    f"{direction} direction"
                )


class _Sights:
    """Receptive fields in all nodes, found backwards from the output."""

    def __init__(self, output: str, nodes: dict[str, Any], stops: Sequence[str]) -> None:
        self.of: dict[str, list[_Sight]] = {output: [_Sight(), _Sight()]}
        self._nodes, self._stops = nodes, stops
        # After a padding that is not known, none is any more.
        self._known = True

    def pass_on(self, info: NodeInfo) -> None:
        """Pass the field from a node to its inputs."""
        node = info.node
        layer = get_layer_params(node, self._nodes, info.input_size)
        if layer.padding_x is None or layer.padding_y is None:
            self._known = False
        x, y = self.of[node.name]
        seen = [
            x.through(layer.kernel_size_x, layer.stride_x, layer.padding_x, self._known),
            y.through(layer.kernel_size_y, layer.stride_y, layer.padding_y, self._known),
        ]
        for name in node.input:
            if any(name.startswith(stop) for stop in self._stops) or name.startswith("^"):
                continue
            if name not in self._nodes:
                raise KeyError(name)
            self._add(name, seen)

    def _add(self, name: str, seen: list[_Sight]) -> None:
        """Keep the larger part, if a node is seen on several ways."""
        before = self.of.setdefault(name, list(seen))
        if self._known:
            _check_aligned(before, seen)
        for axis, (old, new) in enumerate(zip(before, seen, strict=True)):
            if old.size < new.size:
                before[axis] = new


def _name(node: Any) -> str:
    name: str = node.op.name if isinstance(node, Tensor) else node
    return name


@export("contrib.receptive_field.compute_receptive_field_from_graph_def")
def compute_receptive_field_from_graph_def(
    graph_def: Any, input_node: Any, output_node: Any,
    stop_propagation: Sequence[str] | None = None, input_resolution: Any = None,
) -> ReceptiveField:  # fmt: skip
    """Return the receptive field of each place of an output in an input.

    Args:
      graph_def: a graph or its GraphDef.
      input_node, output_node: tensors, or names of nodes.
      stop_propagation: beginnings of names of nodes that are left out.
      input_resolution: height and width of the input, where paddings depend on them.

    Returns:
      A `ReceptiveField`, which can be unpacked: size, stride and padding, each along x and y.

    Raises:
      ValueError: for operations that are not known, nodes that are not there, and ways from the
        input to the output that do not fit together.
    """
    if isinstance(graph_def, Graph):
        graph_def = graph_def.as_graph_def()
    first, last = _name(input_node), _name(output_node)
    infos, nodes = get_compute_order(graph_def, first, input_resolution)
    sights = _Sights(last, nodes, stop_propagation or [])
    found = False
    for info in sorted(infos.values(), key=lambda info: -info.order):
        if info.node.name == first:
            break
        found = found or info.node.name == last
        if found and info.node.name in sights.of:
            sights.pass_on(info)
    if not found:
        raise ValueError("Output node was not found")
    if first not in sights.of:
        raise ValueError("Input node was not found")
    x, y = sights.of[first]
    return ReceptiveField((x.size, y.size), (x.stride, y.stride), (x.padding, y.padding))
