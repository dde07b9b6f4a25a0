"""LC3: posterior sampling of a kernelised dynamics model, planning by MPPI."""
