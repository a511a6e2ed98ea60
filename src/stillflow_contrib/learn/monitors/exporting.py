"""`tf.contrib.learn.monitors.ExportMonitor`: exports while a model is trained."""

from __future__ import annotations

from typing import Any

from stillflow.estimator.estimator import Estimator
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.util.notices import noticed
from stillflow_contrib.learn.monitors.base import EveryN


@export("contrib.learn.monitors.ExportMonitor")
class ExportMonitor(EveryN):
    """Exports the model by `Estimator.export` every some steps and at the end.

    Args:
      every_n_steps: how often.
      export_dir: the folder of exports.
      input_fn: gives features and labels; if None, features are parsed from `Example`s.
      input_feature_key: the feature that is the tensor of examples.
      exports_to_keep: how many exports stay.
      signature_fn: gives signatures of examples, features and predictions.
      default_batch_size: how many examples there are.
    """

    @noticed("contrib.learn.monitors.ExportMonitor")
    def __init__(
        self, every_n_steps: int, export_dir: Any, input_fn: Any = None,
        input_feature_key: str | None = None, exports_to_keep: int | None = 5,
        signature_fn: Any = None, default_batch_size: int | None = 1,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps=every_n_steps)
        self.export_dir = export_dir
        self.exports_to_keep = exports_to_keep
        self.signature_fn = signature_fn
        self._settings = {
            "input_fn": input_fn,
            "input_feature_key": input_feature_key,
            "default_batch_size": default_batch_size,
            "use_deprecated_input_fn": input_fn is None,
        }
        # The folder of the last export that was made.
        self.last_export_dir: Any = None

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        self._export()

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if latest_checkpoint(self._estimator.model_dir) is None:
            logging.info("Skipping export at the end since model has not been saved yet.")
        else:
            self._export()

    def _export(self) -> None:
        if isinstance(self._estimator, Estimator):
            raise ValueError(
                "ExportMonitor does not support `tf.estimator.Estimator. `. Please pass an "
                "ExportStrategy to Experiment instead."
            )
        settings = {
            **self._settings,
            "exports_to_keep": self.exports_to_keep,
            "signature_fn": self.signature_fn,
        }
        try:
            self.last_export_dir = self._estimator.export(self.export_dir, **settings)
        except RuntimeError:  # of one checkpoint there is one export
            logging.info(
                "Skipping exporting because the existing checkpoint has already been exported. "
                "Consider exporting less frequently."
            )
