"""The server ends once its last page is closed, and a page that is loaded again keeps it: without a clock."""

import asyncio

from pcielab.explore.app import Presence


async def _passed() -> None:
    """Let the event loop carry out what was due without a delay."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_the_server_ends_after_the_last_page() -> None:
    async def leaves_after_each_step() -> list[int]:
        left: list[None] = []
        presence = Presence(lambda: left.append(None), 0.0)
        found = []
        first, second = presence.held(), presence.held()
        for step in (first.__anext__, second.__anext__, first.aclose, second.aclose):
            await step()
            await _passed()
            found.append(len(left))
        return found

    assert asyncio.run(leaves_after_each_step()) == [0, 0, 0, 1]


def test_a_page_that_is_loaded_again_keeps_the_server() -> None:
    async def leaves() -> int:
        left: list[None] = []
        presence = Presence(lambda: left.append(None), 0.0)
        first, again = presence.held(), presence.held()
        await first.__anext__()
        # Closed and opened within the grace: the loop looks only after both.
        await first.aclose()
        await again.__anext__()
        await _passed()
        return len(left)

    assert asyncio.run(leaves()) == 0


def test_a_server_that_stays_never_ends() -> None:
    async def leaves() -> int:
        left: list[None] = []
        presence = Presence(lambda: left.append(None), None)
        only = presence.held()
        await only.__anext__()
        await only.aclose()
        await _passed()
        return len(left)

    assert asyncio.run(leaves()) == 0
