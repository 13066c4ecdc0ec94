"""Where the profiles and suites that come with pcielab are.

They live at the top of the repository, where people look for them. `shipped_data` holds links to those folders;
building a wheel follows the links, so that the same path works in an editable install and in an installed wheel.
"""

from pathlib import Path

_ROOT = Path(__file__).parent / "shipped_data"


def directory(kind: str) -> Path:
    """The folder of what is shipped of one kind: `profiles` or `suites`."""
    return _ROOT / kind
