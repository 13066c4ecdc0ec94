"""`pcielab.why`: the question chooses the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pcielab import _core
from pcielab.analysis.why.answer import Why
from pcielab.analysis.why.predicted import no_progress
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.wording import named, shown
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    from pcielab.kinds.line import Line
    from pcielab.library.fabrics.load import Fabric
    from pcielab.library.link import Link
    from pcielab.library.profiles import ResolvedSystem
    from pcielab.library.suites import Suite
    from pcielab.store import Store
    from pcielab.work.frames import Frames
    from pcielab.work.memory_lines import MemoryLines

Asked: TypeAlias = Union["Store", "Suite", "Frames", "MemoryLines", "Fabric", Path, str]
"""A store or its path, one test, frames through a NIC, lines of an expander, or a fabric."""

_PORT = "direct-dma"


@refuses_wrong_types
def why(
    asked: Asked,
    other: "Store | Path | str | None" = None,
    *,
    profile: "ResolvedSystem | str | None" = None,
    sets: Mapping[str, object] | Sequence[str] = (),
    link: "Link | None" = None,
    flows: str | None = None,
    tests: Sequence[str] = (),
    measured: float | None = None,
    line_gbps: float | None = None,
    ports: int | None = None,
    protocol: str | None = None,
    mtu_bytes: int | None = None,
    progress: Progress = no_progress,
    limit: int | None = None,
) -> Why:
    """Why a value is as it is: what binds, how sure that is, what to change, and what that would give.

    Args:
        asked: A store or its path; one test (`single_test`); frames of one size through a NIC (`Frames`); lines of
            a memory expander (`MemoryLines`); or a fabric (`fabric.load`).
        other: A second store: why the two differ.
        profile: For a test, its system [default: hsw2620]; for lines, their expander; for frames, the machine to
            simulate the NIC on, without which the answer is the closed form of the link.
        sets: Changes to the profile, as `host.iommu.walk_ns=300`; to the NIC of frames, as `nic.queues.pairs=4`;
            to a fabric, as `fabric.node.S.delay_ns=90`.
        link: For frames without a profile, the link [default: the usual one of the line rate].
        flows: For a fabric, a set of its flows or a file.
        tests: Of stores, only these tests: numbers, or parts of a family or name.
        measured: For a test or frames, a measured value: Gb/s of one direction, frames less their FCS; for a test
            of latency, ns.
        line_gbps: Of a store of perftest, the rate of a port of the NIC.
        ports: Likewise, ports that carry the value together.
        protocol: Likewise, the line's protocol, where the report does not say its link layer.
        mtu_bytes: Likewise, its MTU.
        progress: Called with the tests simulated or the changes estimated, and their total.
        limit: For flows, shares that all changes may take (see `fabric.influence_of_each`).

    Raises:
        InputError: A value is impossible, or does not fit the question.
    """
    if measured is not None:
        _core.check_measured(measured)
    given = {
        "other": other,
        "profile": profile,
        "set": sets or None,
        "link": link,
        "flows": flows,
        "test": tests or None,
        "measured": measured,
        "line": line_gbps,
        "ports": ports,
        "protocol": protocol,
        "mtu": mtu_bytes,
    }
    question = _loaded(asked) if isinstance(asked, str | Path) else asked
    chosen = {name for name, value in given.items() if value is not None}
    from pcielab.library.suites import Suite
    from pcielab.work.frames import Frames
    from pcielab.work.memory_lines import MemoryLines

    if isinstance(question, MemoryLines):
        _refuse("lines", chosen)
        return why_lines(question, profile, sets, measured)
    if isinstance(question, Suite):
        _refuse("test", chosen)
        return _of_test(question, profile, sets, measured, progress)
    if isinstance(question, Frames):
        _refuse("frames", chosen)
        return _of_frames(question, profile, sets, link, measured, progress)
    from pcielab.store import Store, open_store

    if not isinstance(question, Store):
        return _of_fabric(_fabric(question, chosen).with_(_of_fabrics(sets)), flows, progress, limit)
    _refuse("store", chosen)
    of_line = sorted(chosen & {"line", "ports", "protocol", "mtu"})
    if other is not None and of_line:
        raise refusal("conflict", f"--{of_line[0]}: has no effect with two stores: leave it out")
    if other is None:
        from pcielab.analysis.why.stores import why_store
        from pcielab.store.manifest import extrapolated_of

        line = _line(line_gbps, ports, protocol, mtu_bytes)
        answer = why_store(question, tests, progress, limit, line)
        notes = dict.fromkeys((*extrapolated_of(question.manifest), *answer.notes))
        return replace(answer, notes=tuple(notes))
    from pcielab.analysis.why.two import why_two

    return why_two(question, other if isinstance(other, Store) else open_store(other), tests, progress)


_TAKES = {
    "store": {"other", "test", "line", "ports", "protocol", "mtu"},
    "test": {"profile", "set", "measured"},
    "frames": {"profile", "set", "link", "measured"},
    "lines": {"profile", "set", "measured"},
    "fabric": {"flows", "set"},
}
_CALLED = {
    "store": "a store has its own system and values",
    "test": "one test has a system and perhaps a measured value",
    "frames": "a NIC has a link or a profile, and perhaps a measured value",
    "lines": "lines have an expander, and perhaps a measured value",
    "fabric": "a fabric has flows and changes (fabric.KEY)",
}


def _refuse(kind: str, given: set[str]) -> None:
    wrong = sorted(given - _TAKES[kind])
    if wrong:
        name = "a second store" if wrong[0] == "other" else f"--{wrong[0]}"
        raise refusal("conflict", f"{name}: {_CALLED[kind]}: leave {name} out")


def _loaded(asked: str | Path) -> "Store | Fabric":
    """The fabric of a name or of a .toml file, else the store of a path."""
    from pcielab.library import shipped

    text = str(asked)
    if text.endswith(".toml") or (text in shipped.profile_files("fabric") and not Path(text).exists()):
        from pcielab.library.fabrics.load import load

        return load(text)
    if not Path(text).exists():
        from pcielab.library.alike import alike, either
        from pcielab.library.lookup import files_alike

        fabrics = ", ".join(shipped.profile_files("fabric"))
        near = files_alike(Path(text)) or alike(text, shipped.profile_files("fabric"))
        hint = f"did you mean {either(near)}? Otherwise give" if near else "give"
        raise refusal(
            "not-found",
            f"{named(text)}: no such store or fabric: {hint} the path of a store, or a fabric: {fabrics}, or "
            "*.toml",
        )
    from pcielab.store import open_store

    return open_store(asked)


def _line(
    line_gbps: float | None, ports: int | None, protocol: str | None, mtu_bytes: int | None
) -> "Line | None":
    """What the asker says of a NIC's line; None: nothing."""
    if (line_gbps, ports, protocol, mtu_bytes) == (None, None, None, None):
        return None
    from pcielab.kinds.line import read_line

    return read_line(line_gbps, ports, protocol, mtu_bytes)


