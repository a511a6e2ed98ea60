"""Input pipelines: datasets, their transformations and iterators (`tf.data`)."""
