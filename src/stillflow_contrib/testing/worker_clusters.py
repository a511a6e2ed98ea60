"""Bases of tests with several tasks: servers of this process, threads, or processes as workers."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any
from unittest import SkipTest, mock

from stillflow import errors, nest
from stillflow.distribute import coordinator
from stillflow.graph import eager_mode
from stillflow.graph.graph import Graph
from stillflow.protos import ConfigProto, RewriterConfig
from stillflow.runtime.session.session import Session
from stillflow.testing.local_cluster import free_ports
from stillflow.testing.test_case import TestCase
from stillflow.train.coordinator import Coordinator
from stillflow.train.server import Server

_run_std_server = coordinator._run_std_server
_JOBS = ("worker", "ps", "evaluator", "chief")


def pick_unused_port() -> int:
    """Return a port that nobody has."""
    return free_ports(1)[0]


def create_cluster_spec(
    has_chief: bool = False, num_workers: int = 1, num_ps: int = 0, has_eval: bool = False,
    test_obj: Any = None,
) -> dict[str, list[str]]:  # fmt: skip
    """Return the addresses of each job's tasks, on ports of this machine that nobody has."""
    del test_obj
    counts = dict(zip(_JOBS, (num_workers, num_ps, int(has_eval), int(has_chief)), strict=True))
    ports = iter(free_ports(sum(counts.values())))
    return {
        job: [f"localhost:{next(ports)}" for _ in range(count)]
        for job, count in counts.items()
        if count
    }


def create_in_process_cluster(
    num_workers: int, num_ps: int, has_chief: bool = False, has_eval: bool = False,
    rpc_layer: str = "grpc",
) -> dict[str, list[str]]:  # fmt: skip
    """Start the servers of a cluster in this process; return their addresses by job.

    Raises:
      unittest.SkipTest: if a server cannot listen.
    """
    spec = create_cluster_spec(has_chief, num_workers, num_ps, has_eval)
    for job, addresses in spec.items():
        config = ConfigProto()
        if job in ("worker", "chief"):
            workers = num_workers + has_chief + has_eval
            config.gpu_options.per_process_gpu_memory_fraction = 0.7 / workers
            leader = "chief" if has_chief else "worker"
            config.experimental.collective_group_leader = f"/job:{leader}/replica:0/task:0"
        elif job == "ps":
            config.device_count["GPU"] = 0
        for index in range(len(addresses)):
            with _skips_without_server():
                Server(spec, job, index, rpc_layer, config, start=True)
    return spec


@contextlib.contextmanager
def _skips_without_server() -> Iterator[None]:
    try:
        yield
    except errors.UnknownError as error:
        if "Could not start gRPC server" in error.message:
            raise SkipTest("Cannot start std servers.") from error
        raise


@contextlib.contextmanager
def skip_if_grpc_server_cant_be_started(test_obj: Any) -> Iterator[None]:
    """Return a context that skips a test where a server cannot listen."""
    try:
        with _skips_without_server():
            yield
    except SkipTest as error:
        test_obj.test_skipped_reason = str(error)
        test_obj.skipTest(str(error))


