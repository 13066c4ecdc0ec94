"""Work: the tests of a run, the options of a run, and runs of frames as rows. `pcielab.devices` runs work."""
