"""`tf.contrib.eager`: interface of eager execution before TensorFlow 2."""
