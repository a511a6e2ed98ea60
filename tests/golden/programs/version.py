"""Versions and constants of the library."""

from __future__ import annotations

from tests.golden.registry import Run, program


@program
def version_and_constants(tf):
    return Run(facts={
        "version": [tf.__version__, tf.VERSION, tf.version.VERSION],
        "graph_def": [tf.GRAPH_DEF_VERSION, tf.GRAPH_DEF_VERSION_MIN_CONSUMER],
        "eager": tf.executing_eagerly(),
        "newaxis": tf.newaxis is None,
        "quantized": len(tf.QUANTIZED_DTYPES),
        "auto_reuse": str(tf.AUTO_REUSE),
        "levels": [tf.logging.INFO, tf.logging.WARN, tf.logging.ERROR, tf.logging.DEBUG],
    })
