"""`tf.test`: the test case, gradient checks, and questions about the machine."""
