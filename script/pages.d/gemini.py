"""A translation service that answers as a test says, in the form of Gemini's contract, a piece at a time."""

import http.server
import json
import threading


class Gemini(http.server.ThreadingHTTPServer):
    """`answers` are by text: the translation in pieces, what else is in the answer, and, between the pieces, an event."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon_threads = True
        self.answers, self.asked = {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["contents"][-1]["parts"][0]["text"]
        self.server.asked.append(text)
        pieces, more, wait = self.server.answers.get(text, ([f"<{text}>"], {}, None))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.event('{"translation": "')
        for number, piece in enumerate(pieces):
            if number and wait:
                wait.wait(20)
            self.event(json.dumps(piece)[1:-1])
        rest = json.dumps({"from": "en", **more})[1:]
        self.event(f'", {rest}', "STOP")

    def event(self, text, end=None):
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}}
        if end:
            candidate["finishReason"] = end
        document = json.dumps({"candidates": [candidate], "modelVersion": "scripted"})
        try:
            self.wfile.write(f"data: {document}\n\n".encode())
        except BrokenPipeError:
            # The program was killed.
            pass

    def log_message(self, *_):
        pass
