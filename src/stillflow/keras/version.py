"""The version of Keras that `tf.keras` of TensorFlow 1.15 is."""

from __future__ import annotations

from stillflow._export import export_value

VERSION = export_value("keras.__version__", "2.2.4-tf")
