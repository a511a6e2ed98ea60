"""Tests that save a model under one strategy and restore it under another, or under none."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
from absl.testing import parameterized

from stillflow.data.dataset_v1 import DatasetV1
from stillflow.graph.random_seed import set_random_seed
from stillflow.ops.arrays.concat import concat
from stillflow.saved_model.object_reading import load
from stillflow.testing import strategies as known
from stillflow.testing.combinations import Combination, combine
from stillflow.testing.test_case import TestCase
from stillflow_contrib.testing import model_examples as models

_SEED, _SIGNATURE, PREDICT_STEPS = 1337, "serving_default", 1
simple_models = [models.simple_functional_model, models.simple_sequential_model]
strategies = [
    known.one_device_strategy, known.one_device_strategy_gpu,
    known.mirrored_strategy_with_one_cpu, known.mirrored_strategy_with_one_gpu,
    known.mirrored_strategy_with_gpu_and_cpu, known.mirrored_strategy_with_two_gpus,
    known.tpu_strategy,
]  # fmt: skip


def _combined(kinds: Any, in_functions: list[bool], **which: Any) -> list[Combination]:
    return combine(
        model_and_input=kinds, mode=["eager"], experimental_run_tf_function=in_functions, **which
    )


_PAIRS = {"distribution_for_saving": strategies, "distribution_for_restoring": strategies}


def simple_models_with_strategies() -> list[Combination]:
    """Return each model of Keras with each strategy."""
    return _combined(simple_models, [True, False], distribution=strategies)


def simple_models_with_strategy_pairs() -> list[Combination]:
    """Return each model of Keras with each pair of strategies."""
    return _combined(simple_models, [True, False], **_PAIRS)


def tfmodule_models_with_strategies() -> list[Combination]:
    """Return the `tf.Module` with each strategy."""
    return _combined([models.simple_tfmodule_model], [True], distribution=strategies)


def tfmodule_models_with_strategy_pairs() -> list[Combination]:
    """Return the `tf.Module` with each pair of strategies."""
    return _combined([models.simple_tfmodule_model], [True], **_PAIRS)


def is_tpu_strategy(distribution: Any) -> bool:
    """Return True for strategies of TPUs."""
    return type(distribution).__name__.startswith("TPUStrategy")


def get_tolerance(save_distribution: Any, restore_distribution: Any) -> float:
    """Return how far results may differ: not at all but on TPUs."""
    on_tpu = is_tpu_strategy(save_distribution) or is_tpu_strategy(restore_distribution)
    return 1e-7 if on_tpu else 1e-30


def load_and_run_with_saved_model_api(
    distribution: Any, saved_dir: str, predict_dataset: Any, output_name: str
) -> Any:
    """Return the output of a model's signature for one batch, of which each replica has a part."""
    signature = load(saved_dir).signatures[_SIGNATURE]
    if not distribution:
        return signature(next(iter(predict_dataset)))[output_name]
    batch = next(iter(distribution.experimental_distribute_dataset(predict_dataset)))
    parts = distribution.experimental_run_v2(signature, args=(batch,))[output_name]
    return concat(distribution.experimental_local_results(parts), 0)


def _scope(strategy: Any) -> Any:
    return strategy.scope() if strategy else contextlib.nullcontext()


class TestSavedModelBase(TestCase, parameterized.TestCase):
    """Base of such tests; subclasses save and restore a model."""

    def setUp(self) -> None:
        np.random.seed(_SEED)
        set_random_seed(_SEED)
        self._root_dir = "base"
        super().setUp()

    def _save_model(self, model: Any, saved_dir: str) -> None:
        raise NotImplementedError("must be implemented in descendants")

    def _load_and_run_model(
        self, distribution: Any, saved_dir: str, predict_dataset: Any, output_name: str,
        experimental_run_tf_function: bool,
    ) -> Any:  # fmt: skip
        """Restore a model, and return what it predicts in a step."""
        raise NotImplementedError("must be implemented in descendants")

    def _train_model(self, model: Any, x_train: Any, y_train: Any, batch_size: int) -> None:
        batches = DatasetV1.from_tensor_slices((x_train, y_train)).repeat().batch(batch_size)
        model.fit(x=batches, epochs=1, steps_per_epoch=100)

    def _predict_with_model(self, distribution: Any, model: Any, predict_dataset: Any) -> Any:
        del distribution
        return model.predict(predict_dataset, steps=PREDICT_STEPS)

    def _get_predict_dataset(self, x_predict: Any, batch_size: int) -> Any:
        return DatasetV1.from_tensor_slices(x_predict).repeat().batch(batch_size)

    def _saved_and_restored(
        self, model_and_input: Any, saving: Any, restoring: Any, in_scope: bool, in_function: bool,
        folder: str,
    ) -> None:  # fmt: skip
        saved_dir = os.path.join(self.get_temp_dir(), folder)
        with _scope(saving):
            model, output = model_and_input.get_model(experimental_run_tf_function=in_function)
            inputs, targets, others = model_and_input.get_data()
            size = model_and_input.get_batch_size()
            self._train_model(model, inputs, targets, size)
            rows = self._get_predict_dataset(others, size)
            before = self._predict_with_model(saving, model, rows)
        with _scope(saving if in_scope else None):
            self._save_model(model, saved_dir)
        with _scope(restoring):
            after = self._load_and_run_model(
                distribution=restoring, saved_dir=saved_dir, predict_dataset=rows,
                output_name=output, experimental_run_tf_function=in_function,
            )  # fmt: skip
        self.assertAllClose(before, after, atol=get_tolerance(saving, restoring))

    def run_test_save_no_strategy_restore_strategy(
        self, model_and_input: Any, distribution: Any, experimental_run_tf_function: bool
    ) -> None:
        """Save a model under no strategy, and restore it under one."""
        self._saved_and_restored(
            model_and_input, None, distribution, False, experimental_run_tf_function, "0"
        )

    def run_test_save_strategy_restore_no_strategy(
        self, model_and_input: Any, distribution: Any, save_in_scope: bool,
        experimental_run_tf_function: bool,
    ) -> None:  # fmt: skip
        """Save a model under a strategy, and restore it under none."""
        self._saved_and_restored(
            model_and_input, distribution, None, save_in_scope, experimental_run_tf_function, "1"
        )

    def run_test_save_strategy_restore_strategy(
        self, model_and_input: Any, distribution_for_saving: Any, distribution_for_restoring: Any,
        save_in_scope: bool, experimental_run_tf_function: bool,
    ) -> None:  # fmt: skip
        """Save a model under a strategy, and restore it under another."""
        self._saved_and_restored(
            model_and_input, distribution_for_saving, distribution_for_restoring, save_in_scope,
            experimental_run_tf_function, "2",
        )  # fmt: skip
