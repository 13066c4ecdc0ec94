"""Whether a value is normal: what its link allows, what others measured, and what may be wrong.

    >>> import pcielab
    >>> print(pcielab.normal("h2d", "54.1GB/s", link="gen5x16", engine="copy"))

The bound comes first, because ratios to bounds agree over generations where rates do not. Of a store, `normal`
judges each row.
"""

from pcielab.analysis.normal.answer import Normal
from pcielab.analysis.normal.ask import normal

__all__ = ["Normal", "normal"]
