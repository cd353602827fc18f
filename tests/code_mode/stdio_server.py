"""An MCP server over standard streams: it adds, says which variables it has, and leaves a process behind that must end with it."""

import json
import os
import signal
import subprocess
import sys

NUMBER = {"type": "number"}
TOOLS = [
    {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
        "outputSchema": {"type": "object", "properties": {"sum": NUMBER}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "variables", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]


def call(params):
    if sys.argv[1] == "fail":
        print("x" * 100_000 + "\nthe index is gone", file=sys.stderr, flush=True)
        sys.exit(3)
    if params["name"] == "variables":
        return {"content": [{"type": "text", "text": json.dumps(sorted(os.environ))}]}
    total = params["arguments"]["a"] + params["arguments"]["b"]
    return {"content": [], "structuredContent": {"sum": total}}


def answer(request):
    if sys.argv[1] == "mute" and request["method"] == "tools/list":
        with open("listing", "w"):
            signal.pause()
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
    if request["method"] == "tools/list":
        return {"tools": TOOLS}
    return call(request["params"]) if request["method"] == "tools/call" else None


if sys.argv[1] == "stays":
    # Neither the end of its input nor that of a terminal ends it.
    for ends in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, signal.SIG_IGN)
# Of the same group; it would live on for an hour.
child = subprocess.Popen(["sleep", "3600"])
with open("pids", "w") as pids:
    pids.write(f"{os.getpid()} {child.pid}")
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request)
    reply = {"error": {"code": -32601, "message": "method not found"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
if sys.argv[1] == "stays":
    signal.pause()
