"""What a machine should give: for each device and pair a bound, an expected range, and the edge that limits.

    import pcielab

    pcielab.expect("rome2s-8x4090", ask=["p2p-write gpu0>gpu4"]).frame

A machine is a tree of links with a root complex on top (`machine`). Flows of a question pass edges (`edges`), each
with a range that published figures of comparable edges give (`ranges`, `tables`), and share them max-min fairly
(`sharing`). `judging` compares the answers with rows of boxes, each site left out of the tables in turn.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
