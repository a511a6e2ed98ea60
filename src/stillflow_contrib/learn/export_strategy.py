"""tf.contrib.learn.ExportStrategy: export of an `Experiment`'s model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.graph.export import export
from stillflow.util import tf_inspect
from stillflow.util.notices import noticed


class _Fields(NamedTuple):
    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None


@export("contrib.learn.ExportStrategy")
class ExportStrategy(_Fields):
    """A name, which is that of a folder, and a function that exports.

    Args:
      name: the folder below `export`.
      export_fn: called with the estimator, the folder and, if it has such arguments,
        `checkpoint_path`, `eval_result` and `strip_default_attrs`.
      strip_default_attrs: whether attributes with default values are left out.
    """

    __slots__ = ()

    @noticed("contrib.learn.ExportStrategy")
    def __new__(
        cls, name: str, export_fn: Callable[..., Any], strip_default_attrs: bool | None = None
    ) -> ExportStrategy:
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any = None, eval_result: Any = None
    ) -> bytes:
        """Call the function, and return its result.

        Raises:
          ValueError: if it takes results, and no checkpoint.
        """
        args = tf_inspect.getargspec(self.export_fn).args
        if "eval_result" in args and "checkpoint_path" not in args:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        offered = {
            "checkpoint_path": checkpoint_path, "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }  # fmt: skip
        arguments = {name: value for name, value in offered.items() if name in args}
        return self.export_fn(estimator, export_path, **arguments)
