"""Running the function of each task of a cluster, with a strategy that knows which task it is."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from typing import Any

from stillflow.distribute import cluster_tasks, worker_context
from stillflow.estimator.cluster_task import TaskType
from stillflow.estimator.cluster_task import environment as tf_config
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.protos import ConfigProto
from stillflow.runtime.session.session import Session
from stillflow.train.cluster_spec import ClusterSpec
from stillflow.train.coordinator import Coordinator
from stillflow.train.server import Server
from stillflow.train.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)

_WORKERS = (TaskType.CHIEF, TaskType.WORKER)
Function = Callable[[Any], Any]


class CoordinatorMode:
    """Places where workers' functions run."""

    STANDALONE_CLIENT = "standalone_client"  # in one client, whose sessions name servers
    INDEPENDENT_WORKER = "independent_worker"  # each in a process that is a server as well


class WorkerContext:
    """Position in the cluster of a task's function.

    Args:
      strategy: a strategy configured for the task; None if there is none.
      cluster_spec: a `ClusterSpec`, or None where there is no cluster.
      task_type: the job; None for a client that builds the graph of all tasks.
      task_id: the index in the job.
      session_config: a `ConfigProto` of the task's sessions.
      rpc_layer: the protocol of targets.
      worker_barrier: where workers of this process wait for each other.
    """

    def __init__(
        self, strategy: Any, cluster_spec: Any, task_type: str | None, task_id: int | None,
        session_config: Any = None, rpc_layer: str | None = "grpc", worker_barrier: Any = None,
    ) -> None:  # fmt: skip
        self._strategy, self._cluster_spec = strategy, cluster_spec
        self.task_type, self.task_id = task_type, task_id
        self._session_config, self._rpc_layer = session_config, rpc_layer
        self._barrier = worker_barrier
        self.master_target = self._target()
        jobs = cluster_spec.as_dict() if cluster_spec else {}
        self.num_workers = sum(len(jobs.get(job, [])) for job in _WORKERS)
        first = TaskType.CHIEF not in jobs and (task_type, task_id) == (TaskType.WORKER, 0)
        alone = task_type in (TaskType.CHIEF, TaskType.EVALUATOR, None)
        self.is_chief = not cluster_spec or alone or first

    def _target(self) -> str:
        if not self._cluster_spec:
            return ""
        task_type, task_id = self.task_type, self.task_id
        if not task_type:
            chief = TaskType.CHIEF in self._cluster_spec.jobs
            task_type, task_id = TaskType.CHIEF if chief else TaskType.WORKER, 0
        address = self._cluster_spec.job_tasks(task_type)[task_id or 0]
        return f"{self._rpc_layer}://{address}" if self._rpc_layer else str(address)

    def __enter__(self) -> WorkerContext:
        if worker_context.current() is not None:
            where = "[local]"
            if self._cluster_spec:
                where = (
                    f"[cluster_spec: {self._cluster_spec!r}, task_type: {self.task_type!r}, "
                    f"task_id: {self.task_id!r}]"
                )
            raise ValueError(f"You cannot run distribute coordinator in a `worker_fn`.\t{where}")
        worker_context.set_current(self)
        return self

    def __exit__(self, *details: object) -> None:
        worker_context.set_current(None)

    def wait_for_other_workers(self) -> None:
        """Wait until the functions of all workers of this process are at such a call."""
        if self._barrier is not None:
            self._barrier.wait()

    def session_creator(
        self, scaffold: Any = None, config: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, max_wait_secs: float = 7200,
    ) -> SessionCreator:  # fmt: skip
        """Make sessions of the task: the strategy says whether they initialize, or wait for it.

        Args:
          scaffold: a `Scaffold`.
          config: a `ConfigProto`; what the strategy wants is merged into it.
          checkpoint_dir, checkpoint_filename_with_path: what variables are restored from.
          max_wait_secs: how long to wait for the chief.
        """
        session_config = self._session_config
        if config:
            session_config = copy.deepcopy(config)
            session_config.MergeFrom(self._session_config)
        if not self._strategy or self._strategy.extended.experimental_should_init:
            return ChiefSessionCreator(
                scaffold, self.master_target, session_config, checkpoint_dir,
                checkpoint_filename_with_path,
            )  # fmt: skip
        return WorkerSessionCreator(scaffold, self.master_target, session_config, max_wait_secs)

    @property
    def session_config(self) -> Any:
        return copy.deepcopy(self._session_config)

    @property
    def has_barrier(self) -> bool:
        return self._barrier is not None

    @property
    def distributed_mode(self) -> bool:
        """True if the task is one of several that train."""
        return bool(self._cluster_spec) and self.task_type != TaskType.EVALUATOR

    @property
    def cluster_spec(self) -> ClusterSpec:
        return copy.deepcopy(self._cluster_spec)

    @property
    def folder_of_others(self) -> str:
        """The folder for workers other than the chief, which all run the saving operations.

        "" if only the chief runs that.
        """
        if not getattr(self._strategy.extended, "saves_together", False):
            return ""
        return f"tmp_{self.task_type}_{self.task_id}" if self.task_type else "tmp"

    @property
    def experimental_should_init(self) -> bool:
        return bool(self._strategy.extended.experimental_should_init)

    @property
    def should_checkpoint(self) -> bool:
        return bool(self._strategy.extended.should_checkpoint)

    @property
    def should_save_summary(self) -> bool:
        return bool(self._strategy.extended.should_save_summary)


