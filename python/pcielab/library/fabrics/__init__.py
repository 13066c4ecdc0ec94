"""Fabrics in files: trees of nodes and links, flows, and suites of experiments."""
