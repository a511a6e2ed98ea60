"""From a graph to running code: prune, fold, order, emit, run."""
