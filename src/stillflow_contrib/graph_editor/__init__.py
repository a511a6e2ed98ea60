"""`tf.contrib.graph_editor`: parts of a graph are selected, copied, rewired and replaced."""
