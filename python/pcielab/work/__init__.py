"""Work: what a run carries out, how it is run, and a run of frames as rows. `pcielab.devices` says on what."""
