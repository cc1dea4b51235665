# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""nvidia-ml-py as a distribution or a user installed it, of any age, so that an old one tells no less than the driver's own library."""

from __future__ import annotations

import ctypes

# Functions that older packages have in a form that doesn't do -> (name, member) of those in which they do.
_RIGHT_FROM = {"nvmlDeviceGetFieldValues": ("c_nvmlValue_t", "siVal"), "nvmlDeviceGetMemoryInfo": ("nvmlMemory_v2", None),
               "nvmlDeviceGetPciInfo": ("nvmlDeviceGetPciInfo_v3", None),
               "nvmlDeviceGetComputeRunningProcesses": ("nvmlDeviceGetComputeRunningProcesses_v3", None),
               "nvmlDeviceGetGraphicsRunningProcesses": ("nvmlDeviceGetGraphicsRunningProcesses_v3", None)}


class Completed(object):
    """nvidia-ml-py of any age: what an old one lacks is asked of the library that it loaded (a process has one NVML, so handles fit)."""

    def __init__(self, package):
        self._package = package
        self._own = None

    def _binding(self):
        library = getattr(self._package, "nvmlLib", None)
        if self._own is None and isinstance(library, ctypes.CDLL):
            from .nvml_ctypes import Binding
            self._own = Binding(library._name)
        return self._own

    def __getattr__(self, name):
        found = getattr(self._package, name, None)
        right, member = _RIGHT_FROM.get(name, (name, None))
        fits = hasattr(self._package, right) and (member is None or hasattr(getattr(self._package, right), member))
        if not fits and self._binding() is not None:
            found = getattr(self._own, name)
        if found is None:
            raise AttributeError(name)
        if self._own is not None or fits:
            setattr(self, name, found)
        return found
