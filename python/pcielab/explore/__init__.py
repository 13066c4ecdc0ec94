"""The live instrument: a server on the loopback address, and the pages that it serves.

`serve` starts it. A page asks questions: what the model says (`answers`, in milliseconds), what the simulator
says (`points`, streamed coarse to fine, dropped when superseded), what stores and fabrics hold. The server keeps
nothing but what it was given and a memory of points: the state of a page is in its address. `guard` says who may
ask.
"""
