"""`tf.contrib.testing`: a summary writer for tests, and contents of event files."""
