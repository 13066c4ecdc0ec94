"""Say if no package index answers: `make` asks after a failed installation, whose message names other causes.

Standard library only: it runs before anything is installed. Prints one line if the index cannot be reached, else
nothing: then the installer's message stands.
"""

import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

NAMED_BY = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
"""Variables that name the index, the one that uv prefers first."""
PYPI = "https://pypi.org/simple"
PATIENCE_S = 10.0


def main() -> None:
    """Ask the index that uv and pip use."""
    index = next((os.environ[name] for name in NAMED_BY if os.environ.get(name)), PYPI)
    index = _without_password(index)
    if problem := unreachable(index):
        print(
            f"error: the package index {index} cannot be reached ({problem}): "
            "connect to a network, or name another index in PIP_INDEX_URL",
            file=sys.stderr,
        )


def unreachable(index: str) -> str:
    """Why no server answers at this address; empty if one does, whatever it answers and whoever signed for it."""
    try:
        with urllib.request.urlopen(index, timeout=PATIENCE_S):
            return ""
    except urllib.error.HTTPError:
        return ""
    except urllib.error.URLError as error:
        return "" if isinstance(error.reason, ssl.SSLError) else str(error.reason)
    except (OSError, ValueError) as error:
        return str(error)


def _without_password(index: str) -> str:
    parts = urllib.parse.urlsplit(index)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


if __name__ == "__main__":
    main()
