"""Queues and what resembles them: barriers, staging areas, accumulators of gradients."""
