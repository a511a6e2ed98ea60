"""`tf.contrib.copy_graph`: operations and variables copied from one graph into another."""
