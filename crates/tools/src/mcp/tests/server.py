"""An MCP server over standard streams, as small as it can be. Its first argument says how it behaves."""

import json
import os
import sys

BEHAVIOUR = sys.argv[1]
TOOLS = [
    {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "environment", "inputSchema": {"type": "object"}},
]


def ping(number):
    print(json.dumps({"jsonrpc": "2.0", "id": f"ping-{number}", "method": "ping"}))


def call(params):
    if BEHAVIOUR == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if BEHAVIOUR == "ping":
        for number in range(300):
            ping(number)
            sys.stdout.flush()
            sys.stdin.readline()
    if BEHAVIOUR == "exit":
        print("the disk is full", file=sys.stderr, flush=True)
        sys.exit(3)
    if BEHAVIOUR == "hang":
        sys.stdin.read()
    if params["name"] == "environment":
        text = json.dumps(sorted(os.environ))
    else:
        text = json.dumps(params["arguments"]["a"] + params["arguments"]["b"])
    return {"content": [{"type": "text", "text": text}]}


def answer(request):
    method = request["method"]
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
    if method == "tools/list":
        if BEHAVIOUR == "no_tool":
            return {"tools": TOOLS + [{"name": "odd", "inputSchema": ["list"]}]}
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(request["params"])
    return None


if BEHAVIOUR == "broken":
    raise SystemExit("no module named tiny")
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    if BEHAVIOUR == "garbage":
        print("{no json", flush=True)
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if BEHAVIOUR == "other_id":
        reply["id"] = 9999
    result = answer(request)
    if result is None:
        reply["error"] = {"code": -32601, "message": "method not found"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
