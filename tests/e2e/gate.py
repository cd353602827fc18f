"""Passes requests with the right key on to a model, and refuses others as models do. Arguments: the key, the model's address."""

import http.server
import sys
import urllib.error
import urllib.request

KEY, MODEL = sys.argv[1:]
REFUSAL = b'{"error": {"message": "Incorrect API key provided.", "type": "invalid_request_error", "code": "invalid_api_key"}}'


class Gate(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self.answer(401, REFUSAL)
        request = urllib.request.Request(MODEL + self.path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as reply:
                self.answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", 8080), Gate).serve_forever()
