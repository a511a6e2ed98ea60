"""`tf.layers`: layers that keep their variables, and functions that make one and call it.

`base_layer` and `keras_style` hold what `tf.layers` has in common with `tf.keras.layers`; the other
modules add naming and sharing of variables by variable scopes.
"""
