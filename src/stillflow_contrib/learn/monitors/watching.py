"""Monitors that log, keep or check values, or end training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow_contrib.learn.monitors.base import BaseMonitor, EveryN, extract_output


@export("contrib.learn.monitors.StopAtStep")
class StopAtStep(BaseMonitor):
    """Monitor that ends training, in every worker.

    Args:
      num_steps: after so many steps.
      last_step: or at this global step.

    Raises:
      ValueError: if both are given, or none.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    @property
    def run_on_all_workers(self) -> bool:
        return True

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        if self._last_step is None:
            self._last_step = step + (self._num_steps or 0) - 1
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        return self._last_step is not None and step >= self._last_step


@export("contrib.learn.monitors.PrintTensor")
class PrintTensor(EveryN):
    """Logs tensors.

    Args:
      tensor_names: names of tensors, or {tag: name}.
      every_n: how often, in steps.
      first_n: how many steps at the beginning are logged, too.
    """

    def __init__(
        self, tensor_names: dict[str, Any] | Iterable[Any], every_n: int = 100, first_n: int = 1
    ) -> None:
        super().__init__(every_n, first_n)
        if not isinstance(tensor_names, dict):
            tensor_names = {name: name for name in tensor_names}
        self._tensor_names = tensor_names

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return list(self._tensor_names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        logging.info("Step %d: %s", step, _listed(self._tensor_names, outputs))


@export("contrib.learn.monitors.LoggingTrainable")
class LoggingTrainable(EveryN):
    """Logs the variables that are trained.

    Args:
      scope: below which they are; all if None.
      every_n: how often, in steps.
      first_n: how many steps at the beginning are logged, too.
    """

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)
        self._names = {variable.name: variable.value().name for variable in variables}
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        logging.info("Logging Trainable: Step %d: %s", step, _listed(self._names, outputs))


def _listed(names: dict[str, Any], outputs: dict[Any, Any]) -> str:
    return ", ".join(f"{tag} = {outputs[name]}" for tag, name in names.items() if name in outputs)


@export("contrib.learn.monitors.CaptureVariable")
class CaptureVariable(EveryN):
    """Monitor that keeps the values of a variable or tensor.

    Args:
      var_name: its name.
      every_n: how often, in steps.
      first_n: how many values of the beginning are kept, too.
    """

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._var_values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        """{step: value}."""
        return self._var_values

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        self._var_values[step] = extract_output(outputs, self._var_name)


@export(
    "contrib.learn.NanLossDuringTrainingError",
    "contrib.learn.monitors.NanLossDuringTrainingError",
)
class NanLossDuringTrainingError(RuntimeError):
    """Error of a training whose loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


@export("contrib.learn.monitors.NanLoss")
class NanLoss(EveryN):
    """Monitor that ends training when the loss is NaN.

    Args:
      loss_tensor: the loss.
      every_n_steps: how often it is looked at.
      fail_on_nan_loss: whether to raise, or to log and stop.

    Raises:
      NanLossDuringTrainingError: at such a step.
    """

    def __init__(
        self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
    ) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if not np.isnan(extract_output(outputs, self._loss_tensor)):
            return False
        failure = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(failure)
            raise NanLossDuringTrainingError
        logging.warning(failure)
        return True


@export("contrib.learn.monitors.GraphDump")
class GraphDump(BaseMonitor):
    """Monitor that keeps the first output of every operation at every step.

    Args:
      ignore_ops: the types of those to leave out; `IGNORE_OPS` if None.
    """

    IGNORE_OPS = [
        "Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice",
    ]  # fmt: skip

    def __init__(self, ignore_ops: list[str] | None = None) -> None:
        super().__init__()
        self._ignore_ops = ignore_ops or GraphDump.IGNORE_OPS
        self._data: dict[int, Any] = {}

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps=max_steps)
        self._tensors = []
        for op in get_default_graph().get_operations():
            if op.type in self._ignore_ops:
                continue
            logging.info("op=%s name=%s.", op.type, op.name)
            self._tensors.extend(op.outputs[:1])

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        return self._tensors

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        self._data[step] = output
        return False

    @property
    def data(self) -> dict[int, Any]:
        """{step: {name: value}}."""
        return self._data

    def compare(
        self, other_dump: GraphDump, step: int, atol: float = 1e-06
    ) -> tuple[list[str], dict[str, Any]]:
        """Compare the values of a step with those of another run.

        Returns:
          The names of those that agree, and {name: difference} of the others.

        Raises:
          ValueError: if the other run does not have one.
        """
        matched, differences = [], {}
        other = other_dump.data.get(step, {})
        for name, value in self.data.get(step, {}).items():
            if not isinstance(name, str):
                continue
            if name not in other:
                raise ValueError("%s missing at step %s.", (name, step))
            if isinstance(value, str):
                continue
            is_array = isinstance(value, np.ndarray)
            if np.allclose(value, other[name], atol=atol) if is_array else value == other[name]:
                matched.append(name)
            else:
                differences[name] = value - other[name] if is_array else (value, other[name])
        return matched, differences
