"""Cluster resolvers: `tf.distribute.cluster_resolver`."""
