"""Execution of graphs: prune, fold, order, emit, run."""
