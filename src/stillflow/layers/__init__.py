"""`tf.layers`: layers that keep their variables, and functions that make one and call it.

They derive from the layers of `tf.keras.layers`, to which they add naming and sharing of variables
by variable scopes. `base_layer` and the modules that it imports are the base of both.
"""
