"""The points that the server streams: a page's newer question ends its older one, and few streams run at once.

They run without a browser, whose event loop a file's tests share.
"""

import asyncio
import json
from typing import Any

import pytest

from pcielab import _core
from pcielab.explore.live import STREAMS_MOST, Live, wanted
from pcielab.explore.question import Question, Systems


def test_a_stopped_point_is_not_simulated() -> None:
    systems = Systems()
    question = Question()
    first = next(wanted(question, systems.resolved(question)))
    stop = _core.Stop()
    stop.request()
    assert first.point.record(stop)["status"] == "interrupted"


def test_a_newer_question_of_a_page_ends_only_its_older_one() -> None:
    systems = Systems()
    older, newer = Question(window=1 << 26), Question(window=1 << 25)

    async def ask() -> tuple[list[str], list[str], list[str]]:
        live = Live()
        first = live.stream("page", older, systems.resolved(older))
        other = live.stream("another page", older, systems.resolved(older))
        begun = [await anext(first), await anext(other)]
        second = [line async for line in live.stream("page", newer, systems.resolved(newer))]
        return begun + [line async for line in first], second, [line async for line in other]

    ended, second, other = asyncio.run(ask())
    assert len(ended) == 2
    assert json.loads(second[-1]) == json.loads(other[-1]) == {"done": True}


@pytest.mark.parametrize("pages", [[f"page {number}" for number in range(40)], ["one page"] * 40])
def test_the_number_of_streams_is_limited(pages: list[str]) -> None:
    systems = Systems()
    question = Question(window=1 << 26)

    async def ask() -> list[dict[str, Any]]:
        live = Live()
        streams = [live.stream(page, question, systems.resolved(question)) for page in pages]
        # All of them begin before the first has its first point.
        first = [asyncio.ensure_future(anext(stream, json.dumps({"superseded": True}))) for stream in streams]
        await asyncio.sleep(0)
        begun = live.is_full
        lines = [json.loads(await line) for line in first]
        for stream in streams:
            await stream.aclose()
        assert begun
        assert not live.is_full
        return lines

    problems = [line.get("problem") for line in asyncio.run(ask())]
    assert problems.count("too many pages are open: close some") == 40 - STREAMS_MOST
