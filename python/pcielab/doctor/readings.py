"""Compare two readings of one machine in one text, as before and after a change."""

from collections.abc import Iterator

from pcielab.doctor.finding import Finding, Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.rules.link import shown
from pcielab.doctor.rules.rule import finding, judged, value
from pcielab.doctor.tree import Function, Tree

_GUIDE = "guides/is-my-link-right/#several-readings"


def differences(first: Tree, later: Tree) -> Iterator[Finding]:
    """One note for each function whose link or settings differ between two readings."""
    known = {function.slot: function for function in first.functions}
    for now in later.functions:
        before = known.get(now.slot)
        changed = list(_changes(before, now)) if before is not None and before != now else []
        if before is None or not changed:
            continue
        parent = later.parent(now)
        seen = Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, now, parent),
            what="two readings of this machine differ: "
            + "; ".join(f"{name} {old}, then {new}" for name, old, new in changed),
            values=tuple(_values(now, changed)),
            remedy="what changed between them is where to look; findings are of the first reading unless they "
            "name another",
        )
        yield finding("readings-differ", "D05", seen, explains=(Symptom.LOST_RATE,), guide=_GUIDE)


def _values(function: Function, changed: list[tuple[str, str, str]]) -> Iterator[Value]:
    for name, old, new in changed:
        yield value(function, f"{name} before", old)
        yield value(function, f"{name} after", new)


def _changes(before: Function, now: Function) -> Iterator[tuple[str, str, str]]:
    pairs: list[tuple[str, object, object]] = [("answers", before.answers is not False, now.answers is not False)]
    if before.link is not None and now.link is not None:
        one, other = before.link, now.link
        pairs.append(("LnkSta", shown(one.speed_gtps, one.lanes), shown(other.speed_gtps, other.lanes)))
        pairs.append(("LnkCtl ASPM", _words(one.aspm_enabled), _words(other.aspm_enabled)))
        pairs.append(("LnkCtl2 target speed", one.target_speed_gtps, other.target_speed_gtps))
        pairs.append(("L1 substates", _words(one.l1_substates), _words(other.l1_substates)))
    if before.control is not None and now.control is not None:
        for name, key in (("MPS", "mps_bytes"), ("MRRS", "mrrs_bytes"), ("ExtTag", "extended_tags")):
            pairs.append((name, getattr(before.control, key), getattr(now.control, key)))
    if before.errors is not None and now.errors is not None:
        pairs.append(("CESta", _words(before.errors.correctable_status), _words(now.errors.correctable_status)))
        pairs.append(
            ("UESta", _words(before.errors.uncorrectable_status), _words(now.errors.uncorrectable_status))
        )
    pairs.append(("ACSCtl", _words(before.acs_enabled), _words(now.acs_enabled)))
    return ((name, str(old), str(new)) for name, old, new in pairs if old != new and None not in (old, new))


def _words(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else " ".join(names) or "none"
