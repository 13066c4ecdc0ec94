"""Which of two set-ups is local, and which is untranslated."""

from dataclasses import replace

from pcielab.store.setup import Setup

LOCAL = Setup("e5", "card", "off", (0, 0, 0))
REMOTE = replace(LOCAL, sockets=(0, 1, 0))


def test_a_buffer_is_local_only_beside_a_remote_one_of_the_same_machine() -> None:
    unknown = replace(LOCAL, sockets=None)
    assert LOCAL.is_local_of(REMOTE)
    assert not any(LOCAL.is_local_of(other) for other in (LOCAL, unknown))
    assert not any(one.is_local_of(REMOTE) for one in (REMOTE, unknown))
    assert not LOCAL.is_local_of(replace(REMOTE, host="e3"))
    assert not LOCAL.is_local_of(replace(REMOTE, iommu="super-pages"))


def test_a_run_is_untranslated_only_beside_one_behind_the_iommu() -> None:
    behind = replace(LOCAL, iommu="super-pages")
    assert LOCAL.is_untranslated_of(behind)
    assert not any(LOCAL.is_untranslated_of(other) for other in (LOCAL, replace(LOCAL, iommu=None)))
    assert not behind.is_untranslated_of(LOCAL)
    assert not LOCAL.is_untranslated_of(replace(behind, sockets=REMOTE.sockets))
