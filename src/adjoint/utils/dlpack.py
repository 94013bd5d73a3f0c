"""DLPack, the exchange of arrays without copies between libraries, under the names of torch.utils.dlpack."""

import enum as _enum

from adjoint.interop.dlpack import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(_enum.IntEnum):
    """The kind of device that holds an array.

    The numbers are those of the DLPack standard.
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
