"""The reference of the doctor (`docs/reference/doctor.md` and its JSON Schema), from rules and causes."""

import json

from pcielab.doctor import RULES, Examination
from pcielab.library.causes import Cause, causes

_INTRODUCTION = """\
# Doctor

<!-- Written by `make generate`: change crates/pcie-doctor/src/rules, or causes.toml. -->

`pcielab doctor` reads a machine's PCIe tree and lists settings that cost bandwidth or latency, with a fix for
each. [Is my link right?](../guides/is-my-link-right.md) shows every finding. `--format json` writes one object;
its schema is [doctor.schema.json](doctor.schema.json). Exit codes: 0 whatever the doctor found, 1 with
`--strict` if a finding is an error, if registers could not be read, or if no link was shown, 2 if the input is
unreadable.

* **severity**: an `error` is a fault that the registers or counters show; a modelled loss alone is never one. A
  `warning` is a setting that costs little, or only some kinds of traffic, or whose cost is modelled. A `note` is a
  limit or property of the hardware, not a fault.
* **sureness**: `certain`: the registers say so, at both ends where there are two. `likely`: the setting is
  certain; its cost on this machine is inferred from other machines. `look under load`: the device may have been
  idle.
* **losses** are modelled (`pcielab model`), never measured: the link's bandwidth now and after the fix, with
  the bound that binds in each case. Without a round trip, tags do not bind.
* **command** is the fix as one register write with `setpci`, if it is one. It is risky: it may hang the
  machine, and the next reset undoes it.
* **added_latency_ns** is the largest latency that the registers allow.
"""

_WATCHED = (
    ("errors-rise", "D04", "Correctable errors whose count rises between two readings (`--watch SECONDS`)."),
    ("link-changes", "D05", "A link whose speed or width changes between two readings (`--watch SECONDS`)."),
)


def markdown() -> str:
    """The whole reference."""
    rules = [f"| `{rule.name}` | {rule.cause} | {rule.about} |" for rule in RULES]
    watched = [f"| `{name}` | {cause} | {about} |" for name, cause, about in _WATCHED]
    return "\n".join(
        [
            _INTRODUCTION,
            "## Rules\n",
            "| rule | cause | why it fires, and when it is silent |",
            "|---|---|---|",
            *rules,
            *watched,
            "\n## Causes of low numbers\n",
            "Registers do not show every cause: the others are checked by hand, and `pcielab explain` and the "
            "report name those that fit a measured run. Grades of evidence: A, a controlled measurement or paper; "
            "B, a report of before and after; C, a statement without both; D, the specification alone.\n",
            *(_cause(key, cause) for key, cause in causes().items()),
        ]
    )


def schema() -> str:
    """The JSON Schema of `--format json`."""
    return json.dumps(Examination.model_json_schema(mode="serialization"), indent=1) + "\n"


def _cause(key: str, cause: Cause) -> str:
    rules = ", ".join(f"`{rule.name}`" for rule in RULES if rule.cause == key)
    watched = ", ".join(f"`{name}`" for name, about, _ in _WATCHED if about == key)
    found = ", ".join(names for names in (rules, watched) if names)
    lines = [
        f"### {key}: {cause.title} ({cause.grade})\n",
        f"* Looks like: {cause.looks_like}.",
        f"* Check: {cause.check}.",
        f"* Measured elsewhere: {cause.expect}.",
        f"* Fix: {cause.remedy}.",
        f"* Found by: {found}." if found else "* Found by: hand; no register shows it.",
        f"* Sources: {'; '.join(cause.sources)}\n",
    ]
    return "\n".join(lines)