def why_lines(
    lines: "MemoryLines", profile: Any, sets: Any, measured: float | None, *, any_cores: bool = False
) -> Why:
    """Why an expander gives lines no more; `measured` in Gb/s.

    Args:
        lines: The mix and the cores.
        profile: The expander: a profile, its name or file; None: the usual one.
        sets: Changes to it, as `expander.memory.channels=2`, or without `expander.` as a mapping.
        measured: The value to explain.
        any_cores: Whether the cores' lines in flight are not to limit it.

    Raises:
        InputError: The expander is missing, or a change wrong.
    """
    from pcielab.analysis.why.expander import LinesQuestion, why_expander
    from pcielab.devices.sim import EXPANDER
    from pcielab.library.expanders import ExpanderProfile, load_expander
    from pcielab.library.profiles.read import own_sets

    own = dict(sets) if isinstance(sets, Mapping) else own_sets("expander", sets, "the expander of mem-rd")
    if isinstance(profile, ExpanderProfile):
        expander = profile.with_(own, "--set") if own else profile
    else:
        expander = load_expander(str(profile or EXPANDER), own)
    value = None if measured is None else measured / 8
    cores = None if any_cores else lines.cores
    return why_expander(LinesQuestion(expander, lines.read_share, cores, lines.fill_buffers, value))


