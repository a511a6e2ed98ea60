"""Options of datasets: `tf.data.Options` and its parts."""

from __future__ import annotations

import enum
from typing import Any

from stillflow.data.options_base import OptionsBase, create_option, merge_options
from stillflow.graph.export import export, export_value

AUTOTUNE = -1
export_value("data.experimental.AUTOTUNE", "contrib.data.AUTOTUNE", AUTOTUNE)


class AutotuneAlgorithm(enum.Enum):
    """Algorithms of autotuning."""

    HILL_CLIMB = 0
    GRADIENT_DESCENT = 1


def _flag(name: str, text: str) -> Any:
    return create_option(name, bool, text)


@export("data.experimental.MapVectorizationOptions")
class MapVectorizationOptions(OptionsBase):
    """Options of the vectorization of map functions."""

    enabled = _flag("enabled", "Whether to do it; by default it is not done.")
    use_choose_fastest = _flag(
        "use_choose_fastest", "Whether the faster of both is found out at run time."
    )

    def _static_optimizations(self) -> list[str]:
        return ["map_vectorization"] if self.enabled else []

    def _static_optimization_configs(self) -> list[str]:
        return [
            f"map_vectorization:use_choose_fastest:{'true' if self.use_choose_fastest else 'false'}"
        ]


_OPTIONAL = (
    "filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform",
    "map_and_batch_fusion", "map_and_filter_fusion", "map_parallelization", "map_fusion",
    "noop_elimination", "parallel_batch", "shuffle_and_repeat_fusion",
)  # fmt: skip
_USUAL = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")


@export("data.experimental.OptimizationOptions")
class OptimizationOptions(OptionsBase):
    """Options of pipelines' rewrites and tuning."""

    apply_default_optimizations = _flag(
        "apply_default_optimizations", "False: only requested rewrites are applied."
    )
    autotune = _flag("autotune", "Whether parameters are tuned; they are by default.")
    autotune_algorithm = create_option("autotune_algorithm", int, "Which way parameters are tuned.")
    autotune_buffers = _flag("autotune_buffers", "Whether sizes of buffers are tuned, too.")
    autotune_cpu_budget = create_option(
        "autotune_cpu_budget", int, "Number of available cores; all of them by default."
    )
    filter_fusion = _flag("filter_fusion", "Whether filters in a row become one.")
    filter_with_random_uniform_fusion = _flag(
        "filter_with_random_uniform_fusion", "Whether random filters become sampling."
    )
    hoist_random_uniform = _flag(
        "hoist_random_uniform", "Whether random numbers are drawn outside of map functions."
    )
    map_and_batch_fusion = _flag(
        "map_and_batch_fusion", "Whether a map and a batch become one; they do by default."
    )
    map_and_filter_fusion = _flag("map_and_filter_fusion", "Whether a map and a filter become one.")
    map_fusion = _flag("map_fusion", "Whether maps in a row become one.")
    map_parallelization = _flag("map_parallelization", "Whether stateless maps run in parallel.")
    map_vectorization = create_option(
        "map_vectorization", MapVectorizationOptions, "See `MapVectorizationOptions`.",
        default_factory=MapVectorizationOptions,
    )  # fmt: skip
    noop_elimination = _flag(
        "noop_elimination", "Whether what changes nothing is left out; it is by default."
    )
    parallel_batch = _flag("parallel_batch", "Whether batches are copied in parallel.")
    shuffle_and_repeat_fusion = _flag(
        "shuffle_and_repeat_fusion", "Whether a shuffle and a repeat become one, as by default."
    )

    def _static_optimizations(self) -> list[str]:
        found = {name for name in _OPTIONAL if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            found.update(name for name in _USUAL if getattr(self, name) is not False)
        if self.map_vectorization is not None:
            found.update(self.map_vectorization._static_optimizations())
        if self.autotune is not False and self.autotune_buffers:
            found.add("inject_prefetch")
        return sorted(found)

    def _static_optimization_configs(self) -> list[str]:
        if self.map_vectorization is None:
            return []
        configs: list[str] = self.map_vectorization._static_optimization_configs()
        return configs


@export("data.experimental.DistributeOptions")
class DistributeOptions(OptionsBase):
    """Options of a dataset's distribution to workers."""

    auto_shard = create_option(
        "auto_shard", bool, "Whether each worker gets a part only.", default_factory=lambda: True
    )
    _make_stateless = _flag("_make_stateless", "Whether stateful parts are rewritten.")
    num_devices = create_option("num_devices", int, "Number of devices that share the pipeline.")


@export("data.experimental.StatsOptions")
class StatsOptions(OptionsBase):
    """Options of a pipeline's statistics."""

    aggregator = create_option("aggregator", object, "What gathers the numbers.")
    prefix = create_option("prefix", str, "What names begin with.", default_factory=lambda: "")
    counter_prefix = create_option(
        "counter_prefix", str, "What names of counters begin with.", default_factory=lambda: ""
    )
    latency_all_edges = _flag("latency_all_edges", "Whether every step is timed.")


@export("data.experimental.ThreadingOptions")
class ThreadingOptions(OptionsBase):
    """Options of a pipeline's threads."""

    max_intra_op_parallelism = create_option(
        "max_intra_op_parallelism", int, "Number of threads of one operation."
    )
    private_threadpool_size = create_option(
        "private_threadpool_size", int, "The number of threads of the dataset's own."
    )


@export("data.Options")
class Options(OptionsBase):
    """Options of a dataset: `options = tf.data.Options()`, then `dataset.with_options(options)`."""

    experimental_deterministic = _flag(
        "experimental_deterministic", "Whether the order of elements is fixed; it is by default."
    )
    experimental_distribute = create_option(
        "experimental_distribute", DistributeOptions, "See `DistributeOptions`.",
        default_factory=DistributeOptions,
    )  # fmt: skip
    experimental_optimization = create_option(
        "experimental_optimization", OptimizationOptions, "See `OptimizationOptions`.",
        default_factory=OptimizationOptions,
    )  # fmt: skip
    experimental_slack = _flag(
        "experimental_slack", "Whether the last prefetching waits while devices are busy."
    )
    experimental_stats = create_option(
        "experimental_stats", StatsOptions, "See `StatsOptions`.", default_factory=StatsOptions
    )
    experimental_threading = create_option(
        "experimental_threading", ThreadingOptions, "See `ThreadingOptions`.",
        default_factory=ThreadingOptions,
    )  # fmt: skip
    experimental_stateful_whitelist = create_option(
        "experimental_stateful_whitelist", list, "Stateful operations that may be saved."
    )

    def _static_optimizations(self) -> list[str]:
        distribute, stats = self.experimental_distribute, self.experimental_stats
        asked = {
            "make_sloppy": self.experimental_deterministic is False,
            "latency_all_edges": stats and stats.latency_all_edges,
            "slack": self.experimental_slack,
            "make_stateless": distribute and distribute._make_stateless,
        }
        others = self.experimental_optimization._static_optimizations()
        return [*others, *(name for name, is_on in asked.items() if is_on)]

    def _static_optimization_configs(self) -> list[str]:
        optimization = self.experimental_optimization
        configs: list[str] = optimization._static_optimization_configs() if optimization else []
        if not self.experimental_slack:
            return configs
        devices = self.experimental_distribute.num_devices
        return [*configs, f"slack:slack_period:{1 if devices is None else devices}"]

    def merge(self, options: Options) -> Options:
        """Merge two sets of options.

        Raises:
          ValueError: if they contradict each other.
        """
        merged: Options = merge_options(self, options)
        return merged
