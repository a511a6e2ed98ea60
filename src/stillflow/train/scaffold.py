"""tf.train.Scaffold: the operations that a training session needs, given or made by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.summary.merging import merge_all
from stillflow.platform import tf_logging as logging
from stillflow.train.saver import Saver, get_saver_or_default
from stillflow.train.tracking.base import Trackable
from stillflow.variables import collections as variables
from stillflow.variables import resources

# Attributes that a scaffold copies from another.
_COPIED = (
    "init_op", "init_feed_dict", "ready_op", "ready_for_local_init_op", "local_init_op",
    "summary_op", "saver",
)  # fmt: skip


def _default_init_op() -> Any:
    return group(
        variables.global_variables_initializer(),
        resources.initialize_resources(resources.shared_resources()),
    )


def _default_ready_op() -> Tensor:
    return concat(
        [
            variables.report_uninitialized_variables(),
            resources.report_uninitialized_resources(),
        ],
        0,
    )


def _default_ready_for_local_init_op() -> Tensor:
    return concat(
        [
            variables.report_uninitialized_variables(variables.global_variables()),
            resources.report_uninitialized_resources(resources.shared_resources()),
        ],
        0,
    )


@export("train.Scaffold")
class Scaffold:
    """Operations of a session: initialization, checks, saver and summaries.

    Missing operations are looked up in the graph's collections, or made, by `finalize`.

    Args:
      init_op: initializes variables.
      init_feed_dict: fed to `init_op`.
      init_fn: called with the scaffold and the session after `init_op`.
      ready_op: gives the names of variables that are not initialized.
      ready_for_local_init_op: the same, for the variables that `local_init_op` needs.
      local_init_op: initializes the local variables of each process.
      summary_op: gives merged summaries.
      saver: a `Saver`, or a `Checkpoint`.
      copy_from_scaffold: a scaffold to take over from what is not given.

    Raises:
      TypeError: if `copy_from_scaffold` is no scaffold.

    Example:
      >>> v = tf.Variable([1.0, 2.0])
      >>> creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=v.assign([5.0, 6.0])))
      >>> with tf.train.MonitoredSession(creator) as sess: print(sess.run(v))
      [5. 6.]
    """

    def __init__(
        self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None,
        ready_op: Any = None, ready_for_local_init_op: Any = None, local_init_op: Any = None,
        summary_op: Any = None, saver: Any = None, copy_from_scaffold: Any = None,
    ) -> None:  # fmt: skip
        self._init_op = init_op
        self._init_feed_dict = init_feed_dict
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._local_init_op = local_init_op
        self._summary_op = summary_op
        self._saver = saver
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            for name in _COPIED:
                if getattr(self, f"_{name}") is None:
                    setattr(self, f"_{name}", getattr(copy_from_scaffold, name))
            if init_fn is None:
                init_fn = copy_from_scaffold._user_init_fn
        self._user_init_fn: Any = init_fn
        self._init_fn = (lambda sess: init_fn(self, sess)) if init_fn else None

    def finalize(self) -> Scaffold:
        """Make missing operations and make the graph read-only; return the scaffold."""
        made: tuple[tuple[str, str, Callable[[], Any]], ...] = (
            ("init_op", GraphKeys.INIT_OP, _default_init_op),
            ("ready_op", GraphKeys.READY_OP, _default_ready_op),
            (
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                _default_ready_for_local_init_op,
            ),
            ("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
            ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
        )
        for name, collection, default in made:
            if getattr(self, f"_{name}") is None:
                setattr(self, f"_{name}", Scaffold.get_or_default(name, collection, default))
        if self._saver is None:
            self._saver = get_saver_or_default()
        if isinstance(self._saver, Trackable) and not hasattr(self._saver, "build"):
            self._saver = _object_saver(self._saver)
        else:
            self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[..., Any] | None:
        """Called with the session after `init_op`."""
        return self._init_fn

    @property
    def init_op(self) -> Tensor | Operation | None:
        """Initializes variables."""
        return self._init_op

    @property
    def ready_op(self) -> Tensor | None:
        """Gives the names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Tensor | None:
        """The names of uninitialized variables that `local_init_op` needs."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Operation | None:
        """The initialization of each process's own variables."""
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        """Gives merged summaries."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        """Fed to `init_op`."""
        return self._init_feed_dict

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Any
    ) -> Tensor | Operation | None:
        """Return the only item of a collection, or else add the result of `default_constructor`.

        Raises:
          RuntimeError: if there are several.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                f"one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        op = default_constructor()
        if op is not None:
            add_to_collection(collection_key, op)
        return op

    @staticmethod
    def default_local_init_op() -> Any:
        """Initialize local variables, tables and local resources."""
        return group(
            variables.local_variables_initializer(),
            variables.tables_initializer(),
            resources.initialize_resources(resources.local_resources()),
        )


def _object_saver(checkpoint: Any) -> Saver:
    """Return a saver of a `Checkpoint`'s objects."""
    from stillflow.train.tracking.checkpoint import saveables_of

    return Saver(var_list=saveables_of(checkpoint), sharded=True)
