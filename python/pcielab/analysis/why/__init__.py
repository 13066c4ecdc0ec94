"""Why a value is as it is: what binds, how sure that is, and which change would give most.

    >>> import pcielab
    >>> print(pcielab.why("run.db"))
    >>> print(pcielab.why(pcielab.single_test("bw-rd", size=64), profile="snb", measured=20))

`why` takes any store, two stores, one test, frames through a NIC, or a fabric with flows. Its answer has at most
three sentences, bars for a picture, and a table. Every number comes from the closed form, the simulator or the
estimator; the gain of a change is the value with the change made.
"""

from pcielab.analysis.why.answer import Bar, Certainty, Change, Why
from pcielab.analysis.why.ask import why

__all__ = ["Bar", "Certainty", "Change", "Why", "why"]
