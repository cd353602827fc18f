import atexit
import os
import runpy
import shutil
import sys
import tempfile

program, outputs, options = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
if any(character in outputs for character in "\"\\{}\n" + chr(39)):
    sys.exit(f"error: choose an output folder without quotes, braces and backslashes: {outputs}")
os.makedirs(outputs, exist_ok=True)
# A file, since processes that the program starts load it again.
owner, folder = os.getpid(), tempfile.mkdtemp()
atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
copy = os.path.join(folder, os.path.basename(program))
with open(program, encoding="utf-8") as original, open(copy, "w", encoding="utf-8") as file:
    # Where the path stands in the source as one text.
    file.write(original.read().replace("/var/outputs", outputs))
sys.argv, sys.path[0] = [copy, *options], folder
runpy.run_path(copy, run_name="__main__")
