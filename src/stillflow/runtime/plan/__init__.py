"""From a request to compiled code: prune, trace to steps, place in memory, emit."""
