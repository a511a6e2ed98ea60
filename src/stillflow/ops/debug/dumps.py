"""Debug dumps in a folder with the layout of TensorFlow's debugger.

    ROOT/_tfdbg_core_metadata_sessionrun<number>_<time>     which run this was
    ROOT/_tfdbg_device_<device>/_tfdbg_graph_hash_<time>    what ran there
    ROOT/_tfdbg_device_<device>/<node>_<slot>_<debug op>_<time>

Each file is one `Event` message. Times are microseconds since 1970.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

METADATA = "_tfdbg_"
CORE = f"{METADATA}core_metadata_"
DEVICE = f"{METADATA}device_"
GRAPH = f"{METADATA}graph_"


def device_folder(device: str) -> str:
    """Return the name of the folder of a device's dumps."""
    return DEVICE + device.replace("/", ",").replace(":", "_")


class DumpWriter:
    """Writer of one run's dumps.

    Args:
      root: the folder; it need not exist.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._last = 0

    def core_metadata(
        self, run: int, step: int, feeds: Iterable[Any], fetches: Iterable[Any],
        targets: Iterable[Any],
    ) -> None:  # fmt: skip
        """Write the number of the session's run, and the names of its feeds and fetches."""
        content = {
            "global_step": step, "session_run_index": run, "executor_step_index": run,
            "input_names": [tensor.name for tensor in feeds],
            "output_names": [tensor.name for tensor in fetches],
            "target_nodes": [op.name for op in targets],
        }  # fmt: skip
        now = self._now()
        event = self._event(now)
        event.log_message.message = json.dumps(content, separators=(",", ":"))
        self._write(os.path.join(self.root, f"{CORE}sessionrun{run:014d}_{now}"), event)

    def graph(self, graph_def: Any, device: str) -> None:
        """Write the graph that ran on a device."""
        now = self._now()
        event = self._event(now)
        event.graph_def = graph_def.SerializeToString()
        folder = os.path.join(self.root, device_folder(device))
        self._write(os.path.join(folder, f"{GRAPH}hash{abs(hash(event.graph_def))}_{now}"), event)

    def tensor(self, device: str, node: str, slot: int, debug_op: str, value: np.ndarray) -> None:
        """Write the value of a tensor."""
        now = self._now()
        event = self._event(now)
        entry = event.summary.value.add(tag=node, node_name=f"{node}:{slot}:{debug_op}")
        _fill(entry.tensor, value)
        entry.metadata.plugin_data.plugin_name = "debugger"
        place = {"device": device, "outputSlot": slot, "numChunks": 1, "chunkIndex": 0}
        content = json.dumps(place, separators=(",", ":")).encode()
        entry.metadata.plugin_data.content = content
        folder = os.path.join(self.root, device_folder(device))
        self._write(os.path.join(folder, *f"{node}_{slot}_{debug_op}_{now}".split("/")), event)

    def _now(self) -> int:
        """Return the time; no two of a run are the same, so that they order the events."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last

    @staticmethod
    def _event(now: int) -> Any:
        from stillflow.protos import Event

        return Event(wall_time=now)

    @staticmethod
    def _write(path: str, event: Any) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(event.SerializeToString())


def _fill(proto: Any, value: np.ndarray) -> None:
    """Put an array into a `TensorProto`, numbers as bytes: no bytes, readers take for no value."""
    from stillflow.graph import dtypes
    from stillflow.graph.tensor_proto import make_tensor_proto

    if value.dtype.hasobject:
        proto.CopyFrom(make_tensor_proto(value))
        return
    proto.dtype = dtypes.as_dtype(value.dtype).as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in value.shape:
        proto.tensor_shape.dim.add(size=size)
    proto.tensor_content = value.tobytes()
