"""Models made of layers, and their training."""
