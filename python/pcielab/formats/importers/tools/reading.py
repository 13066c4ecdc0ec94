"""Read numbers, JSON and the lines of a tool's file, and refuse others by name and place."""

import json
from pathlib import Path
from typing import Any, NoReturn

from pcielab.errors import refusal
from pcielab.library import input_files
from pcielab.wording import shown

NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
"""A number as the tools print it."""
_MOST_BYTES = 64 << 20


def read_text(file: Path) -> str:
    """The content of a tool's file.

    Raises:
        InputError: It cannot be read, or is empty.
    """
    text = input_files.read_text(file, _MOST_BYTES)
    if not text.strip():
        raise refusal("damaged", f"{file}, line 1: the file is empty: copy it again")
    return text


def parse_json(text: str, file: Path, gathered: str = "", start: int = 0) -> tuple[Any, int]:
    """A JSON value in a text, and where it ends.

    Args:
        text: The text.
        file: The file, for errors.
        gathered: A key that may repeat: its value is a list of all its values.
        start: Where it begins.

    Raises:
        InputError: It is not JSON, or truncated.
    """
    decoder = json.JSONDecoder(
        parse_constant=_no_constant, object_pairs_hook=lambda pairs: _object(pairs, gathered)
    )
    try:
        found, end = decoder.raw_decode(text, start)
        if "\\ud" in text[start:end].lower():
            json.dumps(found, ensure_ascii=False).encode()
        return found, end
    except json.JSONDecodeError as error:
        raise refusal(
            "malformed",
            f"{file}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}): the file is "
            "truncated or damaged; copy it again",
        ) from None
    except RecursionError:
        raise refusal(
            "malformed", f"{file}: not valid JSON: brackets are nested too deeply: copy the file again"
        ) from None
    except UnicodeEncodeError:
        raise refusal(
            "malformed", f"{file}: not valid JSON: a text has half a character: copy the file again"
        ) from None
    except ValueError as error:
        raise refusal("malformed", f"{file}: not valid JSON: {shown(str(error))}: copy the file again") from None


def _object(pairs: list[tuple[str, Any]], gathered: str) -> dict[str, Any]:
    found = dict(pairs)
    if gathered in found:
        values = [value for key, value in pairs if key == gathered]
        found[gathered] = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def refuse(file: Path, line: int, text: str, expected: str) -> NoReturn:
    """Raise an error that names file, line and text."""
    raise refusal("malformed", f"{file}, line {line}: {shown(text)}: {expected}")
