"""Fabrics as files: trees of nodes and links, flows that run on them, and suites of experiments."""
