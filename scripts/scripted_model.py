"""A model server and a tool's server in one, for measurements: answers by a script, and knows when it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
# What a script gives for a request to the model: a text or a JSON document, or the calls of tools.
Answer = str | Json | list[tuple[str, Json]]


class ScriptedModel:
    """Serves chat completions at /v1 and, at any other path, the result of a tool."""

    def __init__(self, script: Callable[[Json], Answer], tool_result: object = None, delay: float = 0.0) -> None:
        self._script, self._tool_result, self._delay = script, tool_result, delay
        self._lock = threading.Lock()
        self.in_flight: list[tuple[float, float]] = []
        self.prompts: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without it the kernel holds an answer back until the one before is acknowledged.
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_GET(self) -> None:
                owner._answer(self, lambda _: owner._tool_result)

            def do_POST(self) -> None:
                owner._answer(self, owner._completion)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 2048

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, request: BaseHTTPRequestHandler, answer: Callable[[bytes], object]) -> None:
        begin = time.time()
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        reply = json.dumps(answer(body)).encode()
        time.sleep(self._delay)
        with self._lock:
            self.in_flight.append((begin, time.time()))
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(reply)))
        request.end_headers()
        request.wfile.write(reply)

    def _completion(self, text: bytes) -> Json:
        body = json.loads(text)
        with self._lock:
            self.prompts.append(text.decode())
        answer = self._script(body)
        message: Json = {"role": "assistant", "content": None}
        if isinstance(answer, list):
            message["tool_calls"] = [
                {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for number, (name, arguments) in enumerate(answer)
            ]
        else:
            message["content"] = answer if isinstance(answer, str) else json.dumps(answer)
        finish = "tool_calls" if isinstance(answer, list) else "stop"
        return {
            "id": "scripted",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 64, "total_tokens": len(text) // 4 + 64},
        }

    def busy(self, begin: float, end: float) -> float:
        """Seconds between two moments in which at least one request was being answered."""
        with self._lock:
            spans = sorted((max(begin, one), min(end, other)) for one, other in self.in_flight if other > begin and one < end)
        total, until = 0.0, begin
        for one, other in spans:
            total += max(0.0, other - max(one, until))
            until = max(until, other)
        return total

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
