"""How lit finds and runs the FileCheck tests: files ending in .mlir or .test.

Not called lit.cfg.py, which lit would take for a suite of this folder alone.
"""

import importlib.util
import os
import shutil
import sys

import lit.formats

# config.hector_source, config.hector_build and config.llvm_tools come from lit.site.cfg.py in the build folder.
config.name = "hector"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Tests lie beside what they test, in folders called `test`, so the suite is the whole tree.
config.excludes = ["bench", "build", ".git", "Inputs"]
config.test_source_root = config.hector_source
config.test_exec_root = os.path.join(config.hector_build, "lit")

tools = os.path.join(config.hector_build, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools, os.environ.get("PATH", "")])
# Code that tests compile is kept from run to run, but not in the user's cache.
config.environment["HECTOR_CACHE"] = os.path.join(config.hector_build, "code-cache")
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=all"

# %source is the repository, %build the build folder. Data that is not part of the repository lies beside it; tests that
# read it say `REQUIRES: golden`.
config.substitutions.append(("%source", '"' + config.hector_source + '"'))
config.substitutions.append(("%build", '"' + config.hector_build + '"'))
for name in ("data", "golden"):
    folder = os.path.join(os.path.dirname(config.hector_source), "shared", name)
    config.substitutions.append(("%" + name, '"' + folder + '"'))
    if os.path.isdir(folder):
        config.available_features.add(name)
    else:
        lit_config.note("../shared/%s is absent: tests that need it are skipped" % name)
# %python is the Python that runs lit. The README's scripts need two packages that nothing else does.
config.substitutions.append(("%python", '"' + sys.executable + '"'))
if all(importlib.util.find_spec(name) for name in ("numpy", "safetensors")):
    config.available_features.add("python-safetensors")

if shutil.which("dpkg-query"):
    config.available_features.add("dpkg")
else:
    lit_config.note("dpkg is absent: tests of utils/packages are skipped")
# lit puts %s, %t and their kin into commands as they are; where the repository's path has a blank they need quotes.
if " " in config.hector_source + config.hector_build:
    config.substitutions.append((r'(?<!")%([stSTp])(?![a-zA-Z:{])', r'"%\1"'))
