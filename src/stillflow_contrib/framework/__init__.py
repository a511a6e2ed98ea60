"""Parts of `tf.contrib.framework` that few programs use: checks, global steps."""
