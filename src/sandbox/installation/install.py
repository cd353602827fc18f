"""Runs pip for an environment whose own interpreter never starts.

Arguments: a folder with pip, in the place of this interpreter's own where it is there; the folder of the environment; pip's arguments.
Packages of the environment are found by their metadata, as pip needs them, and nothing of theirs can be imported here.
"""

import os
import runpy
import sys


def main(tools: str, environment: str, *arguments: str) -> None:
    """Become pip, as if the environment's interpreter had started it."""
    sys.prefix = sys.exec_prefix = environment
    # Stands in the first line of scripts.
    sys.executable = os.path.join(environment, "bin", "python3")
    standard = [path for path in sys.path if not path.endswith("-packages")]
    if os.path.isdir(os.path.join(tools, "pip")):
        sys.path = [tools, *standard]
    try:
        import pip  # noqa: F401 - where it was found is where all of it comes from
    except ImportError:
        sys.exit("No module named pip")

    packages = os.path.join(environment, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    # On the path for whoever lists what is installed; without an importer for whoever imports.
    sys.path_importer_cache[packages] = None
    sys.path = [*standard, packages]
    sys.argv = ["pip", *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


# As a script this file's folder comes first; it is no place to import from.
if not sys.flags.isolated:
    sys.exit("start this with -I")
main(*sys.argv[1:])
