"""tf.lite: models of TensorFlow Lite, read, run and written.

A model is translated into a graph of TensorFlow operations (`translation.py`) that a session runs;
the converter goes the other way. Quantized models are computed in integers, as TensorFlow Lite
computes them.
"""
