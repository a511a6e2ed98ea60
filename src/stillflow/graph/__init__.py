"""The program as data: graphs, operations, tensors, op cards. Knows nothing of torch."""
