#!/usr/bin/env python3
"""Hostile connections against a running server, from many addresses of this machine, while a normal client goes on asking.

    veilring serve --config veilring.json5 &       # with a cleartext and a TLS listener, and the admin listener
    python3 Tests/Oracles/hostile_connections.py --plain 8080 --tls 8443 --admin 9090 [--count 100000] [--seed 1]

Prints what became of the connections, how the normal client fared, and memory and descriptors before and after. Exit status 1
if a normal request failed, or if descriptors did not come back to where they were.
"""

import argparse
import errno
import http.client
import os
import random
import selectors
import socket
import ssl
import struct
import sys
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


SETTINGS = frame(4, 0, 0)
# :method GET, :scheme http, :path / of the static table, and an authority.
HEAD = bytes([0x82, 0x86, 0x84, 0x41, 0x01]) + b"a"


def kinds(rng):
    """Name, whether for the TLS listener, bytes to send, what follows: hold, reset, half-close, close."""
    text = lambda s: s.encode()
    user = "User-Identifier: hostile\r\nHost: a\r\n"
    return [
        ("slow headers", False, text("GET / HTTP/1.1\r\nHost: a\r\nX: "), "hold"),
        ("slow body", False, text("POST /config HTTP/1.1\r\n" + user + "Content-Length: 60000\r\n\r\n") + b"a" * 10, "hold"),
        ("silent", False, b"", "hold"),
        ("reset in the head", False, text("POST /queries HTTP/1.1\r\nHo"), "reset"),
        ("reset in the body", False, text("POST /key HTTP/1.1\r\n" + user + "Content-Length: 9999999\r\n\r\n") + b"b" * 999, "reset"),
        ("half-closed", False, text("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"), "half"),
        ("half-closed in the body", False, text("POST /config HTTP/1.1\r\n" + user + "Content-Length: 50\r\n\r\nx"), "half"),
        ("oversized line", False, b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n", "close"),
        ("oversized headers", False, text("GET / HTTP/1.1\r\nHost: a\r\n") + b"X-Y: " + b"z" * 40000 + b"\r\n\r\n", "close"),
        ("oversized length", False, text("POST /queries HTTP/1.1\r\n" + user + "Content-Length: 99999999999999999\r\n\r\n"), "close"),
        ("oversized chunk", False, text("POST /queries HTTP/1.1\r\n" + user + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFF\r\n"), "hold"),
        ("smuggling", False, text("POST /config HTTP/1.1\r\n" + user + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "close"),
        ("pipelined, never read", False, text("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n") * 500, "hold"),
        ("garbage", False, rng.randbytes(300), "close"),
        ("h2 ping flood", False, PREFACE + SETTINGS + frame(6, 0, 0, b"12345678") * 2000, "hold"),
        ("h2 settings flood", False, PREFACE + SETTINGS * 2000, "hold"),
        ("h2 rapid reset", False, PREFACE + SETTINGS + b"".join(
            frame(1, 5, 2 * i + 1, HEAD) + frame(3, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(1500)), "hold"),
        ("h2 continuation flood", False, PREFACE + SETTINGS + frame(1, 1, 1, HEAD) + frame(9, 0, 1, b"\x00\x01x\x01y") * 500, "hold"),
        ("h2 empty data", False, PREFACE + SETTINGS + frame(1, 0, 1, HEAD) + frame(0, 0, 1) * 2000, "hold"),
        ("h2 zero window", False, PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0)) + frame(1, 5, 1, HEAD), "hold"),
        ("cleartext to TLS", True, text("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "close"),
        ("garbage to TLS", True, rng.randbytes(500), "close"),
        ("TLS handshake that stops", True, bytes.fromhex("160301020001000"[:14]), "hold"),
        ("TLS record that is oversized", True, bytes.fromhex("160301ffff") + rng.randbytes(2000), "close"),
        ("silent to TLS", True, b"", "hold"),
    ]


class Connection:
    def __init__(self, kind, port, source, now, hold):
        self.name, _, data, self.after = kind
        self.data = memoryview(data)
        self.end = now + (hold if self.after == "hold" else 3.0)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.bind((source, 0))
        self.result = None
        code = self.socket.connect_ex(("127.0.0.1", port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, os.strerror(code))

    def step(self, mask):
        """Gives how it ended, or None."""
        try:
            if mask & selectors.EVENT_WRITE:
                if self.data:
                    self.data = self.data[self.socket.send(self.data):]
                if not self.data:
                    if self.after == "reset":
                        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return "reset by us"
                    if self.after == "half":
                        self.socket.shutdown(socket.SHUT_WR)
            if mask & selectors.EVENT_READ and self.name != "pipelined, never read":
                got = self.socket.recv(65536)
                if not got:
                    return "ended by the server"
        except BlockingIOError:
            return None
        except OSError as error:
            return "refused" if error.errno == errno.ECONNREFUSED else "cut by the server"
        return None

    @property
    def mask(self):
        reads = 0 if self.name == "pipelined, never read" else selectors.EVENT_READ
        return reads | (selectors.EVENT_WRITE if self.data or self.after == "reset" and self.result is None else 0)


class Normal(threading.Thread):
    """Asks again and again, on new and on kept connections, in cleartext and over TLS."""

    def __init__(self, plain, tls):
        super().__init__(daemon=True)
        self.plain, self.tls, self.over = plain, tls, False
        self.times, self.failures = [], []

    def run(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        kept = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=10)
        while not self.over:
            for name, make in (
                ("kept", lambda: kept),
                ("new", lambda: http.client.HTTPConnection("127.0.0.1", self.plain, timeout=10)),
                ("tls", lambda: http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=10, context=context)),
            ):
                start = time.monotonic()
                try:
                    connection = make()
                    connection.request("GET", "/nothing")
                    response = connection.getresponse()
                    response.read()
                    if response.status != 404:
                        self.failures.append(f"{name}: {response.status}")
                    if name != "kept":
                        connection.close()
                except Exception as error:  # every failure of a normal client counts, whatever it is
                    self.failures.append(f"{name}: {type(error).__name__}: {error}")
                    kept.close()
                self.times.append(time.monotonic() - start)
            time.sleep(0.02)


def metrics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    values = {}
    for line in connection.getresponse().read().decode().splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name] = float(value)
    return values["process_resident_memory_bytes"] / 1e6, int(values["process_open_fds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("plain", "tls", "admin"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=600)
    parser.add_argument("--hold", type=float, default=1.0, help="seconds for which a holding connection is kept")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    all_kinds = kinds(rng)
    before = metrics(options.admin)
    normal = Normal(options.plain, options.tls)
    normal.start()
    selector = selectors.DefaultSelector()
    open_connections, results, made, peak = {}, {}, 0, before[0]
    start = last = time.monotonic()

    def finish(connection, how):
        results.setdefault(connection.name, {}).setdefault(how, 0)
        results[connection.name][how] += 1
        selector.unregister(connection.socket)
        connection.socket.close()
        del open_connections[connection.socket]

    while made < options.count or open_connections:
        now = time.monotonic()
        for _ in range(50):
            if made >= options.count or len(open_connections) >= options.at_once:
                break
            kind = all_kinds[made % len(all_kinds)]
            source = f"127.0.0.{2 + made % 50}"
            connection = Connection(kind, options.tls if kind[1] else options.plain, source, now, options.hold)
            open_connections[connection.socket] = connection
            selector.register(connection.socket, connection.mask or selectors.EVENT_READ, connection)
            made += 1
        for key, mask in selector.select(0.02):
            connection = key.data
            how = connection.step(mask)
            if how:
                finish(connection, how)
            elif connection.mask != key.events:
                selector.modify(connection.socket, connection.mask or selectors.EVENT_READ, connection)
        for connection in [c for c in open_connections.values() if c.end < now]:
            finish(connection, "closed by us")
        if now - last > 5:
            last = now
            peak = max(peak, metrics(options.admin)[0])
    seconds = time.monotonic() - start
    normal.over = True
    normal.join()
    for _ in range(100):
        after = metrics(options.admin)
        if after[1] <= before[1] + 3:
            break
        time.sleep(0.2)

    for name, ways in results.items():
        print(f"{name}: " + ", ".join(f"{how} {count}" for how, count in sorted(ways.items())))
    times = sorted(normal.times)
    print(f"hostile connections: {made} in {seconds:.1f} s")
    print(
        f"normal requests: {len(times)}, failed {len(normal.failures)}, "
        f"median {times[len(times) // 2] * 1e3:.1f} ms, p99 {times[len(times) * 99 // 100] * 1e3:.1f} ms"
    )
    for failure in normal.failures[:5]:
        print("  " + failure)
    print(f"memory: {before[0]:.0f} MB before, {peak:.0f} MB seen at most, {after[0]:.0f} MB after")
    print(f"descriptors: {before[1]} before, {after[1]} after")
    sys.exit(1 if normal.failures or after[1] > before[1] + 3 else 0)


if __name__ == "__main__":
    main()
