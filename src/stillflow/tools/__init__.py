"""TensorFlow's tools for graphs and checkpoints: ``tensorflow.python.tools``.

Each is a module with the functions that programs call, and a command line: ``python -m stillflow -m
tensorflow.python.tools.freeze_graph ...`` or ``python -m stillflow freeze_graph ...``.
"""
