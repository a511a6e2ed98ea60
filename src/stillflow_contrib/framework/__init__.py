"""Parts of `tf.contrib.framework` that few programs use: initializers of convolutions."""