class MultiWorkerTestBase(TestCase):
    """Base of tests with a cluster of servers in this process; sessions connect to a worker."""

    @classmethod
    def setUpClass(cls) -> None:
        """Start two workers and a parameter server."""
        super().setUpClass()
        cls._cluster_spec = create_in_process_cluster(num_workers=2, num_ps=1)
        cls._default_target = "grpc://" + cls._cluster_spec["worker"][0]

    def setUp(self) -> None:
        super().setUp()
        self._of_thread = threading.local()
        self._coord = Coordinator()

    def _for_tests(self, config: Any) -> Any:
        made = ConfigProto(allow_soft_placement=True) if config is None else copy.deepcopy(config)
        made.graph_options.optimizer_options.opt_level = -1
        made.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
        return made

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, *unused: Any, target: str | None = None,
        **also: Any,
    ) -> Iterator[Session]:  # fmt: skip
        """Return a context with a session of the first worker, or of another target."""
        del unused, also
        target = self._default_target if target is None else target
        with Session(target, graph, self._for_tests(config)) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, *unused: Any, target: str | None = None,
        **also: Any,
    ) -> Iterator[Session]:  # fmt: skip
        """Return a context with the one session of this test and thread."""
        del graph, unused, also
        session = getattr(self._of_thread, "session", None)
        if session is None:
            target = self._default_target if target is None else target
            session = self._of_thread.session = Session(target, None, self._for_tests(config))
        with session.graph.as_default(), session.as_default():
            yield session

    def _run_client(
        self, client_fn: Callable[..., Any], task_type: str, task_id: int, num_gpus: int,
        eagerly: bool, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        with _mode(eagerly), self._coord.stop_on_exception():
            client_fn(task_type, task_id, num_gpus, *args, **kwargs)

    def _run_between_graph_clients(
        self, client_fn: Callable[..., Any], cluster_spec: Mapping[str, Any], num_gpus: int,
        *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Call `client_fn(task_type, task_id, num_gpus, ...)` in a thread for each worker."""
        eagerly, threads = eager_mode.executing_eagerly(), []
        for job in ("chief", "worker"):
            for index in range(len(cluster_spec.get(job, []))):
                given = client_fn, job, index, num_gpus, eagerly, *args
                threads.append(threading.Thread(target=self._run_client, args=given, kwargs=kwargs))
                threads[-1].start()
        self._coord.join(threads)


def _mode(eagerly: bool) -> Any:
    return eager_mode.eager_mode() if eagerly else eager_mode.graph_mode()


class MockOsEnv(MutableMapping[str, Any]):
    """An environment in which each thread has a TF_CONFIG of its own; it begins empty."""

    def __init__(self, *args: Any) -> None:
        self._shared: dict[str, Any] = dict(*args)
        self._of_thread = threading.local()

    def _own(self) -> dict[str, Any]:
        return vars(self._of_thread).setdefault("own", {})

    def _place(self, key: str) -> dict[str, Any]:
        return self._own() if key == "TF_CONFIG" else self._shared

    def __getitem__(self, key: str) -> Any:
        return self._place(key)[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._place(key)[key] = value

    def __delitem__(self, key: str) -> None:
        del self._place(key)[key]

    def __iter__(self) -> Iterator[str]:
        yield from self._own()
        yield from self._shared

    def __len__(self) -> int:
        return len(self._own()) + len(self._shared)


class IndependentWorkerTestBase(TestCase):
    """Base of tests with a thread for each worker, each with a TF_CONFIG and a server."""

    _barrier: Any

    def setUp(self) -> None:
        self._mock_os_env = MockOsEnv()
        self._patch = mock.patch.object(os, "environ", self._mock_os_env)
        self._coord, self._of_thread = Coordinator(), threading.local()
        super().setUp()
        self._patch.__enter__()

    def tearDown(self) -> None:
        self._patch.__exit__(None, None, None)
        super().tearDown()

    def _make_mock_run_std_server(self) -> Callable[..., Any]:
        """Return a function that starts a thread's server, and waits until all have theirs."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with skip_if_grpc_server_cant_be_started(self):
                server = _run_std_server(*args, **kwargs)
            if not getattr(self._of_thread, "has_server", False):
                self._barrier.wait()
            self._of_thread.has_server = True
            return server

        return run

    def _task_thread(
        self, task_fn: Callable[..., Any], tf_config: Any, eagerly: bool, *args: Any, **kwargs: Any
    ) -> None:
        with self._coord.stop_on_exception(), contextlib.ExitStack() as stack:
            os.environ["TF_CONFIG"] = json.dumps(tf_config)
            if not eagerly:
                stack.enter_context(Graph().as_default())
            stack.enter_context(_mode(eagerly))
            task_fn(*args, **kwargs)

    def _run_task_in_thread(
        self, task_fn: Callable[..., Any], cluster_spec: Any, task_type: str | None,
        task_id: int | None, *args: Any, **kwargs: Any,
    ) -> threading.Thread:  # fmt: skip
        """Start a thread with a TF_CONFIG, that of the task unless `tf_config` is given."""
        config = kwargs.pop("tf_config", None)
        if config is None:
            config = {"cluster": cluster_spec}
            if task_type:
                config["task"] = {"type": task_type, "index": task_id}
        given = task_fn, config, eager_mode.executing_eagerly(), *args
        thread = threading.Thread(target=self._task_thread, args=given, kwargs=kwargs)
        thread.start()
        return thread

    def run_multiple_tasks_in_threads(
        self, task_fn: Callable[..., Any], cluster_spec: Mapping[str, Any], *args: Any,
        **kwargs: Any,
    ) -> dict[str, list[threading.Thread]]:  # fmt: skip
        """Start a thread for each task; return the threads by job."""
        return {
            job: [
                self._run_task_in_thread(task_fn, cluster_spec, job, index, *args, **kwargs)
                for index in range(len(tasks))
            ]
            for job, tasks in cluster_spec.items()
        }

    def join_independent_workers(self, worker_threads: Any) -> None:
        """Wait for threads, and raise what one of them raised."""
        with skip_if_grpc_server_cant_be_started(self):
            self._coord.join(worker_threads)


class MultiWorkerMultiProcessTest(TestCase):
    """Base of tests with a process for each worker."""

    def run_multiple_tasks_in_processes(
        self, cmd_args: Any, cluster_spec: Mapping[str, Any]
    ) -> dict[str, list[subprocess.Popen[bytes]]]:
        """Start a command for each task, with its TF_CONFIG; return the processes by job."""
        started: dict[str, list[subprocess.Popen[bytes]]] = {}
        for job, tasks in cluster_spec.items():
            for index in range(len(tasks)):
                task = {"type": job, "index": index}
                config = json.dumps({"cluster": cluster_spec, "task": task})
                process = subprocess.Popen(
                    cmd_args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={**os.environ, "TF_CONFIG": config},
                )  # fmt: skip
                started.setdefault(job, []).append(process)
        return started

    def join_independent_workers(self, worker_processes: Any) -> None:
        """Wait for processes; fail if one of them failed."""
        for process in nest.flatten(worker_processes):
            with contextlib.suppress(ValueError):  # its output has been read
                process.communicate()
            self.assertEqual(process.returncode, 0)

    def stream_stderr(self, processes: Mapping[str, Any], print_only_first: bool = False) -> None:
        """Print the errors of processes while they run, or those of the first one of each job."""

        def stream(process: Any, name: str, shows: bool) -> None:
            for line in process.stderr:
                if shows:
                    print(name, line.strip(), flush=True, file=sys.stdout)

        threads = [
            threading.Thread(
                target=stream, args=(each, f"{job}{index}", index == 0 or not print_only_first)
            )
            for job, started in processes.items()
            for index, each in enumerate(started)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def get_tf_config_task() -> Any:
    """Return the task of TF_CONFIG."""
    return json.loads(os.environ["TF_CONFIG"])["task"]


def get_tf_config_cluster_spec() -> Any:
    """Return the cluster of TF_CONFIG."""
    return json.loads(os.environ["TF_CONFIG"])["cluster"]


def get_task_type() -> Any:
    """Return the job of TF_CONFIG's task."""
    return get_tf_config_task()["type"]


def get_task_index() -> Any:
    """Return the index of TF_CONFIG's task."""
    return get_tf_config_task()["index"]


def is_chief() -> bool:
    """Return True if TF_CONFIG's task is the first worker of a cluster without a chief."""
    has_chief = "chief" in get_tf_config_cluster_spec()
    return not has_chief and (get_task_type(), get_task_index()) == ("worker", 0)
