#!/usr/bin/env python3
"""Mutated requests against a running `veilring serve` (service.md 11; issue "How it is judged").

usage: hostile_requests.py --oracle DIR --url http://HOST:PORT --pid PID --use-case NAME... [--seed N] [--count N]

Every request is answered with 4xx, with 501 where the mutation set `shard_id`, with 503, or with a well-formed 200.
A seed reproduces each. Prints memory, descriptors and the latency of a valid query along the way; exit 1 on a finding.
"""
import argparse
import collections
import http.client
import os
import random
import sys
import time
from urllib.parse import urlsplit

arguments = argparse.ArgumentParser()
arguments.add_argument("--oracle", required=True)
arguments.add_argument("--url", required=True)
arguments.add_argument("--pid", type=int, required=True)
arguments.add_argument("--use-case", action="append", required=True)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("--count", type=int, default=10_000)
args = arguments.parse_args()
sys.path.insert(0, args.oracle)
import bfv  # noqa: E402
import device  # noqa: E402
import keyword_pir as kp  # noqa: E402
import messages as m  # noqa: E402

KINDS = {"/config": "ConfigRequest", "/key": "EvaluationKeys", "/queries": "Requests"}
ANSWERS = {"/config": "ConfigResponse", "/queries": "Responses"}
at = urlsplit(args.url)


class Server:
    def __init__(self):
        self.connection = None

    def post(self, path, body, user):
        for again in (True, False):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(at.hostname, at.port, timeout=60)
            try:
                self.connection.request("POST", path, body, {"User-Identifier": user})
                answer = self.connection.getresponse()
                content = answer.read()
                if answer.will_close:
                    self.connection = None
                return answer.status, content, answer.headers
            except (OSError, http.client.HTTPException):
                self.connection = None          # the server may have closed after a refusal of the head
                if not again:
                    raise

    def process(self):
        status = open(f"/proc/{args.pid}/status").read()
        rss = int(status.split("VmRSS:")[1].split()[0]) // 1024
        threads = int(status.split("Threads:")[1].split()[0])
        return rss, len(os.listdir(f"/proc/{args.pid}/fd")), threads


def bodies(phone):
    """Valid bodies by path."""
    names = list(phone.cases)
    randomness = bfv.Randomness(b"h" * 32)
    def ask(name, embed=False):
        case = phone.cases[name]
        shard = case.shard_of(b"+16502000000")
        request = {"shard_index": shard, "configuration_hash": case.config_id, "evaluation_key_metadata": case.key.metadata,
                   "query": kp.make_query(case.shards[shard], case.key.secret, b"+16502000000", randomness)}
        if embed:
            request["evaluation_key"] = case.key.message
        return {"usecase": name, "pir_request": request}
    keys = {k.metadata["identifier"]: k.message for k in phone.keys.values()}
    config = [{"usecases": names}, {"usecases": names, "existing_config_ids": [phone.cases[n].config_id for n in names]}, {}]
    queries = [{"requests": [ask(n)]} for n in names] + [{"requests": [ask(n) for n in names]}]
    queries += [{"requests": [ask(n, embed=True)]} for n in names]
    return {"/config": config, "/key": [{"keys": [k]} for k in keys.values()] + [{"keys": list(keys.values())}], "/queries": queries}


def places(kind, message, path=()):
    """Every field that is set, as (kind, path)."""
    for f in m.MESSAGES[kind]:
        if f.name not in message:
            continue
        value = message[f.name]
        here = path + (f.name,)
        yield f, here
        if f.type in m.MESSAGES:
            if f.key:
                for k in value:
                    yield from places(f.type, value[k], here + (k,))
            elif f.repeated:
                for i, v in enumerate(value):
                    yield from places(f.type, v, here + (i,))
            else:
                yield from places(f.type, value, here)


def copied(value):
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    return [copied(v) for v in value] if isinstance(value, list) else value


def at_path(message, path):
    for step in path:
        message = message[step]
    return message


HOSTILE = [0, 1, 2, 3, 7, 127, 128, 255, 4095, 4096, 8191, 8192, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1,
           2**63, 2**64 - 1]


