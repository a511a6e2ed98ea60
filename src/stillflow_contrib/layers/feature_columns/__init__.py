"""Feature columns of `tf.contrib.layers`: the first ones, before `tf.feature_column`."""
