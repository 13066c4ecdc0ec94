"""`cuda`: an NVIDIA GPU as the card, over the CUDA driver API.

The processors (SMs) of the GPU read and write host memory themselves: that is the path `command`. Its copy engines
are the path `dma`. Kernels are CUDA C++ in `kernels/`, compiled by NVRTC to the card's own architecture when it is
opened. Nothing of CUDA is imported before that: pcielab knows nothing of it unless `pcielab[cuda13]` or
`pcielab[cuda12]` is installed.

`driver` is the narrow part of CUDA that everything else here sees, `bindings` that part of cuda-bindings. See
docs/guides/measure-with-a-gpu.md.
"""
