"""Names of a device or processor that the asker gave and that nothing here knows: said, never dropped.

A name is known if its kind of device is, or if a published figure has one of its words.
"""

import re
from collections.abc import Iterator

from pcielab.analysis.normal.question import LINE_RATE, Question, kind_of
from pcielab.library.alike import alike
from pcielab.library.published_figures import published_figures
from pcielab.wording import shown

_WORD = re.compile(r"[a-z0-9][\w.+-]{2,}", re.ASCII)
_UNUSED = {
    "device": "it says nothing about line or kind, and devices of all kinds that fit are compared",
    "processor": "figures are compared whatever their processor",
}


def unknown_names(question: Question) -> Iterator[str]:
    """A sentence on each name of a question that is not known, with names that resemble it."""
    figures = published_figures().values()
    known_kind = kind_of(question.device, None) is not None
    for what, name, names in (
        ("device", "" if known_kind else question.device, (figure.device for figure in figures)),
        ("processor", question.cpu, (figure.cpu for figure in figures)),
    ):
        if not name.strip():
            continue
        known = {word: whole for text in names for word, whole in _words(text).items()}
        asked = _words(name)
        if not asked.keys() & known.keys():
            near = [known[word] for one in asked for word in alike(one, known, most=1)]
            hint = f" (did you mean {near[0]}?)" if near else ""
            yield f"No {what} like {shown(name)} is known{hint}: {_UNUSED[what]}."


def _words(text: str) -> dict[str, str]:
    """The words of a name in small letters, each with its spelling, without a line rate."""
    plain = LINE_RATE.sub(" ", text)
    return {word.lower(): word for word in re.split(r"[\s,()]+", plain) if _WORD.fullmatch(word.lower())}
