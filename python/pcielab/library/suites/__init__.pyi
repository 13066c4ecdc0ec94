"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.library.suites.benchmark import BENCHMARKS as BENCHMARKS, Parameters as Parameters, Test as Test
from pcielab.library.suites.load import (
    MessageSuite as MessageSuite,
    Suite as Suite,
    load_message_suite as load_message_suite,
    load_suite as load_suite,
    message_suite_names as message_suite_names,
    names as names,
)
from pcielab.library.suites.single import single_test as single_test
