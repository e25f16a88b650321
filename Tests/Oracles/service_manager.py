#!/usr/bin/env python3
"""Plays systemd for `veilring serve`: notifications, watchdog, reload, and a restart on a socket that is handed over.

    python3 Tests/Oracles/service_manager.py --program .build/release/veilring [--seconds 5]

Builds a small directory, holds the listening socket itself, and asks over new connections the whole time while the server is
stopped and started again. Every request must be answered and no connection refused. Python's standard library only. Exit status 0
when all held; prints what was seen.
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time


def check(condition, text):
    print(("ok: " if condition else "FAILED: ") + text)
    if not condition:
        raise SystemExit(1)


class Manager:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(f"{folder}/notify")
        self.notify.settimeout(60)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        self.signs = 0

    def start(self):
        """Starts the server as systemd does: the socket is descriptor 3, LISTEN_PID is the server's own."""
        environment = dict(
            os.environ, NOTIFY_SOCKET=f"{self.folder}/notify", WATCHDOG_USEC="1000000", LISTEN_FDS="1",
            LISTEN_FDNAMES="veilring.socket")
        script = 'LISTEN_PID=$$ exec "$0" serve --config "$1"'
        descriptor = self.listener.fileno()

        def hand_over():
            os.dup2(descriptor, 3)
            os.set_inheritable(3, True)

        with open(f"{self.folder}/log", "a") as log:
            return subprocess.Popen(
                ["/bin/sh", "-c", script, self.program, f"{self.folder}/veilring.json5"], env=environment, stderr=log,
                preexec_fn=hand_over, close_fds=False)

    def next(self):
        """The next message that is no sign of life."""
        while True:
            message = self.notify.recv(4096).decode().split("\n")
            if message != ["WATCHDOG=1"]:
                return message
            self.signs += 1


def ask(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.settimeout(60)
        connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        data = b""
        while chunk := connection.recv(4096):
            data += chunk
        return data.startswith(b"HTTP/1.1 404 ")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--restarts", type=int, default=3)
    options = options.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as folder:
        manager = Manager(program, folder)
        with open(f"{folder}/rows.csv", "w") as rows:
            rows.write("number,name\n+14085551212,Johnny\n")
        with open(f"{folder}/veilring.json5", "w") as file:
            json.dump(
                {"data": "var", "region": "US", "authentication": "none", "listen": f"127.0.0.1:{manager.port}", "admin": "off",
                 "useCases": {"a.identity": {"kind": "identity", "source": "rows.csv"}}}, file)
        subprocess.run([program, "build", "--config", f"{folder}/veilring.json5"], check=True, stdout=subprocess.DEVNULL)
        server = manager.start()
        ready = manager.next()
        check(ready[0] == "READY=1", f"ready: {ready}")
        check(ask(manager.port), "answers on the socket that was handed over")
        server.send_signal(signal.SIGHUP)
        reloading, ready = manager.next(), manager.next()
        check(reloading[0] == "RELOADING=1" and reloading[1].startswith("MONOTONIC_USEC="), f"reload: {reloading}")
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        check(abs(now - int(reloading[1].split("=")[1])) < 60_000_000, "its time is the manager's clock")
        check(ready[0] == "READY=1", f"after it: {ready}")

        done, failures, stop = [], [], threading.Event()

        def load():
            while not stop.is_set():
                try:
                    (done if ask(manager.port) else failures).append(1)
                except OSError as error:
                    failures.append(error)

        threads = [threading.Thread(target=load) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(options.restarts):
            before = len(done)
            while len(done) < before + 100 and not failures:
                time.sleep(0.01)
            server.send_signal(signal.SIGTERM)
            stopping = manager.next()
            check(stopping[0] == "STOPPING=1", f"stop: {stopping}")
            check(server.wait(60) == 0, "status 0")
            time.sleep(0.2)
            server = manager.start()
            check(manager.next()[0] == "READY=1", "ready again")
        stop.set()
        for thread in threads:
            thread.join()
        check(not failures, f"{len(done)} requests over {options.restarts} restarts, failures: {failures[:3]}")
        while manager.signs < 3:
            check(manager.notify.recv(4096) == b"WATCHDOG=1", "a sign of life")
            manager.signs += 1
        server.send_signal(signal.SIGSTOP)
        manager.notify.settimeout(1.5)
        silent = False
        try:
            for _ in range(1000):
                manager.notify.recv(4096)
        except TimeoutError:
            silent = True
        server.send_signal(signal.SIGCONT)
        check(silent, "no sign of life while the process does not run")
        server.send_signal(signal.SIGTERM)
        check(server.wait(60) == 0, "ended")
    print("all held")


if __name__ == "__main__":
    main()
