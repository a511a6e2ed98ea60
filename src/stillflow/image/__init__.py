"""tf.image: compositions over the operations on images."""
