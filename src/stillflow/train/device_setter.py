"""A device function that spreads variables over parameter servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from stillflow.graph.device import DeviceSpec
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.cluster_spec import ClusterSpec

# Operations that hold state, and so belong on parameter servers.
STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
)


class RoundRobin:
    """Chooses one task after the other."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, unused_op: Any) -> int:
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return task


class DeviceChooser:
    """Device function that sends operations to parameter servers or to the worker.

    Args:
      ps_tasks: the number of parameter servers.
      ps_device: where they are.
      worker_device: where the worker is.
      merge_devices: whether devices are merged with those of scopes around and inside.
      ps_ops: types of operations that hold state.
      ps_strategy: chooses a parameter server for an operation.
    """

    def __init__(
        self,
        ps_tasks: int,
        ps_device: str,
        worker_device: str,
        merge_devices: bool,
        ps_ops: Collection[str],
        ps_strategy: Callable[[Any], int],
    ) -> None:
        self._ps_device = ps_device if ps_tasks else ""
        self._worker_device = worker_device
        self._merge_devices = merge_devices
        self._ps_ops = frozenset(ps_ops)
        self._ps_strategy = ps_strategy

    def device_function(self, op: Any) -> str:
        """Return the device of an `Operation` or `NodeDef`."""
        if not self._merge_devices and op.device:
            return str(op.device)
        current = DeviceSpec.from_string(op.device or "")
        node_def = getattr(op, "node_def", op)
        chosen = DeviceSpec.from_string(self._worker_device or "")
        if self._ps_device and node_def.op in self._ps_ops:
            chosen = DeviceSpec.from_string(self._ps_device)
            if chosen.job and current.job in (None, "", chosen.job):
                chosen = chosen.replace(task=self._ps_strategy(op))
        return chosen.make_merged_spec(current).to_string()


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Return a device function: state on parameter servers, all else on the worker.

    Args:
      ps_tasks: the number of parameter servers; ignored if `cluster` is given.
      ps_device: where they are.
      worker_device: where the worker is.
      merge_devices: whether devices are merged with those of scopes around and inside, rather
        than only given to operations that have none.
      cluster: a `ClusterSpec`, or an argument for one.
      ps_ops: types of operations that hold state.
      ps_strategy: chooses a parameter server for an operation; one after the other by default.

    Returns:
      The function; None if there is no parameter server.

    Raises:
      TypeError: if `cluster` or `ps_strategy` is of the wrong kind.

    Example:
      >>> setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:7")
      >>> with tf.device(setter): v, w, y = tf.Variable(1.0), tf.Variable(2.0), tf.constant(3.0)
      >>> v.device, w.device, y.device
      ('/job:ps/task:0', '/job:ps/task:1', '/job:worker/task:7')
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_job = DeviceSpec.from_string(ps_device).job
        if jobs.get(ps_job) is None:
            return None
        ps_tasks = len(jobs[ps_job])
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logging.warning(
            "DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter"
        )
    choose = RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(choose):
        raise TypeError("ps_strategy must be callable")
    state_ops = STANDARD_PS_OPS if ps_ops is None else ps_ops
    chooser = DeviceChooser(ps_tasks, ps_device, worker_device, merge_devices, state_ops, choose)
    return chooser.device_function
