"""`tf.contrib.meta_graph_transform`: graph transforms of a MetaGraphDef with all that it holds."""
