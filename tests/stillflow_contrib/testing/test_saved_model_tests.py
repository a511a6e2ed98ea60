"""The shared tests of saving save a model under one strategy and restore it under another."""

from __future__ import annotations

from unittest import mock

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode
from stillflow_contrib.testing import saved_model_tests as shared
from stillflow_contrib.testing.model_examples import simple_sequential_model

MIRRORED, ONE = tf.distribute.MirroredStrategy, tf.distribute.OneDeviceStrategy


class Case(shared.TestSavedModelBase):
    """Saves by Keras, and runs signatures."""

    __test__ = False

    def _train_model(self, model, x_train, y_train, batch_size):
        model.fit(x_train[:20], y_train[:20], batch_size, verbose=0)

    def _save_model(self, model, saved_dir):
        tf.compat.v2.saved_model.save(model, saved_dir)

    def _load_and_run_model(
        self, distribution, saved_dir, predict_dataset, output_name, experimental_run_tf_function
    ):
        return shared.load_and_run_with_saved_model_api(
            distribution, saved_dir, predict_dataset, output_name
        )

    def runTest(self):
        """Nothing: unittest asks for a method."""


@pytest.mark.parametrize("in_scope", [True, False])
@pytest.mark.parametrize("restoring", [None, "mirrored"])
def test_a_mirrored_model_is_restored(in_scope, restoring):
    with eager_mode():
        case = Case()
        case.setUp()
        saving = MIRRORED(["/cpu:0"])
        given = simple_sequential_model, saving
        if restoring:
            case.run_test_save_strategy_restore_strategy(
                *given, MIRRORED(["/cpu:0"]), in_scope, False
            )
        else:
            case.run_test_save_strategy_restore_no_strategy(*given, in_scope, False)


def test_a_model_is_restored_under_a_strategy_and_differences_fail():
    with eager_mode():
        case = Case()
        case.setUp()
        given = simple_sequential_model, ONE("/cpu:0"), False
        case.run_test_save_no_strategy_restore_strategy(*given)
        with mock.patch.object(Case, "_load_and_run_model", lambda *args, **kwargs: 0.0):
            with pytest.raises(AssertionError):
                case.run_test_save_no_strategy_restore_strategy(*given)


def test_combinations_are_of_models_and_strategies():
    singles = shared.simple_models_with_strategies()
    pairs = shared.simple_models_with_strategy_pairs()
    assert (len(singles), len(pairs)) == (2 * 2 * 7, 2 * 2 * 7 * 7)
    assert len(shared.tfmodule_models_with_strategies()) == 7
    assert len(shared.tfmodule_models_with_strategy_pairs()) == 49
    assert shared.get_tolerance(None, MIRRORED(["/cpu:0"])) == 1e-30
