"""`tf.contrib.slim.nets`: networks that classify images."""
