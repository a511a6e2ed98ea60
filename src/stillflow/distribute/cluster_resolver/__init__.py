"""Where the tasks of a cluster are: `tf.distribute.cluster_resolver`."""
