"""Conclusions from stores: compare, explain, calibrate, validate, and check against the papers' numbers.

Stores are only read. `pcielab.report` draws the results.
"""
