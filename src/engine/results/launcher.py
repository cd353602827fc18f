import os
import sys

program, outputs, options = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
if any(character in outputs for character in "\"\\{}\n" + chr(39)):
    sys.exit(f"error: choose an output folder without quotes, braces and backslashes: {outputs}")
os.makedirs(outputs, exist_ok=True)
with open(program, encoding="utf-8") as file:
    # Every output path stands in the source.
    source = file.read().replace("/var/outputs", outputs)
sys.argv = [program, *options]
exec(compile(source, program, "exec"), {"__name__": "__main__", "__file__": program})
