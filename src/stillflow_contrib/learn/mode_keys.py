"""Modes of a function that builds a model."""

from __future__ import annotations

from stillflow.graph.export import export


@export("contrib.learn.ModeKeys")
class ModeKeys:
    """The modes of `tf.contrib.learn`; programs without estimators use them, too."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Check a mode.

        Raises:
          ValueError: if it is none of these.
        """
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")
