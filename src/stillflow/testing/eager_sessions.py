"""Sessions of tests in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NoSession:
    """Session of a test in eager mode: unusable."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "Trying to access properties or call methods on the result of self.session(), "
            "self.cached_session(), etc while eager execution is enabled. If you're porting this "
            "test case to TF 2.0, either adapt the test to work with eager execution or insert a "
            "call to tf.disable_eager_execution() in the main() function of this test file."
        )


class EagerSession:
    """Session that returns the values of eager tensors, as a session of a graph computes them.

    Args:
      evaluate: gives the values of a structure of tensors.
    """

    def __init__(self, evaluate: Callable[[Any], Any]) -> None:
        self._evaluate = evaluate

    def run(self, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the values of tensors.

        Args:
          fetches: a tensor or a structure of them.
          *args: none.
          **kwargs: `feed_dict`, if it is empty.

        Raises:
          RuntimeError: if there is anything else.
        """
        if kwargs.pop("feed_dict", None):
            raise RuntimeError(_REFUSED.format("feed_dict is"))
        if args or kwargs:
            raise RuntimeError(_REFUSED.format("Optional args are"))
        return self._evaluate(fetches)


_REFUSED = (
    "{} not supported when eager execution is enabled (in this case, sess.run(t) is shorthand for "
    "t.numpy()"
)
