"""Tools of a shop: exchange rates over HTTP and the warehouse as an MCP server (Streamable HTTP).

    python3 tools.py                    # on this machine: http://127.0.0.1:8080
    python3 tools.py --host 0.0.0.0     # in a container

Python's standard library is all that it needs, and nothing is written.
"""

import argparse
import json
import signal
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

# Euros for one unit.
RATES = {"CHF": 1.04, "EUR": 1.0, "GBP": 1.16, "SEK": 0.09, "USD": 0.92}
# What is left of an article, and the days that a new delivery takes.
WAREHOUSE = {"desk lamp": (3, 12), "mug": (40, 5), "notebook": (9, 8), "tote bag": (2, 21)}

PROTOCOL_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
LARGEST_BODY = 64 * 1024
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR = -32601, -32602, -32600, -32700


class ToolError(Exception):
    """What a tool cannot do: the program that called it catches this as an exception."""


class RpcError(Exception):
    """A request that is wrong."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


def find(article: str) -> tuple[int, int]:
    """Return what is left of an article and the days of a delivery."""
    try:
        return WAREHOUSE[article.strip().lower()]
    except KeyError:
        raise ToolError(f"the warehouse has no article {article!r}") from None


def stock(article: str) -> dict:
    """How many pieces of an article are left."""
    return {"left": find(article)[0]}


def delivery(article: str) -> dict:
    """Days that a new delivery of an article takes."""
    return {"days": find(article)[1]}


TOOLS = {"stock": (stock, "left"), "delivery": (delivery, "days")}


def listed(name: str) -> dict:
    """Describe a tool as `tools/list` does."""
    function, field = TOOLS[name]

    def of(field: str, kind: str) -> dict:
        return {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}

    return {
        "name": name,
        "description": function.__doc__,
        "inputSchema": of("article", "string"),
        "outputSchema": of(field, "integer"),
        "annotations": {"readOnlyHint": True},
    }


def call(params: dict) -> dict:
    """Answer `tools/call`."""
    name, arguments = params.get("name"), params.get("arguments")
    if name not in TOOLS:
        raise RpcError(INVALID_PARAMS, f"there is no tool {name!r}")
    article = arguments.get("article") if isinstance(arguments, dict) else None
    if not isinstance(article, str):
        raise RpcError(INVALID_PARAMS, "give article, a text")
    try:
        value = TOOLS[name][0](article)
    except ToolError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def initialize(params: dict) -> dict:
    """Answer `initialize` in the client's version of the protocol where it is one of ours."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "warehouse", "version": "1.0.0"},
    }


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": [listed(name) for name in TOOLS]},
    "tools/call": call,
}


def answer(message: object) -> dict | None:
    """Answer a message of JSON-RPC: `None` for a notification."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        error = {"code": INVALID_REQUEST, "message": "this is no request"}
        return {"jsonrpc": "2.0", "id": None, "error": error}
    if "id" not in message:
        return None
    params = message.get("params")
    try:
        if message["method"] not in METHODS:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {message['method']!r}")
        result = METHODS[message["method"]](params if isinstance(params, dict) else {})
    except RpcError as error:
        said = {"code": error.code, "message": str(error)}
        return {"jsonrpc": "2.0", "id": message["id"], "error": said}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Handler(BaseHTTPRequestHandler):
    """The addresses `/rates/<currency>`, `/mcp` and `/healthz`."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    what = ""

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        if path == "/healthz":
            return self.send(HTTPStatus.OK, "ok")
        if path == "/mcp":
            # It has nothing to say of its own accord.
            return self.send(HTTPStatus.METHOD_NOT_ALLOWED, "use POST", {"Allow": "POST"})
        currency = path.removeprefix("/rates/")
        if currency in RATES:
            return self.send(HTTPStatus.OK, RATES[currency])
        return self.send(HTTPStatus.NOT_FOUND, f"there is no rate of {currency}")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            return self.send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "this is too long")
        body = self.rfile.read(length)
        # Only browsers send it, and no page has any business here.
        if self.headers.get("Origin"):
            return self.send(HTTPStatus.FORBIDDEN, "not from a browser")
        if urlsplit(self.path).path != "/mcp":
            return self.send(HTTPStatus.NOT_FOUND, "there is nothing here")
        try:
            message = json.loads(body)
        except ValueError as error:
            said = {"code": PARSE_ERROR, "message": str(error)}
            return self.send(HTTPStatus.BAD_REQUEST, {"jsonrpc": "2.0", "id": None, "error": said})
        self.what = described(message)
        reply = answer(message)
        if reply is None:
            return self.send(HTTPStatus.ACCEPTED, None)
        return self.send(HTTPStatus.OK, reply)

    def send(self, status: HTTPStatus, value: object, headers: dict | None = None):
        """Answer with a value as JSON, `None` being no body."""
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code="-", size="-"):
        if self.path != "/healthz":
            print(self.command, self.path, self.what, int(code), file=sys.stderr, flush=True)
        self.what = ""


def described(message: object) -> str:
    """Return method and tool of a message, for the log."""
    if not isinstance(message, dict):
        return ""
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return " ".join(repr(text) for text in (message.get("method"), name) if text)


def main() -> None:
    """Serve until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on; 0 is any free one (%(default)s)")
    args = parser.parse_args()
    server = ThreadingHTTPServer((args.host, args.port), Handler)
    # The first process of a container ends by no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    print(f"listening on http://{args.host}:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
