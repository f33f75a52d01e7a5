"""How eight new devices download a snapshot at once, and what the server's memory is then.

usage: snapshots.py TERN FOLDER. FOLDER has a server's data file, server.tern, with a snapshot of the space "bench". Prints its
MiB, the seconds in which eight have it, the seconds in which nginx gives eight the same files, and the server's peak in MiB.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

tern, folder = sys.argv[1:3]
data = os.path.join(folder, "server.tern")
DEVICES = 8


def at_once(port, paths, fields):
    """Has each device ask for all paths, one after the other; returns the seconds and the bytes of one."""
    sizes, failed = [0] * DEVICES, []

    def ask(number):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for path in paths:
            connection.request("GET", path, headers=fields)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                failed.append(f"{path}: {answer.status} {body!r}")
                return
            sizes[number] += len(body)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(DEVICES)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(failed[0])
    return time.perf_counter() - began, sizes[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


command = [tern, "token", "create", "--data", data, "--space", "bench"]
token = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
server = subprocess.Popen(
    [tern, "serve", "--data", data, "--port", "0", "--processor-per-token", "6000"], stdout=subprocess.PIPE, text=True)
nginx = None
try:
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    fields = {"Authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/v1/spaces/bench", headers=fields)
    snapshot = json.loads(connection.getresponse().read())["snapshot"]
    parts = [f"/v1/spaces/bench/snapshots/{snapshot['id']}/parts/{index}" for index in range(snapshot["parts"])]
    seconds, size = at_once(port, parts, fields)
    with open(f"/proc/{server.pid}/status", encoding="utf8") as status:
        peak = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024
    for path in parts:
        connection.request("GET", path, headers=fields)
        os.makedirs(os.path.dirname(f"{folder}/files{path}"), exist_ok=True)
        with open(f"{folder}/files{path}", "wb") as file:
            file.write(connection.getresponse().read())
    plain_port = free_port()
    with open(f"{folder}/nginx.conf", "w", encoding="utf8") as settings:
        settings.write(
            f"daemon off; pid {folder}/nginx.pid; error_log stderr; user root; events {{}} http {{ access_log off; "
            f"sendfile on; server {{ listen 127.0.0.1:{plain_port}; root {folder}/files; }} }}")
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    nginx = subprocess.Popen([program, "-c", f"{folder}/nginx.conf"])
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", plain_port)) == 0:
                break
        time.sleep(0.05)
    plain, _ = at_once(plain_port, parts, {})
    print(f"{size / (1 << 20):.1f} {seconds:.2f} {plain:.2f} {peak:.0f}")
finally:
    server.terminate()
    server.wait()
    if nginx:
        nginx.terminate()
        nginx.wait()
