"""`tf.contrib.libsvm`: files of LibSVM."""
