"""How lit finds and runs the FileCheck tests: files ending in .mlir or .test, in any folder called `test`."""

import os

import lit.formats


class TestFolders(lit.formats.ShTest):
    """Tests lie beside what they test, so the suite is the whole tree; only folders called `test` hold any."""

    def getTestsForPath(self, suite, path_in_suite, lit_config, local_config):
        if "test" in path_in_suite[:-1]:
            yield from super().getTestsForPath(suite, path_in_suite, lit_config, local_config)


# config.hector_source, config.hector_build and config.llvm_tools come from lit.site.cfg.py in the build folder.
config.name = "hector"
config.test_format = TestFolders(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["build", ".git", "Inputs"]
config.test_source_root = config.hector_source
config.test_exec_root = os.path.join(config.hector_build, "lit")

tools = os.path.join(config.hector_build, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools, os.environ.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=all"

# %source is the repository. Data that is not part of it lies beside it; tests that read it say `REQUIRES: golden`.
config.substitutions.append(("%source", '"' + config.hector_source + '"'))
for name in ("data", "golden"):
    folder = os.path.join(os.path.dirname(config.hector_source), "shared", name)
    config.substitutions.append(("%" + name, '"' + folder + '"'))
    if os.path.isdir(folder):
        config.available_features.add(name)
    else:
        lit_config.note("../shared/%s is absent: tests that need it are skipped" % name)
