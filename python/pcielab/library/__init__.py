"""Everything that is described in files: profiles and suites, found, read, merged and checked.

`catalog` knows all kinds. `profiles` has links, hosts, cards and systems, `suites` the lists of tests; `nics`,
`message_profiles` and `fabrics` what else has files of its own. `skeleton` makes a first description of a machine
from what `lspci` says of it. What values do belongs to the compiled half.
"""
