"""tf.contrib.learn.RunConfig: the settings of the first estimators."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from operator import attrgetter
from typing import Any

from stillflow.contrib.framework.experimental import experimental
from stillflow.estimator.run_config import RunConfig as CoreRunConfig
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.protos import ConfigProto, GPUOptions
from stillflow.util.notices import noticed
from stillflow_contrib.learn.cluster_config import ClusterConfig, tf_config

_DEFAULT_SECS = 600
# Settings that may differ between runs that count as the same.
_NOT_IN_UID = (
    "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)  # fmt: skip


@export("contrib.learn.RunConfig")
class RunConfig(ClusterConfig, CoreRunConfig):
    """The settings of an estimator of `tf.contrib.learn`; `tf.estimator` takes them, too.

    Args:
      master: the target of training sessions; that of TF_CONFIG if None.
      num_cores: how many threads sessions use; 0 for all.
      log_device_placement: whether sessions log where operations run.
      gpu_memory_fraction: the share of a device's memory to take.
      tf_random_seed: the seed of the graphs that are built.
      save_summary_steps: how often to write summaries, in steps.
      save_checkpoints_secs: how often to save, in seconds; 600 if neither is given.
      save_checkpoints_steps: how often to save, in steps.
      keep_checkpoint_max: how many checkpoints stay.
      keep_checkpoint_every_n_hours: how often one stays for good.
      log_step_count_steps: how often the speed is logged, in steps.
      protocol: of the servers of a cluster.
      evaluation_master: the target of evaluating sessions.
      model_dir: the folder of checkpoints and event files.
      session_config: a `ConfigProto`.
      session_creation_timeout_secs: how long a worker waits for the chief.

    Raises:
      ValueError: if TF_CONFIG names another folder, or a task that is not in its cluster.
    """

    _USE_DEFAULT = 0

    @noticed("contrib.learn.RunConfig")
    def __init__(
        self, master: str | None = None, num_cores: int = 0, log_device_placement: bool = False,
        gpu_memory_fraction: float = 1, tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100, save_checkpoints_secs: int | None = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None, keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int | None = 100,
        protocol: str | None = None, evaluation_master: str = "", model_dir: str | None = None,
        session_config: Any = None, session_creation_timeout_secs: int = 7200,
    ) -> None:  # fmt: skip
        ClusterConfig.__init__(self, master=master, evaluation_master=evaluation_master)
        self._train_distribute = None
        self._eval_distribute = None
        self._experimental_max_worker_delay_secs = None
        self._device_fn = None
        self._tf_config = ConfigProto(
            log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )  # fmt: skip
        if save_checkpoints_secs == RunConfig._USE_DEFAULT:
            save_checkpoints_secs = _DEFAULT_SECS if save_checkpoints_steps is None else None
        self._tf_random_seed = tf_random_seed
        self._save_summary_steps = save_summary_steps
        self._save_checkpoints_secs = save_checkpoints_secs
        self._save_checkpoints_steps = save_checkpoints_steps
        self._log_step_count_steps = log_step_count_steps
        self._protocol = protocol
        self._session_config = session_config
        self._keep_checkpoint_max = keep_checkpoint_max
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._model_dir = _model_directory(model_dir)
        self._session_creation_timeout_secs = session_creation_timeout_secs

    tf_config = property(attrgetter("_tf_config"), doc="The `ConfigProto` of a server.")

    @experimental
    def uid(self, whitelist: Collection[str] | None = None) -> str:
        """Return the key of these settings.

        Args:
          whitelist: the settings that do not count; those of logging and saving if None.
        """
        aside = {f"_{name}" for name in (_NOT_IN_UID if whitelist is None else whitelist)}
        state = {name: value for name, value in vars(self).items() if name not in aside}
        if "_cluster_spec" in state:
            state["_cluster_spec"] = OrderedDict(sorted(self._cluster_spec.as_dict().items()))
        return ", ".join(f"{name}={state[name]!r}" for name in sorted(state))


def _model_directory(model_dir: str | None) -> str | None:
    elsewhere: str | None = tf_config().get("model_dir")
    if elsewhere is None:
        return model_dir
    if model_dir is not None and elsewhere != model_dir:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
            f"model_dir in TF_CONFIG. model_dir: {model_dir}\n"
            f'TF_CONFIG["model_dir"]: {elsewhere}.\n'
        )
    logging.info("Using model_dir in TF_CONFIG: %s", elsewhere)
    return model_dir or elsewhere
