"""Questions about messages: stores through write-combining buffers, uncached stores, descriptor DMA.

pydantic makes the objects of answers, as in `model/questions.py`.
"""

from collections.abc import Sequence

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.library.link import Link
from pcielab.library.message_profiles import RecordedMessages
from pcielab.model.answer_list import Answers
from pcielab.model.answers import Crossings, Loopback, Messages
from pcielab.model.link import Accounting
from pcielab.model.questions import model_json, question_json
from pcielab.model.whole_questions import MessagesQuestion

_MESSAGES = TypeAdapter(list[Messages])
_CROSSINGS = TypeAdapter(list[Crossings])
_LOOPBACKS = TypeAdapter(list[Loopback | None])


@refuses_wrong_types
def messages(
    profile: RecordedMessages,
    payloads_bytes: Sequence[int],
    *,
    link: Link | None = None,
    flushes: int = 0,
    accounting: Accounting = Accounting.SPEC,
) -> Answers[Messages]:
    """Messages of each payload, 1 B to 64 KiB, in each of the three ways.

    `notes` of the answers names the measured core where the link is of a later generation than it had.

    Args:
        profile: Core and device.
        payloads_bytes: Payload sizes.
        link: The link; absent: the one that the profile's times were measured on.
        flushes: Partial flushes within a message.
        accounting: Accounting of bytes on the link.
    """
    question = _question(profile, payloads_bytes, link, flushes, accounting)
    answers = _MESSAGES.validate_json(_core.model_messages(profile.handle, question))
    return Answers(answers, times_of_older_link(profile, link))


def times_of_older_link(profile: RecordedMessages, link: Link | None) -> list[str]:
    """A sentence on whose core answers, if the link is of a later generation than that of its times."""
    sentence = None if link is None else profile.handle.times_of_older_link(link.generation)
    return [] if sentence is None else [sentence]


@refuses_wrong_types
def crossings(
    profile: RecordedMessages,
    *,
    link: Link | None = None,
    accounting: Accounting = Accounting.SPEC,
) -> Crossings:
    """Payloads from which descriptor DMA beats write-combined stores, by latency, bandwidth and CPU time."""
    question = _question(profile, [], link, 0, accounting)
    return _CROSSINGS.validate_json(_core.model_message_crossings(profile.handle, question))[0]


@refuses_wrong_types
def loopback(
    profile: RecordedMessages, packets_bytes: Sequence[int], *, link: Link | None = None
) -> list[Loopback]:
    """The latency of packets written by stores, looped back and returned by DMA.

    Raises:
        InputError: The profile has no measured loopback, or a size is out of range.
    """
    question = _question(profile, packets_bytes, link, 0, Accounting.SPEC)
    answers = _LOOPBACKS.validate_json(_core.model_loopback(profile.handle, question))
    found = [answer for answer in answers if answer is not None]
    if len(found) < len(answers):
        raise refusal(
            "missing", f"profile {profile.name}: has no [loopback]: give one that has, for example exanic-2018"
        )
    return found


def _question(
    profile: RecordedMessages,
    payloads_bytes: Sequence[int],
    link: Link | None,
    flushes: int,
    accounting: Accounting,
) -> str:
    question: MessagesQuestion = {
        "model": model_json(link or profile.link, accounting, None),
        "payloads_bytes": list(payloads_bytes),
        "flushes": flushes,
    }
    return question_json(question)
