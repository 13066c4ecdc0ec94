"""What stores say: compared, explained, validated, fitted, and held against the papers' numbers.

Nothing here changes a store, and nothing is drawn; `pcielab.report` makes pictures and pages of it.
"""
