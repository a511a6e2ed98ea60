"""Parts of `tf.contrib.boosted_trees`: losses of examples, and operations run together."""
