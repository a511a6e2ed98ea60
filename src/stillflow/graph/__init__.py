"""Graphs, operations, tensors and op cards: the program as data, independent of torch."""