def run_distribute_coordinator(
    worker_fn: Function, strategy: Any, eval_fn: Function | None = None,
    eval_strategy: Any = None, mode: str = CoordinatorMode.STANDALONE_CLIENT,
    cluster_spec: Any = None, task_type: str | None = None, task_id: int | None = None,
    session_config: Any = None, rpc_layer: str | None = "grpc",
) -> Any:  # fmt: skip
    """Call the functions of tasks, or let this process serve, as its task asks for.

    `worker_fn(strategy)` is what a worker does, with a copy that is configured for it;
    `worker_context.current()` tells it its place. An evaluator calls `eval_fn`, or if None
    `worker_fn`. TF_CONFIG gives the cluster if None, and then this process's task if it names one.
    Returns what the function gives, where this process calls one for itself; ValueError for a mode,
    cluster or task that there is not.
    """
    settings = tf_config()
    if not cluster_spec:
        cluster_spec = settings.get("cluster", {})
        if task := settings.get("task", {}):
            task_type = task.get("type", task_type)
            task_id = int(task.get("index", task_id))
    rpc_layer = settings.get("rpc_layer", rpc_layer)
    environment = settings.get("environment")
    config = session_config or ConfigProto(allow_soft_placement=True)
    if not cluster_spec:
        return _run_local(worker_fn, strategy, eval_fn, eval_strategy, config, rpc_layer)
    spec = cluster_tasks.normalize_cluster_spec(cluster_spec)
    cluster = _Cluster(spec, config, rpc_layer, environment)
    workers, evaluators = (worker_fn, strategy), (eval_fn or worker_fn, eval_strategy)
    if mode == CoordinatorMode.INDEPENDENT_WORKER:
        return cluster.run_task(workers, evaluators, task_type, task_id)
    if mode != CoordinatorMode.STANDALONE_CLIENT:
        raise ValueError(f"Unexpected coordinator mode: {mode!r}")
    if task_type in ("client", None):
        return cluster.run_client(workers, evaluators)
    cluster.serve(workers, evaluators, task_type, task_id).join()
    return None


def _run_local(
    worker_fn: Function, strategy: Any, eval_fn: Function | None, eval_strategy: Any,
    config: Any, rpc_layer: str | None,
) -> None:  # fmt: skip
    logging.info("Running local Distribute Coordinator.")
    alone = _Cluster(None, config, rpc_layer)
    alone.run_function((worker_fn, strategy), None, None)
    if eval_fn:
        alone.run_function((eval_fn, eval_strategy), None, None)
    else:
        logging.warning("Skipped evaluation since `eval_fn` is not passed in.")


class _Cluster:
    """The tasks whose functions are to run."""

    def __init__(
        self, spec: Any, config: Any, rpc_layer: str | None, environment: str | None = None
    ) -> None:
        self._spec, self._config, self._rpc_layer = spec, config, rpc_layer
        self._environment = environment

    def run_function(
        self, task: tuple[Function, Any], task_type: str | None, task_id: int | None,
        barrier: Any = None,
    ) -> Any:  # fmt: skip
        """Call a function with a copy of its strategy, configured for the task."""
        function, strategy = task
        config, strategy = copy.deepcopy(self._config), copy.deepcopy(strategy)
        if task_type != TaskType.EVALUATOR:
            assert strategy
            strategy.configure(config, self._spec, task_type, task_id)
        elif strategy:
            strategy.configure(config)
        with WorkerContext(
            strategy, self._spec, task_type, task_id, config, self._rpc_layer, barrier
        ):
            return function(strategy)

    def run_task(self, workers: Any, evaluators: Any, task_type: Any, task_id: Any) -> Any:
        """Start a server, and call the function of the task."""
        server = self.serve(workers, evaluators, task_type, task_id)
        if task_type == TaskType.EVALUATOR:
            return self.run_function(evaluators, task_type, task_id)
        if task_type == TaskType.PS:
            return server.join()
        if task_type not in _WORKERS:
            raise ValueError(f"Unexpected task_type: {task_type!r}")
        _, strategy = workers
        if strategy.extended.experimental_between_graph:
            return self.run_function(workers, task_type, task_id)
        if WorkerContext(strategy, self._spec, task_type, task_id).is_chief:
            return self.run_function(workers, None, None)
        return server.join()

    def serve(self, workers: Any, evaluators: Any, task_type: Any, task_id: Any) -> Server:
        """Return the server of a task, which runs from now on.

        What the strategy adds to the settings of sessions is the server's and the function's.
        """
        config = self._config
        if task_type == TaskType.EVALUATOR:
            if evaluators[1]:
                evaluators[1].configure(session_config=config)
        else:
            copied = copy.deepcopy(workers[1])
            copied.configure(config, self._spec, task_type, task_id)
        del config.device_filters[:]  # those of sessions, not of servers
        return _run_std_server(
            cluster_spec=self._spec, task_type=task_type, task_id=task_id, session_config=config,
            rpc_layer=self._rpc_layer, environment=self._environment,
        )  # fmt: skip

    def run_client(self, workers: Any, evaluators: Any) -> Any:
        """Call the functions of all tasks in threads; sessions connect to the tasks' servers."""
        coord = Coordinator()
        calls: list[tuple[Any, ...]] = []
        if TaskType.EVALUATOR in self._spec.jobs:
            calls.append((evaluators, TaskType.EVALUATOR, 0))
        result = None
        if workers[1].extended.experimental_between_graph:
            tasks = [(job, index) for job in _WORKERS for index in range(self._count(job))]
            barrier = _Barrier(len(tasks))
            calls += [(workers, job, index, barrier) for job, index in tasks]
        threads = [threading.Thread(target=self._in_thread, args=(coord, call)) for call in calls]
        for thread in threads:
            thread.start()
        if not workers[1].extended.experimental_between_graph:
            with coord.stop_on_exception():
                result = self.run_function(workers, None, None)
        coord.join(threads)
        return result

    def _in_thread(self, coord: Coordinator, call: tuple[Any, ...]) -> None:
        with coord.stop_on_exception():
            self.run_function(*call)

    def _count(self, job: str) -> int:
        return int(self._spec.num_tasks(job)) if job in self._spec.jobs else 0


