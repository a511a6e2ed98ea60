"""The order in which the operations and steps of a plan run."""
