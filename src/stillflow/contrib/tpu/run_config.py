"""tf.contrib.tpu.RunConfig and TPUConfig: the settings of a TPUEstimator."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from stillflow.estimator.cluster_task import TaskType, environment
from stillflow.estimator.run_config import RunConfig as EstimatorRunConfig
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.protos import ConfigProto

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_CORES = (1, 2, 4, 8, 16, 32, 64, 128)


@export("contrib.tpu.InputPipelineConfig", "estimator.tpu.InputPipelineConfig")
class InputPipelineConfig:
    """Number of an input function's calls: for each core, each host, or once."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class Loop(NamedTuple):
    """Number of iterations on the device per report to the host."""

    value: int
    unit: str


def parse_iterations_per_loop(iterations: Any) -> Loop:
    """Return a count of steps, or a time as in "30s", "10m", "1h"; ValueError for others."""
    match = re.match(r"([1-9]\d*)([smh]?)$", str(iterations))
    if match is None:
        raise ValueError(
            "Invalid TPUConfig `iterations_per_loop` value. Value must be positive integer value "
            "or time-based value `<N><s|m|h>` where <N> is anypositive integer and `s`, `m`, `h` "
            "are unit of time in seconds, minutes, hours respectively. Examples of valid values: "
            "`3600s`, `60m`, `1h`."
        )
    value, suffix = int(match[1]), match[2]
    return Loop(value * _SECONDS[suffix], "seconds") if suffix else Loop(value, "count")


def check_positive_integer(value: Any, name: str) -> None:
    """Raise TypeError or ValueError unless a setting is a positive integer."""
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, got {type(value)}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {value}")


class _Fields(NamedTuple):
    iterations_per_loop: Any
    num_shards: Any
    num_cores_per_replica: Any
    per_host_input_for_training: Any
    tpu_job_name: Any
    initial_infeed_sleep_secs: Any
    input_partition_dims: Any
    eval_training_input_configuration: Any
    experimental_host_call_every_n_steps: Any


@export("contrib.tpu.TPUConfig", "estimator.tpu.TPUConfig")
class TPUConfig(_Fields):
    """Settings of the device; without one they are checked and kept.

    Args:
      iterations_per_loop: steps, or a time ("30s"), between reports to the host.
      num_shards: how many replicas.
      num_cores_per_replica: on how many cores one model is.
      per_host_input_for_training: one of `InputPipelineConfig`, or whether it is PER_HOST_V1.
      tpu_job_name: the job that the devices belong to; what TF_CONFIG says if None.
      initial_infeed_sleep_secs: how long the input waits for the device.
      input_partition_dims: how features (and labels) are split over cores.
      eval_training_input_configuration: PER_HOST_V1 or SLICED.
      experimental_host_call_every_n_steps: how often the host is called.

    Raises:
      ValueError: if a setting is out of range, or two do not go together.
      TypeError: if one is of the wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls, iterations_per_loop: Any = 2, num_shards: int | None = None,
        num_cores_per_replica: int | None = None, per_host_input_for_training: Any = True,
        tpu_job_name: str | None = None, initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Any = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:  # fmt: skip
        parse_iterations_per_loop(iterations_per_loop)
        if num_shards is not None:
            check_positive_integer(num_shards, "TPUConfig num_shards")
        if initial_infeed_sleep_secs:
            check_positive_integer(initial_infeed_sleep_secs, "TPUConfig initial_infeed_sleep_secs")
        if input_partition_dims is not None:
            _check_partition(
                input_partition_dims, per_host_input_for_training, num_cores_per_replica
            )
        if num_cores_per_replica not in (None, *_CORES):
            raise ValueError(
                f"num_cores_per_replica must be {', '.join(map(str, _CORES))}; got "
                f"{num_cores_per_replica}"
            )
        if eval_training_input_configuration not in (
            InputPipelineConfig.PER_HOST_V1, InputPipelineConfig.SLICED,
        ):  # fmt: skip
            raise ValueError(
                "eval_training_input_configuration must be PER_HOST_V1 or SLICED; got "
                f"{eval_training_input_configuration}"
            )
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = (
                InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training
                else InputPipelineConfig.PER_SHARD_V1
            )  # fmt: skip
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica,
            per_host_input_for_training, tpu_job_name or _job_of_environment(),
            initial_infeed_sleep_secs, input_partition_dims, eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )  # fmt: skip


def _check_partition(dims: Any, per_host: Any, cores: int | None) -> None:
    if len(dims) not in (1, 2):
        raise ValueError("input_partition_dims must be a list/tuple with one or two elements.")
    if per_host is not InputPipelineConfig.PER_HOST_V2:
        raise ValueError("input_partition_dims is only supported in PER_HOST_V2 mode.")
    if cores is None:
        raise ValueError("input_partition_dims requires setting num_cores_per_replica.")


def _job_of_environment() -> str | None:
    job: str | None = environment().get("service", {}).get("tpu_worker_job_name")
    if job:
        logging.info("Load TPU job name from TF_CONFIG: %s", job)
    return job


@export("contrib.tpu.RunConfig", "estimator.tpu.RunConfig")
class RunConfig(EstimatorRunConfig):
    """The settings of a TPUEstimator's runs.

    Args:
      tpu_config: a `TPUConfig`.
      evaluation_master: the target of evaluating sessions.
      master: the target of training sessions.
      cluster: a cluster resolver, which names targets and tasks instead.
      **kwargs: the arguments of `tf.estimator.RunConfig`.

    Raises:
      ValueError: if both `master` and `cluster` are given, or a setting is out of range.

    Example:
      >>> settings = tf.contrib.tpu.TPUConfig(iterations_per_loop=100)
      >>> config = tf.contrib.tpu.RunConfig(model_dir="model", tpu_config=settings)
      >>> config.tpu_config.iterations_per_loop, config.model_dir
      (100, 'model')
    """

    def __init__(
        self, tpu_config: Any = None, evaluation_master: str | None = None,
        master: str | None = None, cluster: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        if master is not None or cluster:
            self._master: Any = cluster.master() if cluster else master
        if evaluation_master is not None:
            self._evaluation_master = evaluation_master
        elif not self._evaluation_master and self.task_type != TaskType.EVALUATOR:
            self._evaluation_master = self._master
        if cluster:
            self._enter(cluster.cluster_spec())

    def _enter(self, cluster_spec: Any) -> None:
        self._cluster_spec = cluster_spec
        if self._session_config is None:
            self._session_config = ConfigProto(
                allow_soft_placement=True, isolate_session_state=True
            )
        if self._session_config.HasField("cluster_def"):
            raise ValueError("You cannot provide a ClusterResolver and session_config.cluster_def.")
        if cluster_spec:
            self._session_config.cluster_def.CopyFrom(cluster_spec.as_cluster_def())

    @property
    def tpu_config(self) -> Any:
        """The settings of the device."""
        return self._tpu_config

    @property
    def cluster(self) -> Any:
        """The cluster resolver; None if there is none."""
        return self._cluster

    def replace(self, **kwargs: Any) -> Any:
        """Return a copy with other values of some settings, including `tpu_config`."""
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        result = super().replace(**kwargs)
        result._tpu_config = tpu_config
        return result