def structural(rng, kind, message):
    """One change that keeps the message a protobuf message."""
    message = copied(message)
    found = list(places(kind, message))
    if not found:
        return message, "empty"
    f, path = rng.choice(found)
    holder = at_path(message, path[:-1])
    value = holder[path[-1]]
    limit = {"uint32": 2**32, "bool": 2}.get(f.type, 2**64)
    if f.key:
        change = rng.choice(("rekey", "drop", "empty", "many"))
        if change == "rekey" and value:
            k = rng.choice(list(value))
            value[rng.choice(HOSTILE) if f.key != "string" else "x" * rng.choice((0, 300))] = value.pop(k)
        elif change == "drop" and value:
            value.pop(rng.choice(list(value)))
        elif change == "many" and value:
            v = rng.choice(list(value.values())) if rng.random() < .5 else {}
            small = v if len(m.encode(f.type, v)) < 200 else {}
            for i in range(2000):
                value[i * 2 + 1] = small
        else:
            holder[path[-1]] = {}
    elif f.repeated:
        change = rng.choice(("double", "drop", "empty", "many", "swap", "number"))
        if change == "double":
            holder[path[-1]] = value + value
        elif change == "drop" and value:
            value.pop(rng.randrange(len(value)))
        elif change == "many" and value:
            one = value[0]
            size = len(m.encode(f.type, one)) if f.type in m.MESSAGES else 64
            holder[path[-1]] = value + [one if size < 200 else {}] * rng.choice((63, 1000, 20000))
        elif change == "swap":
            value.reverse()
        elif f.type in ("uint32", "uint64"):
            holder[path[-1]] = [rng.choice(HOSTILE) % limit for _ in range(rng.choice((1, 2, 3, 50)))]
        else:
            holder[path[-1]] = []
    elif f.type in ("bytes", "string"):
        raw = value.encode() if f.type == "string" else value
        change = rng.choice(("cut", "grow", "empty", "flip", "random", "shorter by one", "longer by one", "ones"))
        if change == "cut":
            raw = raw[:rng.randrange(len(raw) + 1)]
        elif change == "grow":
            raw += rng.randbytes(rng.choice((1, 8, 1000, 100_000)))
        elif change == "empty":
            raw = b""
        elif change == "flip" and raw:
            i = rng.randrange(len(raw))
            raw = raw[:i] + bytes([raw[i] ^ 1 << rng.randrange(8)]) + raw[i + 1:]
        elif change == "random":
            raw = rng.randbytes(len(raw))
        elif change == "shorter by one":
            raw = raw[:-1]
        elif change == "longer by one":
            raw += b"\0"
        elif change == "ones":
            raw = b"\xff" * len(raw)
        holder[path[-1]] = raw.decode("latin-1") if f.type == "string" else raw
    elif f.type in m.MESSAGES:
        change = rng.choice(("drop", "empty"))
        if change == "drop":
            del holder[path[-1]]
        else:
            holder[path[-1]] = {}
    else:
        change = "number"
        holder[path[-1]] = rng.choice(HOSTILE) % limit
    if kind == "Requests" and rng.random() < .15 and message.get("requests"):
        pir = rng.choice(message["requests"]).get("pir_request")
        extra = rng.choice(("shard", "shard id", "oprf", "count"))
        if pir is not None and extra == "shard":
            pir["shard_index"] = rng.choice(HOSTILE) % 2**32
        elif pir is not None and extra == "shard id":
            pir["shard_id"] = rng.choice(("", "0", "x" * 1000))
        elif pir is not None and extra == "count" and "query" in pir:
            pir["query"]["num_pir_calls"] = rng.choice(HOSTILE)
        elif extra == "oprf":
            message["requests"].append({"usecase": args.use_case[0], "oprf_request": {"query_element": b"x"}})
        change += " and " + extra
    return message, f"{'.'.join(map(str, (p for p in path if not isinstance(p, int))))} {change}"


def bytewise(rng, data):
    """One or several changes of the bytes; mostly near the start, where the structure is."""
    data = bytearray(data)
    change = rng.choice(("flip", "flips", "cut", "grow", "varint", "insert", "remove", "duplicate", "splice", "random", "length"))
    near = lambda: rng.randrange(min(len(data), rng.choice((40, 400, len(data) or 1))) or 1) if data else 0
    if change in ("flip", "flips"):
        for _ in range(1 if change == "flip" else rng.choice((2, 10, 200))):
            if data:
                data[near()] ^= 1 << rng.randrange(8)
    elif change == "cut":
        del data[near():]
    elif change == "grow":
        data += rng.randbytes(rng.choice((1, 3, 100, 10_000)))
    elif change == "varint":
        i = near()
        data[i:i + 1] = m.varint(rng.choice(HOSTILE))
    elif change == "length":
        i = near()
        data[i:i] = bytes([rng.randrange(1, 12) << 3 | 2]) + m.varint(rng.choice(HOSTILE[10:]))
    elif change == "insert":
        i = near()
        data[i:i] = rng.randbytes(rng.choice((1, 2, 50)))
    elif change == "remove":
        i = near()
        del data[i:i + rng.choice((1, 2, 50, 5000))]
    elif change == "duplicate":
        data = data + data
    elif change == "splice":
        i, j = near(), near()
        data[i:i + 20] = bytes(data[j:j + 20])
    else:
        data = bytearray(rng.randbytes(rng.choice((0, 1, 10, 1000, 70_000))))
    return bytes(data), change


