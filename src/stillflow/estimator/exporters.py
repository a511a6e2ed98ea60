"""tf.estimator's exporters: which of the checkpoints that were evaluated become SavedModels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.estimator.spec import LOSS_METRIC_KEY
from stillflow.files import gfile
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.summary.writer import summary_iterator
from stillflow.util.function_utils import fn_args

# An export's folder is named by its time, in seconds.
_VERSION_DIGITS = 10


@export("estimator.Exporter")
class Exporter:
    """Exporter, called after each evaluation in `train_and_evaluate`."""

    @property
    def name(self) -> str:
        """The folder below `export` in the model's."""
        raise NotImplementedError

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:  # fmt: skip
        """Export the model, or not.

        Args:
          estimator: the `Estimator`.
          export_path: the folder to export into.
          checkpoint_path: the evaluated checkpoint.
          eval_result: {metric: value}.
          is_the_final_export: whether training has ended.

        Returns:
          The path of the export; None if there is none.
        """
        raise NotImplementedError


class _SavedModelExporter(Exporter):
    """Exports for serving, and keeps so many exports."""

    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any, as_text: bool,
        exports_to_keep: int | None = None,
    ) -> None:  # fmt: skip
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}"
            )
        self._name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text
        self._exports_to_keep = exports_to_keep

    @property
    def name(self) -> str:
        """The folder below `export` in the model's."""
        return self._name

    def _export(self, estimator: Any, export_path: Any, checkpoint_path: Any) -> bytes:
        result = estimator.export_saved_model(
            export_path, self._receiver_fn, assets_extra=self._assets_extra,
            as_text=self._as_text, checkpoint_path=checkpoint_path,
        )  # fmt: skip
        if self._exports_to_keep is not None:
            keep_latest(os.fsdecode(export_path), self._exports_to_keep)
        return result


def keep_latest(folder: str, count: int) -> None:
    """Delete all exports in a folder but the latest ones."""
    names = [name.rstrip("/") for name in gfile.list_directory(folder)]
    exports = sorted(name for name in names if len(name) == _VERSION_DIGITS and name.isdigit())
    for name in exports[: max(len(exports) - count, 0)]:
        path = os.path.join(folder, name)
        try:
            gfile.delete_recursively(path)
        except errors.NotFoundError as error:
            logging.warn("Can not delete %s recursively: %s", path, error)


@export("estimator.LatestExporter")
class LatestExporter(_SavedModelExporter):
    """Exports after every evaluation.

    Args:
      name: the folder below `export` in the model's.
      serving_input_receiver_fn: gives the features and their inputs.
      assets_extra: {path below `assets.extra`: file} of more files.
      as_text: whether messages are written as text.
      exports_to_keep: how many exports stay; all if None.

    Raises:
      ValueError: if `exports_to_keep` is not positive.
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Any = None,
        as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> bytes:  # fmt: skip
        return self._export(estimator, export_path, checkpoint_path)


@export("estimator.FinalExporter")
class FinalExporter(_SavedModelExporter):
    """Exports once, when training has ended.

    Args:
      name, serving_input_receiver_fn, assets_extra, as_text: as in `LatestExporter`.
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Any = None,
        as_text: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._export(estimator, export_path, checkpoint_path)


def _loss_smaller(
    best_eval_result: dict[str, Any] | None, current_eval_result: dict[str, Any] | None
) -> bool:
    given = {
        "best_eval_result": best_eval_result,
        "current_eval_result": current_eval_result,
    }
    losses = []
    for name, result in given.items():
        if not result or LOSS_METRIC_KEY not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
        losses.append(result[LOSS_METRIC_KEY])
    best, current = losses
    return bool(best > current)


@export("estimator.BestExporter")
class BestExporter(_SavedModelExporter):
    """Exports whenever an evaluation is better than all before.

    Args:
      name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep: as in
        `LatestExporter`.
      event_file_pattern: below the model's folder, the event files of earlier evaluations, so that
        a job that was stopped knows the best of them; None to begin again.
      compare_fn: called with `best_eval_result` and `current_eval_result`; says whether the
        current one is better. By default, whether its loss is smaller.

    Raises:
      ValueError: if `compare_fn` takes other arguments, or `exports_to_keep` is not positive.
    """

    def __init__(
        self, name: str = "best_exporter", serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = _loss_smaller, assets_extra: Any = None,
        as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        _check_compare_fn(compare_fn)
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._is_better = compare_fn
        self._event_file_pattern = event_file_pattern
        self._model_dir: str | None = None
        self._best: dict[str, Any] | None = None

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any, eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        if self._event_file_pattern and self._model_dir != estimator.model_dir:
            logging.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            pattern = os.path.join(estimator.model_dir, self._event_file_pattern)
            self._best = self._best_of_files(pattern)
        if self._best is not None and not self._is_better(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        logging.info("Performing best model export.")
        self._best = eval_result
        return self._export(estimator, export_path, checkpoint_path)

    def _best_of_files(self, pattern: str) -> dict[str, Any] | None:
        best: dict[str, Any] | None = None
        for path in gfile.get_matching_files(pattern):
            for event in summary_iterator(path):
                values = event.summary.value if event.HasField("summary") else ()
                result = {
                    value.tag: value.simple_value
                    for value in values
                    if value.HasField("simple_value")
                }
                if result and (
                    best is None
                    or self._is_better(best_eval_result=best, current_eval_result=result)
                ):
                    best = result
        return best


def _check_compare_fn(compare_fn: Any) -> None:
    wanted = ("best_eval_result", "current_eval_result")
    names = set(fn_args(compare_fn))
    for name in wanted:
        if name not in names:
            raise ValueError(f"compare_fn ({compare_fn}) must include {name} argument.")
    if names - set(wanted):
        raise ValueError(
            f"compare_fn ({compare_fn}) has following not expected args: "
            f"{sorted(names - set(wanted))}"
        )
