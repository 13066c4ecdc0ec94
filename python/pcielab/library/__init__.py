"""Profiles and suites in files: found, read, merged and checked. The compiled half interprets their values.

`catalog` knows all kinds. `profiles` has links, hosts, devices and systems, `suites` the lists of tests; `nics`,
`message_profiles` and `fabrics` have the others. `skeleton` drafts a system profile from the output of `lspci`.
"""
