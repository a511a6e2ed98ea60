"""Strategies and optimizers by name, as arguments of tests that run once for each of them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from stillflow.distribute.context import default_strategy as current_default_strategy
from stillflow.distribute.mirrored import MirroredStrategy
from stillflow.distribute.one_device import OneDeviceStrategy
from stillflow.distribute.parameter_server import CentralStorageStrategy
from stillflow.distribute.strategy import Strategy, unsupported
from stillflow.keras.optimizers.adam import Adam
from stillflow.keras.optimizers.adaptive import Adagrad
from stillflow.keras.optimizers.gradient_descent import SGD
from stillflow.keras.optimizers.rmsprop import RMSprop
from stillflow.platform.config import (
    VirtualDeviceConfiguration,
    get_virtual_device_configuration,
    list_physical_devices,
    set_virtual_device_configuration,
)
from stillflow.runtime.devices.devices import gpu_count
from stillflow.testing.combinations import (
    GRAPH_RULES,
    Combination,
    NamedObject,
    OptionalParameter,
    ParameterModifier,
    TestCombination,
    combine,
    generate,
)
from stillflow.train.adagrad import AdagradOptimizer
from stillflow.train.adam import AdamOptimizer
from stillflow.train.gradient_descent import GradientDescentOptimizer
from stillflow.train.rmsprop import RMSPropOptimizer


class NamedDistribution:
    """A strategy that is made when it is asked for, and the devices it needs.

    Args:
      name: what the names of tests show.
      distribution_fn: makes the strategy.
      required_gpus: how many GPUs it needs.
      required_tpu: whether it needs a TPU.
    """

    def __init__(
        self, name: str, distribution_fn: Callable[[], Any], required_gpus: int | None = None,
        required_tpu: bool = False,
    ) -> None:  # fmt: skip
        self._name, self._distribution_fn = name, distribution_fn
        self.required_gpus, self.required_tpu = required_gpus, required_tpu

    @property
    def strategy(self) -> Strategy:
        """A new strategy."""
        made: Strategy = self._distribution_fn()
        return made

    def __repr__(self) -> str:
        return self._name


class DistributionParameter(ParameterModifier):
    """Modifier that replaces names of strategies by the strategies."""

    def modified_arguments(self, kwargs: Any, requested_parameters: Any) -> dict[str, Any]:
        del requested_parameters
        named = {k: v for k, v in kwargs.items() if isinstance(v, NamedDistribution)}
        return {name: value.strategy for name, value in named.items()}


def _distributions(kwargs: dict[str, Any], asked: str, count: Any) -> list[NamedDistribution]:
    """Return the strategies among the arguments; they define their needs, so the test must not."""
    found = [value for value in kwargs.values() if isinstance(value, NamedDistribution)]
    if found and count:
        raise ValueError(f"Do not use `{asked}` and arguments of type NamedDistribution together.")
    return found


class NamedGPUCombination(TestCombination):
    """Leaves out tests that need more GPUs than there are."""

    GPU_TEST = "test_gpu" in sys.argv[0]

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        asked = kwargs.get("required_gpus")
        found = _distributions(kwargs, "required_gpus", asked)
        needed = max([asked or 0, *(each.required_gpus or 0 for each in found)])
        if not needed and GPUCombination.GPU_TEST:
            return False, "Test that doesn't require GPUs."
        if gpu_count() < needed:
            return False, f"Only {gpu_count()} of {needed} required GPUs are available."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [OptionalParameter("required_gpus")]


class GPUCombination(NamedGPUCombination):
    """The same, for tests that are given strategies themselves."""

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [DistributionParameter(), *super().parameter_modifiers()]


class NamedTPUCombination(TestCombination):
    """Leaves out tests that need a TPU."""

    TPU_TEST = "test_tpu" in sys.argv[0]

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        if "required_tpus" in kwargs and "required_tpu" in kwargs:
            raise ValueError(
                "Do not use `required_tpu`.  Both `required_tpus` and `required_tpu` were "
                "specified."
            )
        asked = kwargs.get("required_tpus") or kwargs.get("required_tpu")
        found = _distributions(kwargs, "required_tpus", asked)
        needed = asked or any(each.required_tpu for each in found)
        if not needed and TPUCombination.TPU_TEST:
            return False, "Test that doesn't require TPUs."
        if needed and not TPUCombination.TPU_TEST:
            return False, "Test requires a TPU, but it's not available."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [OptionalParameter("required_tpus"), OptionalParameter("required_tpu")]


class TPUCombination(NamedTPUCombination):
    """The same, for tests that are given strategies themselves."""

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [DistributionParameter(), *super().parameter_modifiers()]


generate_for_strategies = functools.partial(
    generate, test_combinations=(*GRAPH_RULES, GPUCombination(), TPUCombination())
)


def _tpu_strategy() -> Any:
    raise unsupported("tf.distribute.experimental.TPUStrategy")


def _mirrored(name: str, *devices: str, gpus: int | None = None) -> NamedDistribution:
    return NamedDistribution(name, lambda: MirroredStrategy(devices), gpus)


def _one_device(name: str, device: str, gpus: int | None = None) -> NamedDistribution:
    return NamedDistribution(name, lambda: OneDeviceStrategy(device), gpus)


_WORKER = "/job:worker/replica:0/task:1"
default_strategy = NamedDistribution("Default", current_default_strategy)
one_device_strategy = _one_device("OneDeviceCPU", "/cpu:0")
one_device_strategy_gpu = _one_device("OneDeviceGPU", "/gpu:0", 1)
one_device_strategy_on_worker_1 = _one_device("OneDeviceOnWorker1CPU", f"{_WORKER}/cpu:0")
one_device_strategy_gpu_on_worker_1 = _one_device("OneDeviceOnWorker1GPU", f"{_WORKER}/gpu:0", 1)
tpu_strategy = NamedDistribution("TPU", _tpu_strategy, required_tpu=True)
tpu_strategy_one_step = NamedDistribution("TPUOneStep", _tpu_strategy, required_tpu=True)
tpu_strategy_one_core = NamedDistribution("TPUOneCore", _tpu_strategy, required_tpu=True)
tpu_strategy_one_step_one_core = NamedDistribution(
    "TPUOneStepOneCore", _tpu_strategy, required_tpu=True
)
mirrored_strategy_with_one_cpu = _mirrored("Mirrored1CPU", "/cpu:0")
mirrored_strategy_with_one_gpu = _mirrored("Mirrored1GPU", "/gpu:0", gpus=1)
mirrored_strategy_with_gpu_and_cpu = _mirrored("MirroredCPUAndGPU", "/gpu:0", "/cpu:0", gpus=1)
mirrored_strategy_with_two_gpus = _mirrored("Mirrored2GPUs", "/gpu:0", "/gpu:1", gpus=2)
mirrored_strategy_with_cpu_1_and_2 = _mirrored("Mirrored2CPU", "/cpu:1", "/cpu:2")
central_storage_strategy_with_two_gpus = NamedDistribution(
    "CentralStorage2GPUs", lambda: CentralStorageStrategy._from_num_gpus(2), 2
)
central_storage_strategy_with_gpu_and_cpu = NamedDistribution(
    "CentralStorageCPUAndGPU", lambda: CentralStorageStrategy(["/gpu:0", "/cpu:0"]), 1
)

gradient_descent_optimizer_v1_fn = NamedObject(
    "GradientDescentV1", lambda: GradientDescentOptimizer(0.2)
)
adagrad_optimizer_v1_fn = NamedObject("AdagradV1", lambda: AdagradOptimizer(0.001))
adam_optimizer_v1_fn = NamedObject("AdamV1", lambda: AdamOptimizer(0.001, epsilon=1))
rmsprop_optimizer_v1_fn = NamedObject("RmsPropV1", lambda: RMSPropOptimizer(0.001))
optimizers_v1 = [gradient_descent_optimizer_v1_fn, adagrad_optimizer_v1_fn]
gradient_descent_optimizer_keras_v2_fn = NamedObject("GradientDescentKerasV2", lambda: SGD(0.2))
adagrad_optimizer_keras_v2_fn = NamedObject("AdagradKerasV2", lambda: Adagrad(0.001))
adam_optimizer_keras_v2_fn = NamedObject("AdamKerasV2", lambda: Adam(0.001, epsilon=1.0))
rmsprop_optimizer_keras_v2_fn = NamedObject("RmsPropKerasV2", lambda: RMSprop(0.001))
optimizers_v2 = [gradient_descent_optimizer_keras_v2_fn, adagrad_optimizer_keras_v2_fn]
optimizers_v1_and_v2 = optimizers_v1 + optimizers_v2

graph_and_eager_modes = ["graph", "eager"]
strategies_minus_tpu = [
    default_strategy, one_device_strategy, one_device_strategy_gpu,
    mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus,
]  # fmt: skip
tpu_strategies = [tpu_strategy, tpu_strategy_one_step]
_WITH_OPTIMIZERS = [
    one_device_strategy, mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus,
]  # fmt: skip


def set_virtual_cpus_to_at_least(num_virtual_cpus: int) -> None:
    """Make so many CPU devices of the first one, unless there are enough."""
    if num_virtual_cpus < 1:
        raise ValueError(f"`num_virtual_cpus` must be at least 1 not {num_virtual_cpus!r}")
    cpus = list_physical_devices("CPU")
    if not cpus:
        raise RuntimeError("No CPUs found")
    parts = get_virtual_device_configuration(cpus[0])
    if parts is None:
        parts = [VirtualDeviceConfiguration() for _ in range(num_virtual_cpus)]
        set_virtual_device_configuration(cpus[0], parts)
    if len(parts) < num_virtual_cpus:
        raise RuntimeError(
            f"Already configured with {len(parts)} < {num_virtual_cpus} virtual CPUs"
        )


def distributions_and_v1_optimizers() -> list[Combination]:
    """Strategies with optimizers of `tf.train`."""
    return combine(distribution=_WITH_OPTIMIZERS, optimizer_fn=optimizers_v1)


def distributions_and_v2_optimizers() -> list[Combination]:
    """Strategies with optimizers of Keras."""
    return combine(distribution=_WITH_OPTIMIZERS, optimizer_fn=optimizers_v2)


def distributions_and_v1_and_v2_optimizers() -> list[Combination]:
    """Strategies with optimizers of either kind."""
    return combine(distribution=_WITH_OPTIMIZERS, optimizer_fn=optimizers_v1_and_v2)


def strategy_minus_tpu_combinations() -> list[Combination]:
    """Strategies but those of TPUs, in graphs and without."""
    return combine(distribution=strategies_minus_tpu, mode=["graph", "eager"])


def tpu_strategy_combinations() -> list[Combination]:
    """Strategies of TPUs, in graphs."""
    return combine(distribution=tpu_strategies, mode=["graph"])


def all_strategy_combinations() -> list[Combination]:
    """All of these."""
    return strategy_minus_tpu_combinations() + tpu_strategy_combinations()


def all_strategy_minus_default_and_tpu_combinations() -> list[Combination]:
    """Strategies that a program enters, but those of TPUs."""
    return combine(distribution=strategies_minus_tpu[1:], mode=["graph", "eager"])


def all_strategy_combinations_minus_default() -> list[Combination]:
    """Strategies that a program enters."""
    return all_strategy_minus_default_and_tpu_combinations() + tpu_strategy_combinations()
