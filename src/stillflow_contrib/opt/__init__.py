"""`tf.contrib.opt`: more optimizers, and wrappers of optimizers."""
