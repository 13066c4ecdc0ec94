"""Questions to the compiled half and its answers: Python types of the JSON, from the Rust types."""

from generate.models import Models, schemas, tables_below

_LINK = '''\
"""A link as its two ends negotiated it, for the closed form and for profiles of messages.

Written by `make generate` from `crates/pcie-wire/src/link.rs`: change the type there.
"""

from dataclasses import dataclass
'''
_ASKED = '''\
"""Parts of questions besides the link: limits of the device, and the Ethernet line behind it.

Written by `make generate` from `crates/pcie-model/src`: change the types there.
"""

from dataclasses import dataclass
from enum import StrEnum
'''
_ANSWERS = '''\
"""Answers of the model, which pydantic makes of the compiled half's JSON.

Written by `make generate` from `crates/pcie-model/src`: change the types there.
"""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
'''
_BASE = """\
class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
"""
_QUESTIONS = '''\
"""Questions as the compiled half takes them.

Written by `make generate` from `crates/pcie-python/src/model.rs`: change the types there.
"""

from typing import Any, Literal, TypeAlias, TypedDict
'''
_NIC_TEST = '''\
"""A test of a NIC as the simulator takes it.

Written by `make generate` from `crates/pcie-sim/src/nic.rs`: change the types there.
"""

from typing import Any, Literal, TypeAlias, TypedDict
'''
_FABRICS = '''\
"""Answers of the compiled half about flows on a fabric, as they come out of JSON.

Written by `make generate` from `crates/pcie-python/src/fabric.rs`: change the types there.
"""

from typing import TypedDict
'''
_PREDICTIONS = '''\
"""Questions and answers of the prediction of a suite's rows, as they come out of JSON.

Written by `make generate` from `crates/pcie-bench-sim/src/prediction.rs`: change the types there.
"""

from dataclasses import dataclass
from typing import TypedDict
'''
_CALLED = {"LinkParameters": "Link", "InterpacketGap": "Gap"}
_WORDS = ("Accounting", "InterpacketGap", "Bound")
_ACCESS_WORDS = ("Instruction", "AccessBound")
_ANSWERED = (
    *(
        "Bandwidth",
        "NicThroughput",
        "Sizing",
        "LinkSizing",
        "EngineRates",
        "ExpanderRates",
        "InterleavedRates",
        "AccessTimes",
        "AccessOutcome",
        "Messages",
        "Crossings",
        "Loopback",
    ),
    *("TestBounds", "Capacities", "HostRates"),
)


def link() -> str:
    """The module of the link."""
    models = Models(schemas("model questions"), renamed=_CALLED)
    return "\n\n".join([_LINK, models.record("LinkParameters")])


def asked() -> str:
    """The module of the other parts of questions."""
    models = Models(schemas("model questions"), named=_WORDS, renamed=_CALLED)
    enumerations = [models.enumeration(name) for name in ("Accounting", "InterpacketGap")]
    return "\n\n".join([_ASKED, *enumerations, *(models.record(name) for name in ("Limits", "Ethernet"))])


def answers() -> str:
    """The module of answers."""
    kinds = schemas("model answers")
    models = Models(kinds, named=(*_WORDS, *_ACCESS_WORDS))
    classes = [models.answer(name, "_Answer") for name in tables_below(kinds, *_ANSWERED)]
    words = [models.words(name) for name in ("Bound", *_ACCESS_WORDS)]
    return "\n".join([_ANSWERS, *words, "\n", _BASE, "\n", *classes])


def fabrics() -> str:
    """The module of answers about fabrics."""
    kinds = schemas("fabric answers")
    models = Models(kinds)
    tables = tables_below(kinds, "RoundTables")
    return "\n\n".join([_FABRICS, *map(models.typed, tables)])


def predictions() -> str:
    """The module of predictions."""
    models = Models(schemas("predictions"))
    return "\n\n".join([_PREDICTIONS, models.record("Effort"), models.typed("Prediction")])


def questions() -> str:
    """The module of whole questions; their parts are mappings."""
    kinds = schemas("model questions")
    topics = (
        "Bandwidth",
        "Nic",
        "Sizing",
        "LinkSizing",
        "Engine",
        "Expander",
        "Interleaved",
        "Mmio",
        "Messages",
        "Host",
    )
    names = tuple(f"{topic}Question" for topic in topics)
    models = Models({name: kinds[name] for name in (*names, "LoadKind")}, named=("LoadKind",))
    head = f"{_QUESTIONS}\n{models.words('LoadKind')}\n"
    return "\n\n".join([head, *map(models.typed, names)])


def nic_test() -> str:
    """The module of tests of NICs."""
    kinds = schemas("nic test")
    shown = {name: kinds[name] for name in ("Direction", "Traffic")}
    models = Models(shown, named=("Direction",), renamed={"Traffic": "NicTest"})
    return "\n".join([_NIC_TEST, models.words("Direction"), "\n", models.typed("Traffic")])
