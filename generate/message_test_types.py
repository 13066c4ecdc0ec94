"""The parameters of tests of messages in Python, from `crates/pcie-workload/src/messages.rs`."""

from generate.models import Models, schemas

_HEAD = '''\
"""Tests of messages: their words, and their parameters as in the simulator and the store.

Written by `make generate` from `crates/pcie-workload/src/messages.rs`: change the types there.
"""

from typing import Literal, TypeAlias, TypedDict
'''
_CALLED = {"BufferEviction": "Eviction", "MessagePace": "Pace", "MessageTest": "MessageParameters"}
_WORDS = ("Way", "QueueSharing", "MessagePace", "BufferEviction", "StoreKind")


def module() -> str:
    """The module."""
    models = Models(schemas("message test"), named=_WORDS, renamed=_CALLED)
    typed = [models.typed(name) for name in ("MessageConnection", "MessageTest")]
    return "\n".join([_HEAD, *map(models.words, _WORDS), "\n", *typed])
