"""`tf.contrib.slim`: training and evaluation, data sets, networks; its layers are contrib's own."""
