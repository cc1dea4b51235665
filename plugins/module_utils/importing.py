# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Imports this collection's modules from the zip archive that Ansible sends, each compiled once.

Python's own zipimporter compiles a module twice: its get_filename(), which the search for every module calls, makes the whole code and
throws it away (Lib/zipimport.py). Compiling is most of what an audit costs a host.
"""

from __future__ import annotations

import sys
import zipimport
from importlib.machinery import ModuleSpec


class ZipModules(object):
    """Finder and loader (PEP 451) of the modules below `package`; leaves to Python what doesn't lie in a zip archive."""

    def __init__(self, package):
        self.prefix = package + "."

    def find_spec(self, name, path=None, target=None):
        if not path or not name.startswith(self.prefix):
            return None
        try:
            archive = zipimport.zipimporter(path[0])
            is_package = archive.is_package(name)
        except zipimport.ZipImportError:
            return None
        place = "%s/%s" % (path[0], name.rpartition(".")[2])
        spec = ModuleSpec(name, self, origin=place + ("/__init__.py" if is_package else ".py"), loader_state=archive, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations.append(place)
        return spec

    def create_module(self, spec):
        """None: an ordinary module is wanted."""

    def exec_module(self, module):
        spec = module.__spec__
        source = spec.loader_state.get_source(spec.name)
        exec(compile(source, spec.origin, "exec", dont_inherit=True), module.__dict__)


def compile_once(package):
    """Imports below `package` go through ZipModules from now on."""
    sys.meta_path.insert(0, ZipModules(package))
