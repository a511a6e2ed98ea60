"""tf.summary: what TensorBoard shows, written into event files."""