def has_shard_id(body):
    try:
        return any("shard_id" in r.get("pir_request", {}) for r in m.decode("Requests", body).get("requests", []))
    except (ValueError, IndexError):
        return None


def main():
    server, valid = Server(), Server()
    # Secret keys from a seed; keys are made anew (embed_key) so that their messages are at hand, then uploaded.
    phone = device.Phone(device.Direct(), args.url, seed=args.seed, embed_key=True)
    phone.configure(args.use_case)
    for key in phone.keys.values():
        assert valid.post("/key", m.encode("EvaluationKeys", {"keys": [key.message]}), phone.identifier)[0] == 200
    plain = bodies(phone)
    encoded = {path: [m.encode(KINDS[path], b) for b in list_] for path, list_ in plain.items()}
    stranger = "AAAAAAAA-0000-0000-0000-00000000000"

    def latency(n=20):
        times = []
        for _ in range(n):
            start = time.time()
            status, content, _ = valid.post("/queries", encoded["/queries"][0], phone.identifier)
            assert status in (200, 503), status
            times.append(time.time() - start)
        times.sort()
        return f"median {times[n // 2] * 1000:.1f} ms, worst {times[-1] * 1000:.1f} ms"
    print("before:", latency(), "RSS MB, descriptors, threads:", server.process(), flush=True)
    counts, findings, bodies_seen, sizes = collections.Counter(), [], collections.Counter(), []
    started = time.time()
    for i in range(args.count):
        rng = random.Random(args.seed * 1_000_003 + i)
        path = rng.choice(("/config", "/key", "/key", "/queries", "/queries", "/queries"))
        index = rng.randrange(len(plain[path]))
        if rng.random() < .6:
            message, change = structural(rng, KINDS[path], plain[path][index])
            body = m.encode(KINDS[path], message)
        else:
            body, change = bytewise(rng, encoded[path][index])
        user = phone.identifier if rng.random() < .9 else stranger + str(rng.randrange(10))
        begun = time.time()
        try:
            status, content, headers = server.post(path, body, user)
        except Exception as e:
            findings.append((i, path, change, f"no answer: {type(e).__name__}: {e}"))
            if len(findings) > 20:
                break
            continue
        took = time.time() - begun
        counts[path, status] += 1
        if status != 200:
            bodies_seen[content] += 1
        bad = None
        if took > 5.5:
            bad = f"took {took:.1f} s"
        if status == 200 and path in ANSWERS:
            try:
                answer = m.decode(ANSWERS[path], content)
                if path == "/queries" and len(answer.get("responses", [])) != len(m.decode("Requests", body).get("requests", [])):
                    bad = "another number of responses"
            except (ValueError, IndexError) as e:
                bad = f"malformed 200: {e}"
        elif status == 200 and content:
            bad = "body in the answer of /key"
        elif status == 501 and has_shard_id(body) is False:
            bad = "501 without shard_id"
        elif status not in (200, 501, 503) and not 400 <= status < 500:
            bad = f"status {status}"
        if status == 503 and not headers.get("Retry-After"):
            bad = "503 without Retry-After"
        if bad:
            findings.append((i, path, change, bad))
        if i % 1000 == 999:
            print(f"{i + 1} in {time.time() - started:.0f} s:", latency(5), "RSS MB, descriptors, threads:", server.process(), flush=True)
    print("after:", latency(), "RSS MB, descriptors, threads:", server.process())
    for (path, status), n in sorted(counts.items()):
        print(f"  {path} {status}: {n}")
    print("bodies of refusals:", *(f"\n  {n} {b[:200]!r}" for b, n in bodies_seen.most_common()))
    for finding in findings:
        print("FINDING: request %d %s (%s): %s" % finding)
    sys.exit(1 if findings else 0)


main()
