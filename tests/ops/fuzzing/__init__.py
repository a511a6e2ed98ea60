"""Random arguments for every operation: errors are typed, name the operation and leak nothing."""
