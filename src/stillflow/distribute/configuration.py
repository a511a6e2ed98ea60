"""Strategies of training and evaluation, in one object."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph.export import export


class _DistributeConfig(NamedTuple):
    train_distribute: Any
    eval_distribute: Any
    remote_cluster: Any


@export("contrib.distribute.DistributeConfig")
class DistributeConfig(_DistributeConfig):
    """Strategies of training and evaluation.

    Args:
      train_distribute: the strategy of training.
      eval_distribute: the strategy of evaluation.
      remote_cluster: a cluster of other processes.
    """

    def __new__(
        cls, train_distribute: Any = None, eval_distribute: Any = None, remote_cluster: Any = None
    ) -> DistributeConfig:
        return super().__new__(cls, train_distribute, eval_distribute, remote_cluster)