class _RemoteServer:
    """A server that runs elsewhere, and starts when a session connects to it."""

    def __init__(self, target: str, config: Any) -> None:
        self._target, self._config = target, config

    def start(self) -> None:
        logging.info(
            "Creating a remote session to start a TensorFlow server, target = %r, "
            "session_config=%r", self._target, self._config,
        )  # fmt: skip
        Session(target=self._target, config=self._config)

    def join(self) -> None:
        while True:
            time.sleep(5)


# Names that TensorFlow's module has, too: programs replace the function to serve by themselves.
_Barrier, _TaskType, _WorkerContext = threading.Barrier, TaskType, WorkerContext
_thread_local = threading.local()  # the server of each thread


def _run_std_server(
    cluster_spec: Any = None, task_type: Any = None, task_id: Any = None,
    session_config: Any = None, rpc_layer: str | None = None, environment: str | None = None,
) -> Any:  # fmt: skip
    """Return the server of a task, started; a thread that asks again is given the one it has.

    An evaluator of the `ClusterSpec` is a cluster of its own.
    """
    task = (cluster_spec, task_type, task_id, repr(session_config), rpc_layer, environment)
    if getattr(_thread_local, "server", None) is not None:
        assert _thread_local.task == task, "another server runs in this thread"
        return _thread_local.server
    _thread_local.task = task
    target = cluster_spec.task_address(task_type, task_id)
    logging.info("Starting standard TensorFlow server, target = %r", target)
    if environment == "google":
        prefix = f"{rpc_layer}://" if rpc_layer else ""
        server: Any = _RemoteServer(prefix + target, session_config)
    else:
        jobs = cluster_spec.as_dict()
        evaluators = jobs.pop(TaskType.EVALUATOR, None)
        if task_type == TaskType.EVALUATOR:
            jobs = {TaskType.EVALUATOR: evaluators}
        server = Server(jobs, task_type, task_id, rpc_layer, session_config)
    server.start()
    _thread_local.server = server
    return server


@export("contrib.distribute.run_standard_tensorflow_server")
def run_standard_tensorflow_server(session_config: Any = None) -> Any:
    """Start the server of the task that TF_CONFIG names.

    Args:
      session_config: a `ConfigProto`.

    Returns:
      The server, which runs.

    Raises:
      ValueError: if TF_CONFIG names no cluster, no task, or a cluster without workers.
    """
    settings = tf_config()
    if "cluster" not in settings:
        raise ValueError('"cluster" is not found in TF_CONFIG.')
    spec = cluster_tasks.normalize_cluster_spec(settings["cluster"])
    if "task" not in settings:
        raise ValueError('"task" is not found in TF_CONFIG.')
    if "type" not in settings["task"]:
        raise ValueError('"task_type" is not found in the `task` part of TF_CONFIG.')
    chief = TaskType.CHIEF in spec.jobs
    if not chief and TaskType.WORKER not in spec.jobs:
        raise ValueError("You must have `chief` or `worker` jobs in the `cluster_spec`.")
    config = session_config or ConfigProto()
    leader = TaskType.CHIEF if chief else TaskType.WORKER
    config.experimental.collective_group_leader = f"/job:{leader}/replica:0/task:0"
    index = int(settings["task"].get("index", 0))
    protocol = settings.get("rpc_layer", "grpc")
    server = _run_std_server(
        cluster_spec=spec, task_type=settings["task"]["type"], task_id=index,
        session_config=config, rpc_layer=protocol,
    )  # fmt: skip
    server.start()
    return server
