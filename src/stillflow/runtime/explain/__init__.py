"""Reports of plans: the passes that changed them, and their steps.

    with recorded() as plans:
        session.run(train)
    print(text_of(plans[0]))

While nothing is recorded, making a plan costs a look at an empty list.
"""

from stillflow.runtime.explain.recording import recorded as recorded
