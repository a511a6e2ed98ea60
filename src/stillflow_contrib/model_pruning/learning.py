"""`tf.contrib.model_pruning.train`: training that prunes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow_contrib.slim import learning

_USE_DEFAULT = 0


@export("contrib.model_pruning.train")
def train(
    train_op: Any,
    logdir: str | None,
    mask_update_op: Any,
    train_step_fn: Callable[..., Any] = learning.train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Any = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    trace_every_n_steps: int | None = None,
) -> Any:
    """`tf.contrib.slim.learning.train` that updates masks after every step.

    Args:
      train_op: makes a step, and gives the loss.
      logdir: the folder of checkpoints and event files; None for none.
      mask_update_op: as `Pruning.conditional_mask_update_op` gives it.
      train_step_fn: makes a step; see `tf.contrib.slim.learning.train`.
      train_step_kwargs, log_every_n_steps, ...: as of `tf.contrib.slim.learning.train`.

    Raises:
      TypeError: when training is done. TensorFlow 1.15 takes the loss that training returns for a
        pair, and programs that go on afterwards expect that.
    """
    options = dict(locals())
    for own in ("train_op", "logdir", "mask_update_op", "train_step_fn"):
        del options[own]

    def step_and_prune(sess: Any, train_op: Any, global_step: Any, kwargs: Any) -> Any:
        total_loss, should_stop = train_step_fn(sess, train_op, global_step, kwargs)
        sess.run(mask_update_op)
        return total_loss, should_stop

    total_loss, _ = learning.train(train_op, logdir, train_step_fn=step_and_prune, **options)
    return total_loss
