"""Hiding of features that `$STILLFLOW_TEST_PLATFORM` does not have, in each test process."""

import os

if os.environ.get("STILLFLOW_TEST_PLATFORM"):
    import hidden_platform

    hidden_platform.everywhere(os.environ["STILLFLOW_TEST_PLATFORM"])
