"""Plans of requests: prune, trace to steps, place in memory, emit."""
