"""How long one tenant's pushes take, alone and beside connections of another tenant that starves it.

usage: starve.py TERN FOLDER SECONDS. Prints a line for each case: its name, the median, the longest, both in
milliseconds, and how many pushes there were.
"""

import http.client
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
import zlib

tern, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
data = os.path.join(folder, "server.tern")


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def operation(author, sequence, body):
    moment = int(time.time() * 1000) << 16 | sequence & 0xFFFF
    return (
        bytes([1, 0]) + bytes([author]) * 16 + varint(sequence) + moment.to_bytes(8, "little")
        + varint(1) + varint(0) + bytes([0]) + varint(len(body)) + body
    )


def batch(operations):
    content = b"".join(bytes([0]) + varint(len(one)) + one for one in operations)
    return (
        b"TRN1" + bytes([1]) + varint(len(operations)) + varint(len(content))
        + zlib.compress(content, 9)
    )


class Tenant:
    def __init__(self, port, space, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.path = f"/v1/spaces/{space}/operations"
        self.fields = {
            "Authorization": f"Bearer {token}", "Content-Type": "application/vnd.tern.batch",
        }

    def ask(self, method, body=None):
        self.connection.request(method, self.path, body, self.fields)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status


def token(space):
    command = [tern, "token", "create", "--data", data, "--space", space]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def starve(port, secret, count, method, body):
    """Asks the same on so many connections, whatever is answered, until the process is ended."""

    def ask():
        while True:
            try:
                tenant = Tenant(port, "starver", secret)
                while True:
                    tenant.ask(method, body)
            except (OSError, http.client.HTTPException):
                pass

    for _ in range(count):
        threading.Thread(target=ask, daemon=True).start()
    threading.Event().wait()


def measure(name, tenant):
    global sequence
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sequence += 1
        body = batch([operation(1, sequence, b"a row of some length" * 5)])
        begin = time.perf_counter()
        status = tenant.ask("POST", body)
        times.append((time.perf_counter() - begin) * 1000)
        if status != 200:
            sys.exit(f"{name}: a push was answered {status}")
        time.sleep(0.01)
    print(f"{name} {statistics.median(times):.1f} {max(times):.1f} {len(times)}", flush=True)


sequence = 0
victim_token, starver_token = token("victim"), token("starver")
server = subprocess.Popen(
    [tern, "serve", "--data", data, "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    victim = Tenant(port, "victim", victim_token)
    # 32 KiB that unpack to 32 MiB, and are acknowledged again each time.
    bomb = batch([operation(2, 1, bytes((16 << 20) - 64)), operation(2, 2, bytes((16 << 20) - 64))])
    first = Tenant(port, "starver", starver_token).ask("POST", bomb)
    if first != 200:
        sys.exit(f"the starving push was answered {first}")
    measure("alone", victim)
    for name, method, body in [("pushes", "POST", bomb), ("pulls", "GET", None)]:
        for count in [16, 64]:
            starver = multiprocessing.Process(
                target=starve, args=(port, starver_token, count, method, body), daemon=True)
            starver.start()
            time.sleep(1)
            measure(f"{name}-{count}", victim)
            starver.terminate()
            starver.join()
finally:
    server.terminate()
    server.wait()
