"""Receivers of alerts on this machine: a web server, a program that keeps its input."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import PATIENCE_SECONDS


class Web:
    """The received posts, and the answers to them."""

    def __init__(self):
        self.status, self.bodies, self.paths, self.keys, self.wait = 200, [], [], [], threading.Event()
        self.wait.set()

    @property
    def texts(self):
        return [json.loads(body)["text"] for body in self.bodies]


@contextmanager
def web_server():
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            web.wait.wait(PATIENCE_SECONDS)
            if web.status == 200:
                web.bodies.append(body)
                web.paths.append(self.path)
                web.keys.append(self.headers["Authorization"])
            self.send_response(web.status)
            if web.status in {301, 302, 307}:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    web.address = f"http://127.0.0.1:{server.server_port}/services/T0/B0/hunter2secret"
    try:
        yield web
    finally:
        web.wait.set()
        server.shutdown()
        server.server_close()


def keeping_program(folder):
    """Make a program that appends its input to a file as a line; return its words and the file."""
    kept, program = folder / "kept.jsonl", folder / "keep it.py"
    program.write_text(
        f"import sys\nopen({str(kept)!r}, 'a').write(sys.stdin.read() + chr(10))\nsys.exit(int(sys.argv[1]))\n"
    )
    return [sys.executable, str(program)], kept
