#!/usr/bin/env python3
"""How fast a server answers small requests while every computing thread is busy.

    python3 Tests/Oracles/responsiveness.py [--program .build/release/veilring] [--seconds 20] [--niceness 5] [--rows 20000]

Builds a directory of --rows callers in one shard (a query takes time in proportion), serves it, keeps more queries waiting than there are
threads (`veilring lookup` processes, niced to 19 so that their own work counts as little as possible), and asks over 64
connections, each ten times a second: half of them /livez on the admin listener, half an unknown path on the main one. Prints
p50, p99 and the worst time of each half, once without and once with the load, how long a query computed, and the load average
of the machine before and after. Without an admin listener that answers, all ask
the unknown path. Python's standard library only.
"""
import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


async def ask(address, path, start, end, interval, times, failures):
    host, port = address
    reader, writer = await asyncio.open_connection(host, port)
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    turn = start
    while turn < end:
        await asyncio.sleep(max(0, turn - time.monotonic()))
        began = time.monotonic()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
        await reader.readexactly(length)
        times.append(time.monotonic() - began)
        if not re.match(rb"HTTP/1.1 (200|404) ", head):
            failures.append(head.split(b"\r\n")[0])
        turn += interval
    writer.close()


async def measure(targets, connections, rate, seconds):
    times = {name: [] for name, _, _ in targets}
    failures = []
    begin = time.monotonic() + 0.2
    tasks = []
    for index in range(connections):
        name, address, path = targets[index % len(targets)]
        # Spread over the interval, as independent clients are.
        start = begin + index / connections / rate
        tasks.append(ask(address, path, start, begin + seconds, 1 / rate, times[name], failures))
    await asyncio.gather(*tasks)
    return times, failures


def report(title, times, failures):
    for name, values in times.items():
        if values:
            print(
                f"{title:8} {name:8} n={len(values):6} p50 {1e3 * percentile(values, 0.5):7.2f} ms"
                f"  p99 {1e3 * percentile(values, 0.99):7.2f} ms  worst {1e3 * max(values):7.2f} ms")
    if failures:
        print(f"{title:8} failures: {len(failures)}, the first {failures[0]!r}")


def computing(admin):
    """Queries that the server has computed, and the seconds that took, from its metrics."""
    page = urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=10).read().decode()
    values = []
    for part in ("count", "sum"):
        values.append(float(re.search(rf'^veilring_request_phase_seconds_{part}{{phase="compute"}} (\S+)', page, re.M).group(1)))
    return values


def number(index):
    return f"+1408{2000000 + index}"


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", default=".build/release/veilring")
    options.add_argument("--rows", type=int, default=20000)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--connections", type=int, default=64)
    options.add_argument("--rate", type=float, default=10)
    options.add_argument("--niceness", type=int, default=5)
    options.add_argument("--parameters", default="n_8192_logq_3x55_logt_24")
    options = options.parse_args()
    program = os.path.abspath(options.program)
    loaded = f"{os.getloadavg()[0]:.1f}"
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/rows.csv", "w") as rows:
            rows.write("number,name\n")
            for index in range(options.rows):
                rows.write(f"{number(index)},Name {index} of a directory\n")
        port, admin = free_port(), free_port()
        configuration = {
            "data": "var", "region": "US", "authentication": "none", "listen": f"127.0.0.1:{port}", "admin": f"127.0.0.1:{admin}",
            "limits": {"queryNiceness": options.niceness, "queuedMilliseconds": 5000, "queriesSeconds": 30},
            "useCases": {
                "load.identity": {
                    "kind": "identity", "source": "rows.csv",
                    "pir": {"rlweParameters": options.parameters, "sharding": {"shardCount": 1}, "trialsPerShard": 0}}}}
        with open(f"{folder}/veilring.json5", "w") as file:
            json.dump(configuration, file)
        subprocess.run([program, "build", "--config", f"{folder}/veilring.json5"], check=True, stdout=subprocess.DEVNULL)
        log = open(f"{folder}/log", "w")
        server = subprocess.Popen([program, "serve", "--config", f"{folder}/veilring.json5"], stderr=log)
        load = []
        try:
            while "ready" not in open(f"{folder}/log").read():
                if server.poll() is not None:
                    sys.exit(open(f"{folder}/log").read())
                time.sleep(0.05)
            targets = [("unknown", ("127.0.0.1", port), "/no-such-path")]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{admin}/livez", timeout=2).read()
                targets.insert(0, ("livez", ("127.0.0.1", admin), "/livez"))
            except (urllib.error.URLError, OSError):
                print("no admin listener: all connections ask the unknown path")
            report("idle", *asyncio.run(measure(targets, options.connections, options.rate, options.seconds / 2)))
            threads = os.cpu_count()
            numbers = [number(index) for index in range(2000)]
            # More clients than threads: one that prepares its next query leaves no thread idle.
            for _ in range(3 * threads):
                load.append(
                    subprocess.Popen(
                        ["nice", "-n", "19", program, "lookup", "--url", f"http://127.0.0.1:{port}", "--use-case", "load.identity"]
                        + numbers, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(5)
            before = computing(admin) if len(targets) > 1 else None
            report("loaded", *asyncio.run(measure(targets, options.connections, options.rate, options.seconds)))
            if any(client.poll() not in (None, 0) for client in load):
                print("some lookups failed")
            text = open(f"{folder}/log").read()
            done = len(re.findall(r"queries[\" ].*?200", text))
            print(f"queries answered in all: {done}, on {threads} threads at niceness {options.niceness}")
            if before:
                count, seconds = (new - old for new, old in zip(computing(admin), before))
                print(f"computed meanwhile: {count:.0f} queries, {1e3 * seconds / max(1, count):.0f} ms each")
            print(f"load average: {loaded} before, {os.getloadavg()[0]:.1f} after")
        finally:
            for client in load:
                client.kill()
                client.wait()
            server.send_signal(signal.SIGTERM)
            server.wait(30)


if __name__ == "__main__":
    main()
