"""The reference of the doctor (`docs/reference/doctor.md` and its JSON Schema), from rules and causes."""

import inspect
import json

from pcielab.doctor.causes import Cause, causes
from pcielab.doctor.examine import Examination
from pcielab.doctor.rules import RULES

_INTRODUCTION = """\
# Doctor

<!-- Written by `make generate`: change python/pcielab/doctor/rules, or causes.toml. -->

`pcielab doctor` reads a machine's PCIe tree and says what is wrong with it. [Is my link
right?](../guides/is-my-link-right.md) shows each finding. `--format json` writes one object, whose schema is
[doctor.schema.json](doctor.schema.json). Exit codes: 0 whatever was found, 1 with `--strict` where a finding is
serious, 2 where the input cannot be read.

* **severity**: `serious` costs a good part of what the hardware can; `notable` costs little, or only some kinds of
  traffic; `told` is a limit or a property, not a fault.
* **sureness**: `certain`: registers say so, of both ends where there are two; `likely`: the setting is certain,
its
  cost here is what others have measured; `look under load`: what was read may be a state of rest.
* **losses** are modelled (`pcielab model`), never measured: bandwidth on the link as it is, and as it could be,
with
  the bound that binds in both. Without a round trip, tags do not bind.
* **added_latency_ns** is the most that the registers say.
"""

_WATCHED = (
    ("errors-rise", "D04", "Correctable errors that rise between two readings (`--watch SECONDS`)."),
    (
        "link-changes",
        "D05",
        "A link whose speed or width is another one at the second reading (`--watch SECONDS`).",
    ),
)


def markdown() -> str:
    """The whole reference."""
    rules = [f"| `{rule.name}` | {rule.cause} | {_flowing(rule.about)} |" for rule in RULES]
    watched = [f"| `{name}` | {cause} | {about} |" for name, cause, about in _WATCHED]
    return "\n".join(
        [
            _INTRODUCTION,
            "## Rules\n",
            "| rule | cause | why it speaks, and when it is silent |",
            "|---|---|---|",
            *rules,
            *watched,
            "\n## Causes of low numbers\n",
            "What cannot be read from registers is a check by hand; `pcielab explain` and the report name the "
            "ones that fit a measured run. Grades of evidence: A controlled measurement or paper, B report with "
            "before and after, C statement without both, D the specification alone.\n",
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
        f"* Expect: {cause.expect}.",
        f"* Do: {cause.remedy}.",
        f"* Found by: {found}." if found else "* By hand: no register shows it.",
        f"* Sources: {'; '.join(cause.sources)}\n",
    ]
    return "\n".join(lines)


def _flowing(about: str) -> str:
    return " ".join(inspect.cleandoc(about).split())
