"""The part of a model that runs single steps."""

from __future__ import annotations

from typing import Any

from stillflow.graph.arrays import Array
from stillflow.keras.engine import immediate_steps
from stillflow.keras.engine.model_inputs import ModelInputs
from stillflow.layers.learning_phase import symbolic_learning_phase
from stillflow.util import tf_inspect


class Steps:
    """`train_on_batch`, `test_on_batch` and `predict_on_batch`."""

    optimizer: Any
    call: Any
    train_function: Any
    test_function: Any
    predict_function: Any
    reset_metrics: Any
    _standardize_user_data: Any
    _set_weight_modes: Any
    _make_execution_function: Any
    _runs_at_once: Any
    _distribution_strategy: Any

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One step of training.

        Args:
          x, y: inputs and targets; lists or dictionaries if there are several.
          sample_weight, class_weight: weights of examples and classes.
          reset_metrics: whether metrics are of this batch alone.

        Returns:
          The loss; a list with the metrics if there are some.
        """
        self._check_compiled()
        self._check_call_arguments("train_on_batch")
        x, y, weights = self._standardize_user_data(
            x, y, sample_weight=sample_weight, class_weight=class_weight,
            extract_tensors_from_dataset=True,
        )  # fmt: skip
        if self._runs_at_once():
            outputs = immediate_steps.values(immediate_steps.train(self, x, y, weights))
            return self._results_of_batch(outputs, reset_metrics)
        feeds = ModelInputs(x).as_list() + list(y or []) + list(weights or [])
        if not isinstance(symbolic_learning_phase(), int):
            feeds = [*feeds, True]
        self._set_weight_modes(weights)
        outputs = self._make_execution_function("train", (len(x), len(y)))(feeds)
        return self._results_of_batch(outputs, reset_metrics)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """The loss of a batch; a list with the metrics if there are some.

        Args:
          x, y: inputs and targets; lists or dictionaries if there are several.
          sample_weight: weights of examples.
          reset_metrics: whether metrics are of this batch alone.
        """
        self._check_compiled()
        self._check_call_arguments("test_on_batch")
        x, y, weights = self._standardize_user_data(
            x, y, sample_weight=sample_weight, extract_tensors_from_dataset=True
        )
        if self._runs_at_once():
            outputs = immediate_steps.values(immediate_steps.test(self, x, y, weights))
            return self._results_of_batch(outputs, reset_metrics)
        self._set_weight_modes(weights)
        feeds = ModelInputs(x).as_list() + list(y or []) + list(weights or [])
        outputs = self._make_execution_function("test", (len(x), len(y)))(feeds)
        return self._results_of_batch(outputs, reset_metrics)

    def predict_on_batch(self, x: Any) -> Array:
        """Return the outputs for a batch; a list if there are several."""
        self._check_call_arguments("predict_on_batch")
        inputs, _, _ = self._standardize_user_data(x, extract_tensors_from_dataset=True)
        if self._runs_at_once():
            return immediate_steps.predict(self, inputs)
        outputs = self._make_execution_function("predict", (len(inputs), 0))(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _results_of_batch(self, outputs: list[Any], reset_metrics: bool) -> Any:
        if reset_metrics:
            self.reset_metrics()
        return outputs[0] if len(outputs) == 1 else outputs

    def _check_compiled(self) -> None:
        if not self.optimizer:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile("
                "optimizer, loss)`."
            )

    def _check_call_arguments(self, method: str) -> None:
        """Raise ValueError for a `call` that needs more than inputs."""
        if self._distribution_strategy and method not in ("fit", "evaluate", "predict"):
            raise NotImplementedError(
                f"`{method}` is not supported for models distributed with tf.distribute.Strategy."
            )
        spec = tf_inspect.getfullargspec(self.call)
        count = len(spec.args) - len(spec.defaults or ())
        needed = [name for name in spec.args[:count] if name != "training"]
        if len(needed) > 2:
            raise ValueError(
                f"Models passed to `{method}` can only have `training` and the first argument in "
                f"`call` as positional arguments, found: {needed[2:]}."
            )
