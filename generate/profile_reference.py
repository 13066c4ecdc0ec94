"""The reference of all keys of profiles (`docs/reference/profiles.md`), from their models."""

import json
from collections.abc import Iterator
from typing import Any

from generate.schema import plain_type, reference, words
from pcielab.library.fabrics.load import json_schema as fabric_schema
from pcielab.library.profiles.files import json_schema, system_schema
from pcielab.library.profiles.part import MOST_COUNT

_INTRODUCTION = """\
# Profiles

<!-- Written by `make generate`: change the descriptions in python/pcielab/library/profiles. -->

A profile is a TOML file that describes a link, a host, a card (device) or a whole system. The shipped ones are in
`profiles/links`, `profiles/hosts`, `profiles/devices` and `profiles/systems`: `pcielab profiles list` lists them,
`pcielab profiles show NAME` prints every value with its source. [Describe your
machine](../guides/describe-your-machine.md) shows how to write one.

* Units are the last word of a key: `walk_ns`, `llc_bytes`. Sizes in bytes may be written as `"15M"`.
* Unknown keys, and values of another type or out of range, are refused. A key without a default is required.
* Keys have their names in a system: `host.iommu.walk_ns` is `walk_ns` in the table `[iommu]` of a host file.
* `pcielab profiles schema system|host|device|link` prints the JSON Schema of a file, for editors.
* `--set KEY=VALUE` changes one value of a system, by its dotted key: `host.iommu.walk_ns=300`,
  `host.idle.clusters.0.share=0.3` (lists have indices), `host.idle=none` (for optional keys). `--set host=NAME`
  takes a whole other host; `link` and `device` likewise. The table `[set]` of a system file does the same.
  `--set nic.KEY=VALUE` changes the NIC of `--nic` (`nic.queues.pairs=4`, `nic.step.1.batch=8`), `--set
  engine.KEY=VALUE` an engine (`engine.queue.depth=64`), `--set messages.KEY=VALUE` the profile of messages
  (`messages.core.fence_ns=20`), and `--set fabric.KEY=VALUE` a fabric: `fabric.node.NAME.delay_ns=90`,
  `fabric.link.NAME.lanes=8` (a link has the name of its lower node), `fabric.devices.gpu.engine.tags=64`.
* `pcielab profiles show NAME --resolved` prints the simulator's input: a system with `link`, `host` and `device`,
  every key present.
"""

_FILE = """\
## Every file

| key | values | default | meaning |
|---|---|---|---|
| `name` | text | | Short name, and file name of a shipped profile |
| `title` | text | | One line for people |
| `base` | text | none | Another file of the same kind, by name or path, for keys that this one omits |
| `aliases` | list of text | empty | Other names of a system; case is ignored |
"""


_FABRICS = """\
## Fabrics

The shipped ones are in `profiles/fabrics`: `pcielab fabric list` lists them, `pcielab fabric schema` prints the
JSON Schema. [Will my flows fit?](../guides/will-my-flows-fit.md) shows how to write one. They have a
table `provenance` like every file, and no `base`.
"""


_NICS = """\
## NICs

The shipped ones are in `profiles/nics`; `pcielab model nic` and `pcielab run --nic` take them. [Model a
NIC](../guides/model-a-nic.md) shows how to write one. Their provenance is a text. `NAME+FEATURE` turns a feature
on; [the page of hardware](hardware.md) lists the features.
"""
_ENGINES = """\
## Engines

The shipped ones are in `profiles/engines`; `pcielab model engine` takes them: drives, copy engines of GPUs, FPGA
shells. A step is an access of a command, as those of NICs are of a packet. They have a table `provenance` like
every file, and no `base`.
"""
_EXPANDERS = """\
## Expanders

The shipped ones are in `profiles/expanders`; `pcielab model cxl` takes them: memory behind CXL.mem. They have a
table `provenance` like every file, and no `base`.
"""
_CORES = """\
## Cores

The shipped ones are in `profiles/cores`; `pcielab model mmio` takes them: what loads and stores to a device cost a
core. Every uncertain value has the least, the usual and the most. They have a table `provenance` like every file,
and no `base`.
"""
_BARS = """\
## BARs

The shipped ones are in `profiles/bars`; `pcielab model mmio` takes them: how a device takes stores and answers
loads. They have a table `provenance` like every file, and no `base`.
"""
_MESSAGES = """\
## Message profiles

The shipped ones are in `profiles/pio`; `pcielab model pio` and suites of messages take them. They have a
table `provenance` like every file, and no `base`.
"""