def _of_test(suite: "Suite", profile: Any, sets: Any, measured: float | None, progress: Progress) -> Why:
    from pcielab.analysis.why.one_test import why_test
    from pcielab.library.profiles.borrowed import borrowed_keys, unmeasured_keys

    if len(suite.entries) != 1:
        raise refusal(
            "wrong-value",
            f"{suite.name}: has {len(suite.entries)} tests: give one (single_test), or a store of a run of it",
        )
    system = _system(profile, sets)
    return why_test(
        system.system,
        system.title,
        asdict(suite.entries[0].parameters),
        measured=measured,
        unmeasured=unmeasured_keys(system),
        borrowed=borrowed_keys(system),
        notes=_marked(system.extrapolated),
        progress=progress,
    )


def _of_frames(
    frames: "Frames", profile: Any, sets: Any, link: "Link | None", measured: float | None, progress: Progress
) -> Why:
    from pcielab.analysis.why.nic import OnLink, OnMachine, usual_link, why_frames
    from pcielab.library.profiles.borrowed import borrowed_keys, unmeasured_keys
    from pcielab.library.profiles.read import split_sets

    if len(frames.frames_bytes) != 1:
        raise refusal("wrong-value", f"--frame: {len(frames.frames_bytes)} frame sizes: give one")
    if not isinstance(sets, Mapping):
        of_nic, sets = split_sets("nic", sets)
        frames = frames.with_nic(of_nic)
    if profile is not None or sets:
        if link is not None:
            raise refusal(
                "conflict",
                "--gen, --lanes, --mps, --mrrs: a profile has its own link: give --set link.lanes=8 instead",
            )
        system = _system(profile, sets, f"device={_PORT}")
        note = f"simulated on {profile if isinstance(profile, str) else system.system.name}"
        notes = [note, *_marked(system.extrapolated)]
        machine = OnMachine(system.system, unmeasured_keys(system), borrowed_keys(system))
        return why_frames(frames, machine, measured, notes, progress)
    ground = OnLink(usual_link(frames.ethernet.line_gbps), is_assumed=True) if link is None else OnLink(link)
    return why_frames(frames, ground, measured)


def _fabric(question: object, chosen: set[str]) -> "Fabric":
    """The question as a fabric, the last kind of question."""
    from pcielab.library.fabrics.load import Fabric

    if not isinstance(question, Fabric):
        raise refusal(
            "wrong-type",
            f"{shown(question)}: give a store, a fabric, frames (pcielab.Frames) or a test; for one number, "
            "why(single_test('bw-rd', size=256), measured=41)",
        )
    _refuse("fabric", chosen)
    return question


def _of_fabrics(sets: Mapping[str, object] | Sequence[str]) -> Mapping[str, object]:
    """The changes of a fabric, which alone can change in its question."""
    from pcielab.library.profiles.read import own_sets

    return sets if isinstance(sets, Mapping) else own_sets("fabric", sets, "the fabric")


def _of_fabric(fabric: "Fabric", flows: str | None, progress: Progress, limit: int | None) -> Why:
    from pcielab.analysis.why.flows import why_flows

    listed = fabric.flows(flows)
    title = f"{fabric.title}, {len(listed)} flows at once (modelled)"
    return why_flows(fabric, listed, title, progress=progress, limit=limit)


def _marked(extrapolated: Sequence[str]) -> list[str]:
    """Notes on values that nobody measured."""
    return [f"extrapolated: {sentence}" for sentence in extrapolated]


def _system(profile: Any, sets: Any, *more: str) -> "ResolvedSystem":
    from pcielab.devices.sim import SYSTEM, refuse_expander
    from pcielab.library.profiles import ResolvedSystem, resolve
    from pcielab.library.profiles.read import parse_sets

    refuse_expander(profile)
    if isinstance(profile, ResolvedSystem):
        changes = {**parse_sets(more), **parse_sets(sets)}
        return profile.with_(changes) if changes else profile
    return resolve(str(profile or SYSTEM), {**parse_sets(more), **parse_sets(sets)})
