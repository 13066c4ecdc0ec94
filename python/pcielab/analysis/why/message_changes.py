"""Changes of messages: another way of sending or link, more buffers or messages in flight, in closed form."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pcielab import model
from pcielab.analysis.why.answer import Change
from pcielab.analysis.why.gains import Gain, link_changes
from pcielab.kinds.explained import Explained
from pcielab.library.link import Link
from pcielab.library.message_profiles import RecordedMessages
from pcielab.model.answers import Messages, Sending

_WAYS = {
    "uncached": ("uncached", "uncached stores"),
    "write-combined": ("write_combined", "write-combined stores"),
    "descriptors": ("descriptors", "descriptors"),
}
"""Ways of sending in stores, in the answers of `pcielab.model.messages`, and in words."""


def message_gains(profile: RecordedMessages, row: Explained) -> list[Gain]:
    """What each change gives a test of messages, in closed form; nothing for a way that has none."""
    way = row.asked.get("way")
    if way not in _WAYS:
        return []
    size, link = int(row.asked["size_bytes"]), _link(profile, row.asked)

    def value(changed: RecordedMessages, on: Link, by: str) -> float:
        [answer] = model.messages(changed, [size], link=on)
        return _value(answer, by, row.unit)

    before = value(profile, link, way)
    tried = [
        *(
            ("test", f"{words} instead of {_WAYS[way][1]}", value(profile, link, other))
            for other, (_, words) in _WAYS.items()
            if other != way
        ),
        *(("link", what, value(profile, on, way)) for what, on in _links(link)),
        *(("device", what, value(changed, link, way)) for what, changed in _profiles(profile, way)),
    ]
    changes = [Change(what, before, after, row.unit, of) for of, what, after in tried]
    return [Gain(change, (change.gain_percent,)) for change in changes]


def _value(answer: Messages, way: str, unit: str) -> float:
    sending: Sending = getattr(answer, _WAYS[way][0])
    return sending.latency_ns if unit == "ns" else sending.bandwidth.gbps


def _link(profile: RecordedMessages, asked: Mapping[str, Any]) -> Link:
    generation, lanes = asked.get("generation"), asked.get("lanes")
    if generation is None or lanes is None:
        return profile.link
    return replace(profile.link, generation=generation, lanes=lanes, flit_mode=None)


def _links(link: Link) -> Iterator[tuple[str, Link]]:
    for change, new in link_changes({"generation": link.generation, "lanes": link.lanes}):
        yield change.what, replace(link, flit_mode=None, **new)  # type: ignore[arg-type]


def _profiles(profile: RecordedMessages, way: str) -> Iterator[tuple[str, RecordedMessages]]:
    if way == "write-combined":
        buffers = profile.core.write_combining_buffers
        changed = profile.with_({"core.write_combining_buffers": buffers * 2})
        yield f"write-combining buffers {buffers} -> {buffers * 2}", changed
    if way == "descriptors":
        many = profile.descriptors.messages_in_flight
        changed = profile.with_({"descriptors.messages_in_flight": many * 2})
        yield f"messages in flight {many} -> {many * 2}", changed
