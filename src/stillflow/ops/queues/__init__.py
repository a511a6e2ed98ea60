"""Queues and similar objects: barriers, staging areas, accumulators of gradients."""
