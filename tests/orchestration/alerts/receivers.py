"""Receivers of alerts on this machine: a web server, a mail server with STARTTLS, a program that keeps its input."""

from __future__ import annotations

import email
import json
import socketserver
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from email import policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import PATIENCE_SECONDS


class Web:
    """What was posted, and what is answered."""

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


class Post:
    """Mails that came in, and how."""

    def __init__(self):
        self.mails, self.sessions, self.refuses = [], [], False


class MailHandler(socketserver.BaseRequestHandler):
    """As much of RFC 5321, 3207 and 4954 as smtplib speaks."""

    def handle(self):
        self.session = {"tls": False, "user": None}
        self.server.post.sessions.append(self.session)
        self._open()
        self._say("220 test")
        for line in iter(self._read_line, b""):
            word, _, rest = line.decode().strip().partition(" ")
            answer = getattr(self, f"do_{word.upper()}", lambda _: self._say("250 fine"))
            if answer(rest) == "end":
                return

    def do_EHLO(self, _):
        can_encrypt = self.server.context and not self.session["tls"]
        offers = ["test", *(["STARTTLS"] if can_encrypt else []), "AUTH PLAIN"]
        for number, offer in enumerate(offers, 1):
            self._say(f"250{' ' if number == len(offers) else '-'}{offer}")

    def do_STARTTLS(self, _):
        self._say("220 go on")
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.session["tls"] = True
        self._open()

    def do_AUTH(self, words):
        self.session["user"] = words
        self._say("535 no" if self.server.post.refuses else "235 yes")

    def do_DATA(self, _):
        self._say("354 go on")
        lines = list(iter(self.file.readline, b".\r\n"))
        self.server.post.mails.append(email.message_from_bytes(b"".join(lines), policy=policy.default))
        self._say("250 taken")

    def do_QUIT(self, _):
        self._say("221 bye")
        return "end"

    def _read_line(self):
        # After STARTTLS it is another file.
        return self.file.readline()

    def _open(self):
        self.file = self.request.makefile("rb")

    def _say(self, text):
        self.request.sendall(f"{text}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        pass


@contextmanager
def mail_server(folder, *, with_tls=True):
    post = Post()
    server = MailServer(("127.0.0.1", 0), MailHandler)
    server.post, server.context = post, None
    if with_tls:
        post.certificate, key = folder / "mail.pem", folder / "mail.key"
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", str(key), "-out", str(post.certificate)]
        subprocess.run([*make, *names, *files], check=True, capture_output=True)
        server.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server.context.load_cert_chain(post.certificate, key)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    post.port = server.server_address[1]
    try:
        yield post
    finally:
        server.shutdown()
        server.server_close()


def keeping_program(folder):
    """Make a program that adds its input to a file as a line; return its words and the file."""
    kept, program = folder / "kept.jsonl", folder / "keep it.py"
    program.write_text(
        f"import sys\nopen({str(kept)!r}, 'a').write(sys.stdin.read() + chr(10))\nsys.exit(int(sys.argv[1]))\n"
    )
    return [sys.executable, str(program)], kept
