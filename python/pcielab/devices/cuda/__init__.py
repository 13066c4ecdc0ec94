"""`cuda`: an NVIDIA GPU as the device, over the CUDA driver API.

On the path `command` the GPU's processors (SMs) read and write host memory; on the path `dma` its copy engines do.
NVRTC compiles the CUDA C++ in `kernels/` for the GPU's architecture when it is opened. CUDA is imported only then,
and needs `pcielab[cuda13]` or `pcielab[cuda12]`.

`driver` is the protocol of the CUDA calls used here, `bindings` implements it with cuda-bindings. See
docs/guides/measure-with-a-gpu.md.
"""
