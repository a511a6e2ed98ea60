"""Plans: from a graph to running code.

    session -> PlanRequest -> prune -> trace -> StepGraph -> passes -> memory -> emit -> run

`docs/architecture.md` follows one `sess.run` through these packages.
"""
