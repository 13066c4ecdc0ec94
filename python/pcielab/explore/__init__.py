"""The live instrument: a server on the loopback address, and its pages.

`serve` starts it. Pages request answers of the model (`answers`, in milliseconds), simulated points (`points`,
streamed coarse to fine, dropped when superseded), stores and fabrics. The server keeps only its input and a cache
of points; a page's state is in its address. `guard` checks every request.
"""
