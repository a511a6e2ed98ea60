"""tf.estimator.WarmStartSettings: which variables begin with the values of another checkpoint."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from stillflow.files import gfile
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.platform.compat import path_to_str
from stillflow.saved_model.names import VARIABLES_DIRECTORY, VARIABLES_FILENAME


class _Fields(NamedTuple):
    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any
    var_name_to_vocab_info: Any
    var_name_to_prev_var_name: Any


@export("estimator.WarmStartSettings")
class WarmStartSettings(_Fields):
    """Arguments of `tf.train.warm_start`, called before training starts.

    Args:
      ckpt_to_initialize_from: a checkpoint, or a folder with some.
      vars_to_warm_start: a regular expression of variable names, a list of them or of variables;
        None for embeddings of vocabularies only.
      var_name_to_vocab_info: {variable: `VocabInfo`}.
      var_name_to_prev_var_name: {variable: name in the checkpoint}.

    Raises:
      ValueError: if no checkpoint is given.
    """

    __slots__ = ()

    def __new__(
        cls, ckpt_to_initialize_from: Any, vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: Any = None, var_name_to_prev_var_name: Any = None,
    ) -> WarmStartSettings:  # fmt: skip
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls, ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )  # fmt: skip


def warm_start_settings(warm_start_from: Any) -> WarmStartSettings | None:
    """Return warm-start settings from settings, a checkpoint, a SavedModel, or None."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, (str, bytes, os.PathLike)):
        raise ValueError(
            "warm_start_from must be a string or a WarmStartSettings, instead got "
            f"{type(warm_start_from)}"
        )
    path = path_to_str(warm_start_from)
    variables = os.path.join(os.fsdecode(path), VARIABLES_DIRECTORY, VARIABLES_FILENAME)
    if gfile.file_exists(f"{variables}.index"):
        logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(variables)
    return WarmStartSettings(path)
