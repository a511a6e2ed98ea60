"""The name ``tensorflow``: served to programs that say ``import tensorflow as tf``.

Only on request (``stillflow.install()``, ``python -m stillflow``, ``%load_ext stillflow``), because
other libraries take the mere presence of that name as a promise.
"""
