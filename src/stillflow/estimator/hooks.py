"""Names of `tf.estimator` that are defined in `tf.train`."""

from __future__ import annotations

from stillflow.graph.export import export_value
from stillflow.train.hook_timer import SecondOrStepTimer
from stillflow.train.logging_hooks import (
    FeedFnHook,
    FinalOpsHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
)
from stillflow.train.saving_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    ProfilerHook,
    SummarySaverHook,
)
from stillflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from stillflow.train.step_counter import StepCounterHook
from stillflow.train.stopping_hooks import GlobalStepWaiterHook, StopAtStepHook
from stillflow.train.warm_starting import VocabInfo

export_value("estimator.CheckpointSaverHook", CheckpointSaverHook)
export_value("estimator.CheckpointSaverListener", CheckpointSaverListener)
export_value("estimator.FeedFnHook", FeedFnHook)
export_value("estimator.FinalOpsHook", FinalOpsHook)
export_value("estimator.GlobalStepWaiterHook", GlobalStepWaiterHook)
export_value("estimator.LoggingTensorHook", LoggingTensorHook)
export_value("estimator.NanLossDuringTrainingError", NanLossDuringTrainingError)
export_value("estimator.NanTensorHook", NanTensorHook)
export_value("estimator.ProfilerHook", ProfilerHook)
export_value("estimator.SecondOrStepTimer", SecondOrStepTimer)
export_value("estimator.SessionRunArgs", SessionRunArgs)
export_value("estimator.SessionRunContext", SessionRunContext)
export_value("estimator.SessionRunHook", SessionRunHook)
export_value("estimator.SessionRunValues", SessionRunValues)
export_value("estimator.StepCounterHook", StepCounterHook)
export_value("estimator.StopAtStepHook", StopAtStepHook)
export_value("estimator.SummarySaverHook", SummarySaverHook)
export_value("estimator.VocabInfo", VocabInfo)
