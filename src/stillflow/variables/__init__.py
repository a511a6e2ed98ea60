"""Variables: `tf.Variable`, `tf.get_variable`, scopes, partitions, initializers."""
