"""The intermediate form of plans: steps, their values and memory, and the facts known of them."""
