"""Hides from each process that the tests start what `$STILLFLOW_TEST_PLATFORM` names lacks."""

import os

if os.environ.get("STILLFLOW_TEST_PLATFORM"):
    import hidden_platform

    hidden_platform.everywhere(os.environ["STILLFLOW_TEST_PLATFORM"])
