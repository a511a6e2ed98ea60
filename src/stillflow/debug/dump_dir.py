"""`DebugDumpDir`: the dumps of a watched run in a folder."""

from __future__ import annotations

import glob
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from stillflow.debug.dumped_graph import DumpedGraph
from stillflow.debug.tensor_dump import DebugTensorDatum, device_name
from stillflow.graph.graph import Graph
from stillflow.ops.debug.dumps import CORE, DEVICE, GRAPH, METADATA

FETCHES = f"{METADATA}fetches_info_"
FEEDS = f"{METADATA}feed_keys_info_"


class CoreMetadata(NamedTuple):
    """Core metadata: the run's number, feeds and fetches."""

    global_step: int
    session_run_index: int
    executor_step_index: int
    input_names: list[str]
    output_names: list[str]
    target_nodes: list[str]


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """There is no dump of that tensor and debug op."""


class DebugDumpDir:
    """Dumps of a watched run in a folder, written by TensorFlow or by us.

    Args:
      dump_root: the folder.
      partition_graphs: `GraphDef`s of what ran, for dumps without.
      validate: whether to check that what was dumped fits the graphs.

    Raises:
      IOError: if there is no such folder.
      ValueError: if a file has a name that no dump has, or the check fails.
    """

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._dump_root = dump_root
        self._data: dict[str, list[DebugTensorDatum]] = {}
        self._graphs: dict[str, DumpedGraph] = {}
        self._python_graph: Any = None
        self._load(partition_graphs)
        self._by_key: dict[str, dict[str, list[DebugTensorDatum]]] = {}
        for device, data in self._data.items():
            by_key = self._by_key[device] = defaultdict(list)
            for datum in data:
                by_key[datum.watch_key].append(datum)
        if validate:
            self._validate()

    def _load(self, partition_graphs: Any) -> None:
        for folder in sorted(glob.glob(os.path.join(glob.escape(self._dump_root), f"{DEVICE}*"))):
            device = device_name(os.path.basename(folder))
            self._data[device] = []
            for parent, _, files in os.walk(folder):
                for file in sorted(files):
                    path = os.path.join(parent, file)
                    if not file.startswith(METADATA):
                        inside = os.path.relpath(path, self._dump_root)
                        self._data[device].append(DebugTensorDatum(self._dump_root, inside))
                    elif file.startswith(GRAPH) and device not in self._graphs:
                        self._graphs[device] = DumpedGraph(_graph_def(path))
            self._data[device].sort(key=lambda datum: datum.timestamp)
        for graph_def in partition_graphs or ():
            device = next((node.device for node in graph_def.node if node.device), "")
            self._graphs.setdefault(device, DumpedGraph(graph_def))
            self._data.setdefault(device, [])

    def _validate(self) -> None:
        for device, graph in self._graphs.items():
            first: dict[tuple[str, int], int] = {}
            for datum in self._data[device]:
                if datum.node_name not in graph.nodes:
                    raise ValueError(
                        f"Node name '{datum.node_name}' is not found in partition graphs of "
                        f"device {device}."
                    )
                first.setdefault((datum.node_name, datum.output_slot), datum.timestamp)
            for (node, _), time in first.items():
                for source in graph.sources[node]:
                    if graph.nodes[node].op in ("Merge", "RefMerge"):
                        continue  # takes the first entry; the rest may come later
                    if first.get(source, time) > time:
                        raise ValueError(
                            "Causality violated in timing relations of debug dumps: "
                            f"{source[0]}:{source[1]}, an input of {node}, was dumped after it"
                        )

    # ---- the run

    @property
    def core_metadata(self) -> Any:
        """A `CoreMetadata`, or a list of them if there were several runs; None if not known."""
        found = [
            CoreMetadata(**json.loads(_event(path).log_message.message))
            for path in sorted(glob.glob(self._glob(f"{CORE}*")))
        ]
        if not found:
            return None
        return found[0] if len(found) == 1 else found

    @property
    def run_fetches_info(self) -> str:
        """The fetches of the run, as text; a list if there were several."""
        return self._infos(FETCHES)

    @property
    def run_feed_keys_info(self) -> str:
        """The feeds of the run, as text; a list if there were several."""
        return self._infos(FEEDS)

    def _infos(self, prefix: str) -> Any:
        found = [_event(path).log_message.message for path in glob.glob(self._glob(f"{prefix}*"))]
        return found[0] if len(found) == 1 else found

    def _glob(self, pattern: str) -> str:
        return os.path.join(glob.escape(self._dump_root), pattern)

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All that was dumped, in order of time."""
        data = [datum for device in self._data.values() for datum in device]
        return sorted(data, key=lambda datum: datum.extended_timestamp)

    @property
    def t0(self) -> int | None:
        """When the first tensor was dumped, in microseconds since 1970."""
        return min((datum.timestamp for datum in self.dumped_tensor_data), default=None)

    @property
    def size(self) -> int:
        """The number of dumped tensors."""
        return sum(map(len, self._data.values()))

    # ---- the graph

    def devices(self) -> list[str]:
        """Return the devices that something ran on."""
        return list(self._graphs or self._data)

    def partition_graphs(self) -> list[Any]:
        """Return the dumped graph of each device.

        Raises:
          LookupError: if that was not dumped.
        """
        self._need_graphs()
        return [graph.debug_graph_def for graph in self._graphs.values()]

    def reconstructed_non_debug_partition_graphs(self) -> dict[str, Any]:
        """Return each device's graph without debug nodes; `GraphDef`s by device."""
        self._need_graphs()
        return {device: graph.graph_def for device, graph in self._graphs.items()}

    def loaded_partition_graphs(self) -> bool:
        """Return True if the graphs that ran are known."""
        return bool(self._graphs)

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Return the names of all nodes, or of those on a device."""
        self._need_graphs()
        if device_name is not None:
            return list(self._graph(device_name).nodes)
        return [name for graph in self._graphs.values() for name in graph.nodes]

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Return True if there is such a node (on that device)."""
        self._need_graphs()
        graphs = self._graphs.values() if device_name is None else [self._graph(device_name)]
        return any(node_name in graph.nodes for graph in graphs)

    def node_device(self, node_name: str) -> Any:
        """Return the device of a node, or a list of them."""
        found = [device for device, graph in self._graphs.items() if node_name in graph.nodes]
        if not found:
            raise ValueError(f"Node '{node_name}' does not exist in partition graphs.")
        return found[0] if len(found) == 1 else found

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Return the type of a node."""
        op: str = self._of(node_name, device_name).nodes[node_name].op
        return op

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Any:
        """Return the attributes of a node, by name."""
        return self._of(node_name, device_name).nodes[node_name].attr

    def node_inputs(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Return the nodes whose outputs (or completion, if `is_control`) a node waits for."""
        graph = self._of(node_name, device_name)
        return (graph.controls if is_control else graph.inputs)[node_name]

    def node_recipients(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Return the nodes that take a node's outputs, or wait for its completion."""
        graph = self._of(node_name, device_name)
        return (graph.control_recipients if is_control else graph.recipients)[node_name]

    def transitive_inputs(
        self,
        node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str]:
        """All nodes that a node depends on, nearest first."""
        graph = self._of(node_name, device_name)
        return graph.all_before(
            node_name, lambda name: graph.before(name, include_control, include_reversed_ref)
        )

    def find_some_path(
        self,
        src_node_name: str,
        dst_node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str] | None:
        """Return a shortest path from one node to another, both included; None if there is none."""
        graph = self._of(src_node_name, device_name)
        if dst_node_name not in graph.nodes:
            return None
        return graph.path(
            src_node_name,
            dst_node_name,
            lambda name: graph.before(name, include_control, include_reversed_ref),
        )

    @property
    def python_graph(self) -> Graph:
        """The `tf.Graph` that ran, if it is known."""
        return self._python_graph

    def set_python_graph(self, python_graph: Any) -> None:
        """Set the `tf.Graph` of the run, for `node_traceback`."""
        self._python_graph = python_graph

    def node_traceback(self, element_name: str) -> list[tuple[str, int, str, str]]:
        """Return the stack of an operation's creation, outermost frame first.

        Args:
          element_name: an operation or tensor.

        Raises:
          LookupError: if `set_python_graph` was not called.
          KeyError: if the graph has no such operation.
        """
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        name = element_name.partition(":")[0]
        try:
            return self._python_graph.get_operation_by_name(name).traceback
        except KeyError:
            raise KeyError(f"Cannot find node '{name}' in Python graph") from None

    # ---- tensors

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Return the debug watches of a node, as "a:0:DebugIdentity"."""
        keys = [
            key for device, by_key in self._by_key.items() for key in by_key
            if device_name in (None, device)
        ]  # fmt: skip
        return [key for key in dict.fromkeys(keys) if key.rsplit(":", 2)[0] == node_name]

    def watch_key_to_data(
        self, debug_watch_key: str, device_name: str | None = None
    ) -> list[DebugTensorDatum]:
        """Return the dumps of a key, in order of time."""
        return [
            datum for device, by_key in self._by_key.items() if device_name in (None, device)
            for datum in by_key.get(debug_watch_key, ())
        ]  # fmt: skip

    def find(
        self,
        predicate: Callable[[DebugTensorDatum, Any], bool],
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:
        """Return the dumps that a filter holds for.

        Args:
          predicate: takes a `DebugTensorDatum` and its value.
          first_n: gives that many at most; 0 for all.
          device_name: looks only there.
          exclude_node_names: leaves out nodes whose names match this.
        """
        found = []
        for datum in self.dumped_tensor_data:
            if device_name not in (None, datum.device_name):
                continue
            if exclude_node_names and re.match(exclude_node_names, datum.node_name):
                continue
            if predicate(datum, datum.get_tensor()):
                found.append(datum)
                if first_n and len(found) >= first_n:
                    break
        return found

    def get_tensors(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[Any]:
        """Return the values dumped of a tensor, in order of time.

        Raises:
          WatchKeyDoesNotExistInDebugDumpDirError: if there is none.
        """
        data = self._dumps(node_name, output_slot, debug_op, device_name)
        return [datum.get_tensor() for datum in data]

    def get_tensor_file_paths(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[str]:
        """Return the files of a tensor's dumps; raises as `get_tensors`."""
        data = self._dumps(node_name, output_slot, debug_op, device_name)
        return [datum.file_path for datum in data]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """When a tensor was dumped, in microseconds since the first dump; raises as above."""
        data = self._dumps(node_name, output_slot, debug_op, device_name)
        start = self.t0 or 0
        return [datum.timestamp - start for datum in data]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Return the sizes of a tensor's dump files; raise as `get_tensors` does."""
        data = self._dumps(node_name, output_slot, debug_op, device_name)
        return [datum.dump_size_bytes for datum in data]

    def _dumps(
        self, node_name: str, output_slot: int, debug_op: str, device: str | None
    ) -> list[DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        found = self.watch_key_to_data(key, device)
        if not found:
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                f'Watch key "{key}" does not exist in the debug dump of device {device}'
            )
        return found

    def _need_graphs(self) -> None:
        if not self._graphs:
            raise LookupError("No partition graphs have been loaded.")

    def _graph(self, device: str) -> DumpedGraph:
        if device not in self._graphs:
            raise ValueError(f"Invalid device name: {device}")
        return self._graphs[device]

    def _of(self, node_name: str, device: str | None) -> DumpedGraph:
        """Return the graph that a node is in."""
        self._need_graphs()
        devices: Collection[str] = self._graphs if device is None else [device]
        found = [name for name in devices if node_name in self._graph(name).nodes]
        if not found:
            raise ValueError(
                f"None of the {len(self._graphs)} device(s) has a node named '{node_name}'."
            )
        if len(found) > 1:
            raise ValueError(
                f"There are multiple ({len(found)}) devices with nodes named '{node_name}' but "
                "device_name is not specified."
            )
        return self._graphs[found[0]]


def _event(path: str) -> Any:
    from stillflow.protos import Event

    with open(path, "rb") as file:
        return Event.FromString(file.read())


def _graph_def(path: str) -> Any:
    from stillflow.protos import GraphDef

    return GraphDef.FromString(_event(path).graph_def)