_PARTS = {"link": "Links", "host": "Hosts", "device": "Devices"}


def markdown() -> str:
    """The whole reference."""
    files = json_schema("system")["$defs"]
    parts = [_INTRODUCTION, _FILE, *_tables_of("provenance", files["Provenance"], files)]
    system = system_schema()
    parts += ["## System files\n", _table_of(system, skip={"name", "title", *_PARTS}), _references()]
    for key, heading in _PARTS.items():
        parts.append(f"## {heading}\n")
        parts += _tables_of(key, system["$defs"][_name(system["properties"][key])], system["$defs"])
    return "\n".join(
        [
            *parts,
            *_nic_tables(),
            *_engine_tables(),
            *_expander_tables(),
            *_core_tables(),
            *_message_tables(),
            *_fabric_tables(),
        ]
    )


def _nic_tables() -> Iterator[str]:
    schema = json_schema("nic")
    parts, skip = schema["$defs"], {"assumed", "switch", "change"}
    yield _NICS
    yield _table_of(schema, skip=skip)
    yield from _tables_of("[[step]]", parts["Step"], parts)
    yield from _tables_of("queues", parts["Queues"], parts)
    yield from _tables_of('assumed."KEY"', parts["Interval"], parts)
    yield from _tables_of("switch.NAME", parts["Switch"], parts, skip=skip)
    yield from _tables_of('switch.NAME.change."WHAT"', parts["StepChange"], parts)


def _engine_tables() -> Iterator[str]:
    schema = json_schema("engine")
    parts = schema["$defs"]
    yield _ENGINES
    yield _table_of(schema)
    for name in ("link", "queue", "pace"):
        yield from _tables_of(name, parts[_name(schema["properties"][name])], parts)
    yield from _tables_of("[[step]]", parts["EngineStep"], parts)


def _expander_tables() -> Iterator[str]:
    schema = json_schema("expander")
    parts = schema["$defs"]
    yield _EXPANDERS
    yield _table_of(schema)
    for name in ("link", "controller", "memory", "arrivals"):
        yield from _tables_of(name, parts[_name(schema["properties"][name])], parts)


def _core_tables() -> Iterator[str]:
    for schema, head, names in (
        (json_schema("core"), _CORES, ("stores", "loads", "root")),
        (json_schema("bar"), _BARS, ("stores", "reads")),
    ):
        parts = schema["$defs"]
        yield head
        yield _table_of(schema)
        for name in names:
            yield from _tables_of(name, parts[_name(schema["properties"][name])], parts)
        yield from _tables_of("any value between others", parts["Between"], parts)


def _message_tables() -> Iterator[str]:
    schema = json_schema("messages")
    yield _MESSAGES
    yield _table_of(schema)
    for name, described in schema["properties"].items():
        inner = schema["$defs"].get(_name(described), {})
        if "properties" in inner and name != "provenance":
            optional = "" if name in schema["required"] else " May be absent."
            yield from _tables_of(name, inner, schema["$defs"], optional)


def _fabric_tables() -> Iterator[str]:
    """The tables of a fabric file; repeatable ones under their names in the file."""
    schema = fabric_schema()
    kinds = schema["$defs"]
    yield _FABRICS
    yield _table_of(schema, skip={"provenance", "hosts", "devices", "node", "link", "flow", "flows"})
    yield from _tables_of("[hosts.NAME]", kinds["HostParameters"], kinds)
    yield from _tables_of("[devices.NAME]", kinds["DeviceParameters"], kinds, skip={"memories"})
    yield from _tables_of("[[devices.NAME.memories]]", kinds["MemoryParameters"], kinds)
    yield from _tables_of("[[node]]", kinds["NodeParameters"], kinds)
    yield from _tables_of("[[link]]", kinds["LinkParameters"], kinds)
    note = " `[[flow]]` is the set `flow`. `[flows] default` names the default set."
    yield from _tables_of("[[flows.sets.NAME]]", kinds["Traffic"], kinds, note)


def _inner(key: str, name: str) -> str:
    """The key of a table in a table; those of fabrics are written in their brackets."""
    return f"{key[:-1]}.{name}]" if key.endswith("]") else f"{key}.{name}"


