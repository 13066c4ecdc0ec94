"""`sim`: the simulator. Transfers, messages and frames run on the system of `--profile`, lines on an expander.

Flows bring a fabric.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.devices.kind import OF_DEVICES, OF_TRANSFERS, Asked, Carrier, Takes
from pcielab.errors import InputError, found_in, refusal
from pcielab.library import shipped
from pcielab.library.profiles import ResolvedSystem, resolve
from pcielab.library.profiles.borrowed import borrowed_keys, unmeasured_keys
from pcielab.library.profiles.read import parse_sets, split_sets
from pcielab.library.profiles.system import changed_name, changed_title
from pcielab.work.options import WorkKind

if TYPE_CHECKING:
    from pcielab.fabric import Flows
    from pcielab.library.suites import MessageSuite, Suite
    from pcielab.work.frames import Frames
    from pcielab.work.memory_lines import MemoryLines

TITLE = "The simulator, on a system: pcielab run --profile SYSTEM"
SYSTEM = "hsw2620"
"""The default system."""
EXPANDER = "cxl2-ddr5-5600"
"""The default expander of lines."""
_MESSAGES = "kpio-2012"
"""The default profile of messages: the paper's."""
_ACCESSES = "sapphire-rapids-2023"
"""The default profile of suites with loads, doorbells and stores of 64 B, which the paper has no times of."""
_ACCESS_WAYS = frozenset({"uncached-load", "streaming-load", "read-modify-write", "doorbell", "enqueue"})
PORT = "direct-dma"
"""The device whose port and tags a NIC has by default: it does not limit the NIC."""


def system_of(asked: Asked, *sets: str) -> ResolvedSystem:
    """Resolve the requested system; `sets` apply before the requested changes."""
    changes = [*sets, *asked.sets]
    refuse_expander(asked.profile)
    if isinstance(asked.profile, ResolvedSystem):
        return asked.profile.with_(parse_sets(changes)) if changes else asked.profile
    return resolve(str(asked.profile or SYSTEM), changes)


def refuse_expander(profile: object) -> None:
    """Refuse the name of a memory expander where a system is due.

    Raises:
        InputError: It is one.
    """
    if isinstance(profile, str) and profile in shipped.profile_files("expander"):
        raise refusal("conflict", f"--profile {profile}: is a memory expander: give --test mem-rd, or a system")


