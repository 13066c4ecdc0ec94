"""Suites: ordered lists of tests in TOML files.

`load_suite` reads a shipped suite or a file, `load_message_suite` one of messages; `single_test` makes the single
test of a command line. The simulator interprets tests.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
