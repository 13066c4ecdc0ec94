"""From a suite and a back end to a store: `running` for any back end, `simulation` and `nic` for the simulated."""
