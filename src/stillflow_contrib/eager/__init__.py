"""`tf.contrib.eager`: what programs with eager execution used before TensorFlow 2."""