def in_order(table: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables with their keys in alphabetical order, as canonical JSON has them."""
    return {
        key: in_order(value)
        if isinstance(value, dict)
        else [in_order(one) if isinstance(one, dict) else one for one in value]
        if isinstance(value, list)
        else value
        for key, value in sorted(table.items())
    }


def described(system: ResolvedSystem) -> dict[str, Any]:
    """The manifest's entries for a system."""
    borrowed, unmeasured = borrowed_keys(system), unmeasured_keys(system)
    by_reason = {
        reason: [key for key, found in unmeasured.items() if found == reason]
        for reason in ("assumed", "unidentified")
    }
    return {
        "system": in_order(system.system.dump()),
        "overrides": system.overrides,
        **({"borrowed": borrowed} if borrowed else {}),
        "unmeasured": by_reason,
        **({"fitted_to": system.fitted_to} if system.fitted_to else {}),
        **({"extrapolated": "; ".join(system.extrapolated)} if system.extrapolated else {}),
    }


def _with_origin(name: str, system: ResolvedSystem) -> str:
    """A system in the title of a run that does not have the system's own title."""
    return f"{name} (fitted to {system.fitted_to})" if system.fitted_to else name


def _transfers(asked: Asked, suite: "Suite") -> Carrier:
    system, options = system_of(asked), asked.options
    samples, engine = options.samples or "adaptive", options.engine or "fast"
    backend = _core.Backend.simulated(system.handle, samples=samples, engine=engine)
    title = f"{system.title}, suite {suite.name}"
    return Carrier(backend, suite.handle, title, system.system.name, system.title, described(system))


def _usual_messages(suite: "MessageSuite") -> str:
    """The profile of a suite of messages for which none was asked."""
    ways = {test["parameters"]["way"] for test in suite.tests}
    return _ACCESSES if ways & _ACCESS_WAYS else _MESSAGES


def _messages(asked: Asked, suite: "MessageSuite") -> Carrier:
    from pcielab.library.message_profiles import MessageProfile, load_message_profile

    asked_for, (own, sets) = asked.profile or _usual_messages(suite), split_sets("messages", asked.sets)
    if isinstance(asked_for, MessageProfile):
        profile = asked_for.with_(own, "--set") if own else asked_for
    else:
        profile = load_message_profile(str(asked_for), own)
    system, question = resolve(profile.system, sets), profile.as_question()
    backend = _core.Backend.messages(system.handle, profile.handle, seed=asked.options.seed)
    title = _with_origin(changed_title(profile.title, {**_named("messages", own), **system.overrides}), system)
    # In this order, so that exports of equal runs are equal bytes across versions.
    entries = {**described(system), "seed": asked.options.seed, "messages": question}
    return Carrier(backend, suite.handle, f"{title}, suite {suite.name}", profile.name, title, entries)


def _frames(asked: Asked, frames: "Frames") -> Carrier:
    of_nic, sets = split_sets("nic", asked.sets)
    frames = frames.with_nic(of_nic)
    port = [] if any(text.startswith("device=") for text in sets) else [f"device={PORT}"]
    system, question = system_of(replace(asked, sets=sets), *port), frames.as_question()
    backend = _core.Backend.nic(system.handle, frames.nic.handle, frames.frame_bytes_least)
    tests = frames.to_json()
    with _queues_named(frames.source or frames.name):
        backend.check(tests, seed=asked.options.seed)
    own = {key: value for key, value in system.overrides.items() if (key, value) != ("device", PORT)}
    name = _with_origin(changed_name(system.system.name, own), system)
    nic = changed_name(frames.name, of_nic)
    title = f"{nic} on {name}, {frames.ethernet.line_gbps:g} Gb/s line"
    entries = {**described(system), "overrides": own, "nic": question}
    on = system.system.name if isinstance(asked.profile, ResolvedSystem) else str(asked.profile or SYSTEM)
    return Carrier(backend, tests, title, on, title, entries)


def _lines(asked: Asked, lines: "MemoryLines") -> Carrier:
    from pcielab.library.expanders import ExpanderProfile, load_expander
    from pcielab.library.profiles.read import own_sets

    asked_for, own = asked.profile or EXPANDER, own_sets("expander", asked.sets, "the expander of mem-rd")
    if isinstance(asked_for, ExpanderProfile):
        profile = asked_for.with_(own, "--set") if own else asked_for
    else:
        profile = load_expander(str(asked_for), own)
    backend, tests = _core.Backend.expander(profile.handle), lines.to_json()
    with found_in(profile.name):
        backend.check(tests, seed=asked.options.seed)
    title = changed_title(profile.title, _named("expander", own))
    entries = {"expander": json.loads(profile.json()), **({"overrides": own} if own else {})}
    return Carrier(backend, tests, f"{title}, {100 * lines.read_share:.3g} % reads", profile.name, title, entries)


def _named(kind: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as `--set` takes them."""
    return {f"{kind}.{key}": value for key, value in changes.items()}


@contextmanager
def _queues_named(nic: str) -> Iterator[None]:
    """Prefix errors about a NIC's queues with the NIC."""
    try:
        yield
    except InputError as error:
        if not str(error).startswith("queues"):
            raise
        with found_in(nic):
            raise


def _flows(asked: Asked, flows: "Flows") -> Carrier:
    from pcielab.fabric.run import manifest_of

    fabric = flows.fabric
    entries = manifest_of(fabric, flows.name, len(flows.points))
    backend, title = flows.backend(asked.options.seed), str(entries["title"])
    return Carrier(backend, flows, title, fabric.name, title, entries)


TAKES: dict[WorkKind, Takes] = {
    "transfers": Takes(_transfers, OF_TRANSFERS | {"engine", "trace"}),
    "messages": Takes(_messages, OF_DEVICES | {"trace"}),
    "frames": Takes(_frames, OF_DEVICES | {"trace"}),
    "lines": Takes(_lines, OF_DEVICES | {"trace"}),
    "flows": Takes(_flows, frozenset()),
}


def present() -> list[tuple[str, str]]:
    """The simulated devices, which run everywhere."""
    return [(name, "") for name in shipped.profile_files("device")]


def titled(card: str) -> str:
    """One line about a simulated device."""
    return shipped.title(shipped.profile_files("device")[card])
