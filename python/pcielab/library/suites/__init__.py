"""Suites: ordered lists of tests in TOML files.

`load_suite` reads a shipped suite or a file, `load_message_suite` one of messages; `single_test` makes the single
test of a command line. The simulator interprets tests.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.library.suites.benchmark import BENCHMARKS, Parameters, Test
    from pcielab.library.suites.load import Suite, load_suite, names
    from pcielab.library.suites.messages import (
        MessageSuite,
        load_message_suite,
        message_suite_names,
    )
    from pcielab.library.suites.single import single_test

__all__ = [
    "BENCHMARKS",
    "MessageSuite",
    "Parameters",
    "Suite",
    "Test",
    "load_message_suite",
    "load_suite",
    "message_suite_names",
    "names",
    "single_test",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab.library.suites.benchmark": ["BENCHMARKS", "Parameters", "Test"],
        "pcielab.library.suites.load": ["Suite", "load_suite", "names"],
        "pcielab.library.suites.messages": [
            "MessageSuite",
            "load_message_suite",
            "message_suite_names",
        ],
        "pcielab.library.suites.single": ["single_test"],
    },
)