def _tables_of(
    key: str, schema: dict[str, Any], all_: dict[str, Any], note: str = "", skip: set[str] | None = None
) -> Iterator[str]:
    """The table of a schema of the compiled half, and then those of the tables in it."""
    yield f"### `{key}`\n\n{schema['description']}{note}\n"
    yield _table_of({**schema, "$defs": all_}, skip)
    for name, described in schema["properties"].items():
        inner = all_.get(_name(described), {})
        if "properties" in inner and name not in (skip or ()):
            optional = "" if name in schema.get("required", ()) else " May be absent."
            yield from _tables_of(_inner(key, name), inner, all_, optional)


def _table_of(schema: dict[str, Any], skip: set[str] | None = None) -> str:
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    for name, described in schema["properties"].items():
        referred = schema["$defs"].get(_name(described), {})
        if name in (skip or ()) or "properties" in referred:
            continue
        is_required = name in schema.get("required", ())
        default = "" if is_required else f"`{json.dumps(described.get('default'))}`".replace("`null`", "none")
        meaning = described["description"].rstrip(".")
        if "anyOf" in referred:
            values = ", or ".join(
                _values_of(one, schema["$defs"].get(_name(one), {})) for one in referred["anyOf"]
            )
        else:
            values = _values_of(described, referred)
        rows.append(f"| `{name}` | {values} | {default} | {meaning} |")
    return "\n".join(rows) + "\n" if len(rows) > 2 else ""


def _name(described: dict[str, Any]) -> str:
    """The type that a schema, or the entries of its list, refer to."""
    return reference(described) or reference(described.get("items", {}))


_REASONS = '`"assumed"`, `"unidentified"` or `{ borrowed = "PROFILE" }`'
"""Why nobody measured a value (`pcie_describe::Unmeasured`)."""


def _values_of(described: dict[str, Any], referred: dict[str, Any]) -> str:
    """The values that a schema of the compiled half allows, in words."""
    if referred:
        return ", ".join(f"`{json.dumps(word)}`" for word in words(referred))
    if "enum" in described:
        return ", ".join(f"`{json.dumps(value)}`" for value in described["enum"] if value is not None)
    kinds = [one for one in described.get("anyOf", [described]) if one.get("type") != "null"]
    if "anyOf" in kinds[0]:
        return _values_of(kinds[0], {})
    consts = [f"`{json.dumps(one['const'])}`" for one in kinds if "const" in one]
    if "$ref" in kinds[0]:
        return _REASONS
    number = {**kinds[0], "type": plain_type(kinds[0])}
    if consts:
        return f"{_range(number)}, or {', '.join(consts)}"
    if len(kinds) > 1:
        least, most = number.get("minimum"), number.get("maximum")
        limited = isinstance(most, int) and most < MOST_COUNT
        return "size in bytes" + (f", {least} to {most:,}" if limited else "")
    if number["type"] == "array":
        return f"list of: {_values_of(number['items'], {})}"
    if number["type"] in ("integer", "number"):
        return _range(number)
    if number["type"] == "object":
        if "$ref" in number["additionalProperties"]:
            return f"table of key to {_REASONS}"
        inner = number["additionalProperties"]["type"]
        return f"table of key to {({'string': 'text', 'array': 'list'}).get(inner, inner)}"
    return {"boolean": "`true`, `false`", "string": "text"}[number["type"]]


def _references() -> str:
    rows = ["A system file also names its parts:", "", "| key | values | default | meaning |", "|---|---|---|---|"]
    properties = json_schema("system")["properties"]
    for name in ("link", "host", "device"):
        rows.append(f"| `{name}` | name, path or table | | {properties[name]['description'].rstrip('.')} |")
    rows.append(f"| `set` | table | empty | {properties['set']['description'].rstrip('.')} |")
    return "\n".join(rows) + "\n"


def _range(schema: dict[str, Any]) -> str:
    kind = "integer" if schema["type"] == "integer" else "number"
    if "exclusiveMinimum" in schema:
        kind += f" above {schema['exclusiveMinimum']:g}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and low is not None and (high <= 100 or (kind == "integer" and high < MOST_COUNT)):
        kind += f", {low:g} to {high:,}"
    elif low is not None and "exclusiveMinimum" not in schema:
        kind += f", {low:g} or more"
    return kind + (f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else "")
