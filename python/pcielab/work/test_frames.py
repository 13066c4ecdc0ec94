"""The work of a NIC: which sizes one simulation takes."""

import pytest

from pcielab import InputError, model
from pcielab.work.frames import Frames


def test_a_simulation_takes_sizes_on_one_side_of_a_limit() -> None:
    inline = model.load_nic("connectx-5+inline")
    small, large = Frames(inline, [64, 128]), Frames(inline, [512])
    assert len(large.as_question()["step"]) == len(small.as_question()["step"]) + 1
    with pytest.raises(InputError, match="inline acts on frames of at most 260 B: run the sizes"):
        Frames(inline, [64, 512])
