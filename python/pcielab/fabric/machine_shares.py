"""Shares of flows on a machine: the estimate, with what the root complex carries between devices."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pcielab.fabric.estimation import Estimate, estimate
from pcielab.fabric.flow_texts import asked_gbytes_per_s, bounds_of, with_limits
from pcielab.fabric.listed_shares import ROUNDING, Method
from pcielab.library.fabrics.load import Fabric


def shares(fabric: Fabric, flows: pd.DataFrame, method: Method = "max-min") -> Estimate:
    """As `estimate`, for the fabric of a machine; the same as `estimate` for others.

    A flow between devices gets at most what the root complex carries for it. Its `limit` then names that bound,
    and its standalone rate is what it gets alone. It fits if it gets all that it asks for.

    Raises:
        InputError: A flow cannot exist; the message names it.
    """
    limited = with_limits(fabric, flows)
    found = estimate(fabric, limited, method)
    if limited is flows:
        return found
    asked = asked_gbytes_per_s(flows)
    given = found.flows["gbytes_per_s"]
    # A flow that asks for nothing certain asks for what its path carries.
    fits = found.flows["fits"] & ~(given < asked * (1 - ROUNDING))
    bounds = pd.Series(bounds_of(fabric, flows), dtype=object)
    limit = found.flows["limit"].astype(object)
    limit = limit.where(limit.notna(), bounds.where(bounds.notna(), None))
    standalone = found.flows["standalone_gbytes_per_s"].where(np.isnan(asked), asked)
    return replace(found, flows=found.flows.assign(standalone_gbytes_per_s=standalone, limit=limit, fits=fits))
