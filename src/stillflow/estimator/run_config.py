"""tf.estimator.RunConfig: how, where and how often an estimator trains, saves and logs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from stillflow.distribute.coordinator import CoordinatorMode
from stillflow.estimator.cluster_task import (
    ClusterTask,
    TaskType,
    environment,
    model_directory,
    service_of,
    task_of,
)
from stillflow.graph.export import export
from stillflow.platform.compat import path_to_str
from stillflow.protos import ConfigProto, RewriterConfig
from stillflow.train.cluster_spec import ClusterSpec
from stillflow.util.function_utils import fn_args

_USE_DEFAULT: Any = object()
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."

# Condition of each property if it is not None, and the text of its error.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    **{
        name: (lambda value: value >= 0, f"{name} should be >= 0")
        for name in (
            "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
        )
    },
    "session_config": (
        lambda value: isinstance(value, ConfigProto),
        "session_config must be instance of ConfigProto",
    ),
    "keep_checkpoint_max": (lambda value: value >= 0, "keep_checkpoint_max should be >= 0"),
    **{
        name: (lambda value: value > 0, f"{name} should be > 0")
        for name in (
            "keep_checkpoint_every_n_hours", "log_step_count_steps",
            "session_creation_timeout_secs",
        )
    },
    "tf_random_seed": (lambda value: isinstance(value, int), "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        lambda value: isinstance(value, int),
        "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "device_fn": (
        lambda value: callable(value) and set(fn_args(value)) == {"op"},
        'device_fn must be callable with exactly one argument "op".',
    ),
    "protocol": (
        lambda value: value in ("grpc", "grpc+verbs"),
        "protocol should be grpc or grpc+verbs",
    ),
}  # fmt: skip
# Properties that `replace` may change, in the order of RunConfig's arguments.
_REPLACEABLE = (
    "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
    "save_checkpoints_secs", "session_config", "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours", "log_step_count_steps", "train_distribute", "device_fn",
    "protocol", "eval_distribute", "experimental_distribute",
    "experimental_max_worker_delay_secs", "session_creation_timeout_secs",
)  # fmt: skip
# Which devices of a cluster a task's session needs.
_FILTERS = {
    TaskType.MASTER: ("/job:ps", "/job:master"),
    TaskType.CHIEF: ("/job:ps", "/job:chief"),
    TaskType.WORKER: ("/job:ps", "/job:worker/task:{index}"),
    TaskType.PS: ("/job:ps", "/job:worker", "/job:chief", "/job:master"),
}


def default_session_config() -> Any:
    """Return the `ConfigProto` of an estimator that is given none: soft placement."""
    config = ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
    return config


def _property(name: str, doc: str) -> Any:
    return property(lambda self: getattr(self, f"_{name}"), doc=doc)


def _strategies(train: Any, evaluate: Any, both: Any) -> dict[str, Any]:
    """Return strategies of training and evaluation; ValueError for one given in both ways."""
    found = {"train_distribute": train, "eval_distribute": evaluate}
    if both is None:
        return found
    for name in found:
        given = getattr(both, name)
        if given and found[name]:
            raise ValueError(f"Either `{name}` or`experimental_distribute.{name}` can be set.")
        found[name] = found[name] or given
    return found


@export("estimator.RunConfig")
class RunConfig:
    """The settings of an estimator's runs; the cluster, if any, comes from TF_CONFIG.

    Args:
      model_dir: the folder of checkpoints, graph and event files.
      tf_random_seed: the seed of the graphs that are built.
      save_summary_steps: how often to write summaries, in steps; never if 0 or None.
      save_checkpoints_steps: how often to save, in steps.
      save_checkpoints_secs: how often to save, in seconds; 600 if neither is given.
      session_config: a `ConfigProto`.
      keep_checkpoint_max: how many checkpoints stay.
      keep_checkpoint_every_n_hours: how often one stays for good.
      log_step_count_steps: how often loss and speed are logged, in steps.
      train_distribute: a `tf.distribute` strategy, whose replicas train.
      device_fn: called with each operation, gives its device.
      protocol: of the servers of a cluster: None or "grpc".
      eval_distribute: a `tf.distribute` strategy, whose replicas evaluate.
      experimental_distribute: a `tf.contrib.distribute.DistributeConfig` of both.
      experimental_max_worker_delay_secs: how long a worker waits at most before it starts.
      session_creation_timeout_secs: how long a worker waits for the chief.

    Raises:
      ValueError: if a setting is out of its range, or TF_CONFIG is not coherent.
    """

    def __init__(
        self, model_dir: Any = None, tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100, save_checkpoints_steps: int | None = _USE_DEFAULT,
        save_checkpoints_secs: int | None = _USE_DEFAULT, session_config: Any = None,
        keep_checkpoint_max: int | None = 5, keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100, train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None, protocol: str | None = None,
        eval_distribute: Any = None, experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: int = 7200,
    ) -> None:  # fmt: skip
        given = {name: value for name, value in locals().items() if name in _REPLACEABLE}
        steps, secs = save_checkpoints_steps, save_checkpoints_secs
        given["save_checkpoints_steps"] = None if steps is _USE_DEFAULT else steps
        neither = steps is _USE_DEFAULT and secs is _USE_DEFAULT
        given["save_checkpoints_secs"] = 600 if neither else None if secs is _USE_DEFAULT else secs
        given.update(_strategies(train_distribute, eval_distribute, experimental_distribute))
        settings = environment()
        given["model_dir"] = model_directory(settings, path_to_str(model_dir))
        self._set({name: given[name] for name in _REPLACEABLE})
        self._service = service_of(settings)
        remote = experimental_distribute.remote_cluster if experimental_distribute else None
        self._join_for_strategies(settings, remote if self._train_distribute else None)

    def _join_for_strategies(self, settings: dict[str, Any], remote: Any) -> None:
        """Use the task of TF_CONFIG, unless a coordinator tells strategies their tasks."""
        cluster = ClusterSpec(settings.get("cluster", {}))
        self._distribute_coordinator_mode = None
        if remote:
            if cluster:
                raise ValueError(
                    'Cannot set both "cluster_spec" of TF_CONFIG and '
                    "`experimental_distribute.remote_cluster`"
                )
            self._distribute_coordinator_mode = CoordinatorMode.STANDALONE_CLIENT
        elif cluster and TaskType.MASTER not in cluster.jobs and self._train_distribute:
            self._distribute_coordinator_mode = CoordinatorMode.INDEPENDENT_WORKER
        else:
            self._join(task_of(settings))
            return
        self._join(task_of({}))
        self._cluster_spec = remote or cluster

    def _take(self, task: ClusterTask) -> None:
        """Set the attributes of a task."""
        for name, value in vars(task).items():
            setattr(self, f"_{name}", value)

    def _join(self, task: ClusterTask) -> None:
        self._take(task)
        if task.cluster_spec and not self._session_config and task.task_type in _FILTERS:
            config = default_session_config()
            config.device_filters.extend(
                name.format(index=task.task_id) for name in _FILTERS[task.task_type]
            )
            self._session_config = config

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if name not in _REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are "
                    f"{list(_REPLACEABLE)}."
                )
            setattr(self, f"_{name}", value)
        self._keep_one_interval(values)
        for name, (holds, message) in _CHECKS.items():
            value = getattr(self, f"_{name}")
            if value is not None and not holds(value):
                raise ValueError(message)

    def _keep_one_interval(self, values: dict[str, Any]) -> None:
        """Keep the interval between checkpoints that was set last, in steps or seconds."""
        steps, secs = values.get("save_checkpoints_steps"), values.get("save_checkpoints_secs")
        if steps is not None and secs is not None:
            raise ValueError(_BOTH)
        if steps is not None:
            self._save_checkpoints_secs = None
        elif secs is not None:
            self._save_checkpoints_steps = None

    def replace(self, **kwargs: Any) -> Any:
        """Return a copy with other values of some settings.

        Raises:
          ValueError: if one cannot be replaced, or is out of its range.
        """
        result = copy.deepcopy(self)
        result._set(kwargs)
        return result

    _train_distribute: Any
    _eval_distribute: Any
    _session_config: Any
    _save_checkpoints_secs: int | None
    _save_checkpoints_steps: int | None
    _cluster_spec: ClusterSpec
    _distribute_coordinator_mode: str | None

    model_dir = _property("model_dir", "The folder of checkpoints, graph and event files.")
    tf_random_seed = _property("tf_random_seed", "The seed of the graphs that are built.")
    save_summary_steps = _property("save_summary_steps", "Steps between summaries.")
    save_checkpoints_steps = _property("save_checkpoints_steps", "Steps between checkpoints.")
    save_checkpoints_secs = _property("save_checkpoints_secs", "Seconds between checkpoints.")
    session_config = _property("session_config", "The `ConfigProto` of sessions.")
    keep_checkpoint_max = _property("keep_checkpoint_max", "The number of checkpoints to keep.")
    keep_checkpoint_every_n_hours = _property(
        "keep_checkpoint_every_n_hours", "Hours between checkpoints that stay for good."
    )
    log_step_count_steps = _property("log_step_count_steps", "Steps between lines of the log.")
    train_distribute = _property("train_distribute", "The distribution strategy of training.")
    eval_distribute = _property("eval_distribute", "The distribution strategy of evaluation.")
    device_fn = _property("device_fn", "Gives the device of an operation.")
    protocol = _property("protocol", "The protocol of the cluster's servers.")
    experimental_max_worker_delay_secs = _property(
        "experimental_max_worker_delay_secs", "Longest delay of a worker's start, in seconds."
    )
    session_creation_timeout_secs = _property(
        "session_creation_timeout_secs", "How long a worker waits for the chief, in seconds."
    )
    service = _property("service", "What TF_CONFIG says under `service`.")
    cluster_spec = _property("cluster_spec", "The cluster; empty if there is none.")
    task_type = _property("task_type", "The job of this task.")
    task_id = _property("task_id", "The index of this task in its job.")
    global_id_in_cluster = _property("global_id_in_cluster", "The index over all jobs.")
    master = _property("master", "The target of training sessions.")
    evaluation_master = _property("evaluation_master", "The target of evaluating sessions.")
    num_ps_replicas = _property("num_ps_replicas", "The number of parameter servers.")
    num_worker_replicas = _property("num_worker_replicas", "The number of tasks that train.")
    is_chief = _property("is_chief", "Whether this task initializes and saves.")
