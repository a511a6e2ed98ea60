"""`tf.contrib.stat_summarizer`: where the time of many runs goes, as a table."""
