"""The text of a page of pcielab, with what it holds packed."""

import base64
import re
import zlib

_PACKED = re.compile(r'(<script type="application/octet-stream" id="specifications">)([^<]*)(</script>)')


def unpacked(page: str) -> str:
    """A page with its specifications as JSON, whose `<` are escaped as in an element."""

    def text(found: re.Match[str]) -> str:
        json = zlib.decompress(base64.b64decode(found[2])).decode()
        return found[1] + json.replace("<", "\\u003c") + found[3]

    return _PACKED.sub(text, page)
