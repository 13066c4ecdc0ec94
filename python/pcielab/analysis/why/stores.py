"""Why a store's tests give their values, for every kind of run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcielab.analysis.explain.run import explain_rows, flow_counts, has_link_bounds
from pcielab.analysis.why.answer import Why
from pcielab.analysis.why.limits import why_limits
from pcielab.analysis.why.one_test import why_test
from pcielab.analysis.why.predicted import no_progress
from pcielab.analysis.why.transfers import why_transfers
from pcielab.analysis.why.unmeasured import unmeasured_in
from pcielab.errors import refusal
from pcielab.kinds.machine_facts import facts_of
from pcielab.store import Store
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    from pcielab.analysis.explain import ExplainedRun
    from pcielab.kinds.line import Line


def why_store(
    store: Store,
    tests: Sequence[str] = (),
    progress: Progress = no_progress,
    limit: int | None = None,
    line: "Line | None" = None,
) -> Why:
    """Why the tests of a store give their values.

    Args:
        store: A run of any kind and origin but emulated, whose times mean nothing.
        tests: Only these: numbers, or parts of a family or name. All, if empty.
        progress: Called while changes are simulated.
        limit: For flows, shares that all changes may take (see `influence_of_each`).
        line: Of what perftest measured, the NIC's line.

    Raises:
        InputError: The run is emulated, a text of `tests` matches no test, or no test has a value.
    """
    store.require_speed("why")
    if line is not None:
        return _of_line(store, tests, line)
    if has_link_bounds(store, tests):
        return why_transfers(store, tests, progress)
    counts = flow_counts(store, tests)
    if counts:
        from pcielab.analysis.why.flow_runs import check_shares

        check_shares(counts, limit)
        progress(0, sum(counts))
    found = explain_rows(store, tests)
    if not found.rows:
        raise refusal("missing", f"{store.path}: no test has a result: give a finished run, or other tests")
    asked = found.rows[0].asked
    if "frame_bytes" in asked:
        return _frames(store, found)
    if "expander" in asked:
        return _lines(store, found)
    if "flow" in asked:
        from pcielab.analysis.why.flow_runs import why_flow_run

        return why_flow_run(store, found, progress=progress, limit=limit)
    described = "operation" in asked and store.manifest.get("system")
    if described and (system := facts_of(store).system) is not None:
        slowest = max(found.rows, key=lambda row: row.value)
        parameters = next(record["parameters"] for record in store.records() if record["id"] == slowest.test)
        many = len(found.rows)
        title = f"{store.title}, the slowest of {many} tests of latency" if many > 1 else store.title
        value = _average_ns(store, slowest.test) or slowest.value
        known = unmeasured_in(store)
        return why_test(
            system,
            title,
            parameters,
            measured=value,
            origin=store.origin,
            unmeasured=known.keys,
            borrowed=known.borrowed,
            notes=known.notes,
            progress=progress,
        )
    return why_limits(store, found)


def _of_line(store: Store, tests: Sequence[str], line: "Line") -> Why:
    """Why a NIC gives its values, whose line the asker knows."""
    from pcielab.kinds.explained import matching
    from pcielab.kinds.tools.explain import explain_tools

    if not any(record["parameters"].get("tool") == "perftest" for record in store.records()):
        raise refusal(
            "conflict", "--line, --ports, --protocol, --mtu: of what perftest measured on a NIC: leave them out"
        )
    found = explain_tools(store, matching(store, tests), line)
    if not found.rows:
        raise refusal("missing", f"{store.path}: no test has a result: give a finished run, or other tests")
    return why_limits(store, found, line)


def _average_ns(store: Store, test: int) -> float | None:
    """The average latency of a test, which the simulator gives of a changed system, too."""
    found = store.scalars
    if "average" not in found:
        return None
    [average] = found.loc[found["id"] == test, "average"]
    return float(average) if average == average else None


def _lines(store: Store, found: "ExplainedRun") -> Why:
    """Why the highest load of an expander's run moves no more."""
    from pcielab.analysis.why.expander import LinesQuestion, why_expander
    from pcielab.kinds.memory.rows import expander_of_run

    most = max(found.rows, key=lambda row: row.value)
    profile, asked = expander_of_run(store.manifest, store.path), most.asked
    many = len(found.rows)
    notes = [f"{many} loads: the one with the highest bandwidth; choose with --test"] if many > 1 else []
    question = LinesQuestion(
        profile, asked["read_share"], asked["cores"], asked["fill_buffers"], most.value / 8, store.origin
    )
    return why_expander(question, notes)


def _frames(store: Store, found: "ExplainedRun") -> Why:
    """Why the frame size farthest below the line moves no faster."""
    from pcielab.analysis.why.nic import OnMachine, why_frames
    from pcielab.model.link import Ethernet, Gap
    from pcielab.store.manifest import nic_of
    from pcielab.work.frames import Frames

    below = min(
        found.rows,
        key=lambda row: row.value / {limit.name: limit.value for limit in row.limits}.get("line", row.value),
    )
    [test] = store.tests[store.tests["id"] == below.test].to_dict("records")
    line = Ethernet(line_gbps=float(test["line_gbps"]), vlan=bool(test["vlan"]), gap=Gap(test["gap"]))
    frames = Frames(nic_of(store.manifest, store.path), [int(test["frame_bytes"])], line, test["direction"])
    notes = [f"{len(found.rows)} frame sizes: the one farthest below the line; choose with --test"]
    known = unmeasured_in(store)
    machine = OnMachine(store.require_system(), known.keys, known.borrowed)
    recorded = below.value, below.limits[0].name
    notes = [*(notes if len(found.rows) > 1 else []), *known.notes]
    return why_frames(frames, machine, None, notes, recorded=recorded)
