"""tf.estimator.ModeKeys: the modes of a model function."""

from __future__ import annotations

from stillflow.graph.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """The modes of a model function: training, evaluation, prediction.

    Example:
      >>> tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT
      ('train', 'eval', 'infer')
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
