"""`tf.contrib.nearest_neighbor`: neighbours of points by hashing."""
