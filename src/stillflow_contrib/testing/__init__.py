"""`tf.contrib.testing`: a summary writer for tests, and what event files hold."""
