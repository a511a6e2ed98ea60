"""Functions applied to one element after another: tf.map_fn, tf.foldl, tf.foldr, tf.scan."""
