"""What every test finds: Ctrl-C as a program on a terminal has it.

Processes that share the tests out ignore it, and so would the commands that tests start and interrupt.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
