#!/usr/bin/env python3
"""Oblivious HTTP by others: a client and a gateway on PyPI's `pyhpke`, and the requests of PyPI's `ohttpy`, a client in Rust.

    ohttp_oracle.py probe | probe-ohttpy     exit 0 if the package is there
    ohttp_oracle.py request                  a client seals `request` for `configuration` under `aead`
    ohttp_oracle.py response                 the same client opens `response`
    ohttp_oracle.py gateway                  a gateway opens `request` with `private_key` and answers with `response`
    ohttp_oracle.py ohttpy                   what ohttpy sends when it posts `content` under the list `configurations`

The last four read a JSON list of jobs and write one of replies, `{"failed": true}` where an opening fails; bytes are in hex.
`chunked` asks for the chunked form. What is sealed comes in a list: the start, and chunks with their lengths in front.
"""
import hmac
import http.server
import importlib
import json
import subprocess
import sys
import threading


def size(value):
    """A QUIC variable-length integer of four bytes."""
    return (value | 0x80000000).to_bytes(4, "big")


class Exchange:
    """What client and gateway share, from RFC 9458 4.3 and 4.4 and the chunked draft."""

    def __init__(self, head, chunked):
        from pyhpke import AEADId, CipherSuite, KDFId, KEMId

        self.head = head
        self.form = b"message/bhttp chunked " if chunked else b"message/bhttp "
        aead = AEADId(int.from_bytes(head[5:7], "big"))
        self.suite = CipherSuite.new(
            KEMId(int.from_bytes(head[1:3], "big")), KDFId(int.from_bytes(head[3:5], "big")), aead)
        self.key_size = 16 if aead.value == 1 else 32
        self.info = self.form + b"request\0" + head

    def answer_key(self, context, enc, nonce):
        """(seal or open of the i-th chunk) for the answer."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

        secret = context.export(self.form + b"response", len(nonce))
        prk = hmac.digest(enc + nonce, secret, "sha256")
        key = hmac.digest(prk, b"key\x01", "sha256")[:self.key_size]
        base = int.from_bytes(hmac.digest(prk, b"nonce\x01", "sha256")[:12], "big")
        cipher = (ChaCha20Poly1305 if self.head[6] == 3 else AESGCM)(key)
        return cipher, lambda i: (base ^ i).to_bytes(12, "big")

    @property
    def nonce_size(self):
        return self.key_size


def chunks(sealed):
    """Chunks with their lengths in front, the last one behind a zero."""
    return [(b"\0" if i == len(sealed) - 1 else size(len(c))) + c for i, c in enumerate(sealed)]


def label(i, count):
    return b"final" if i == count - 1 else b""


def client(job):
    config = bytes.fromhex(job["configuration"])
    exchange = Exchange(config[:3] + b"\x00\x01" + job["aead"].to_bytes(2, "big"), job["chunked"])
    pair = exchange.suite.kem.derive_key_pair(bytes.fromhex(job["seed"]))
    enc, context = exchange.suite.create_sender_context(
        exchange.suite.kem.deserialize_public_key(config[3:35]), info=exchange.info, eks=pair)
    return exchange, enc, context


def request(job):
    exchange, enc, context = client(job)
    plaintext = [bytes.fromhex(p) for p in job["request"]]
    if job["chunked"]:
        sealed = chunks([context.seal(p, label(i, len(plaintext))) for i, p in enumerate(plaintext)])
    else:
        sealed = [context.seal(plaintext[0], b"")]
    return {"body": [(exchange.head + enc).hex()] + [s.hex() for s in sealed]}


def response(job):
    exchange, enc, context = client(job)
    body = bytes.fromhex(job["response"])
    cipher, nonce = exchange.answer_key(context, enc, body[:exchange.nonce_size])
    return {"plaintext": opened(body[exchange.nonce_size:], job["chunked"], lambda i, c, aad: cipher.decrypt(nonce(i), c, aad))}


def opened(body, chunked, open_one):
    if not chunked:
        return [open_one(0, body, b"").hex()]
    plaintext, i = [], 0
    while True:
        length = 1 << (body[0] >> 6)
        value = int.from_bytes(body[:length], "big") & ((1 << (8 * length - 2)) - 1)
        body = body[length:]
        if value == 0:
            return plaintext + [open_one(i, body, b"final").hex()]
        plaintext.append(open_one(i, body[:value], b"").hex())
        body, i = body[value:], i + 1


def gateway(job):
    body = bytes.fromhex(job["request"])
    exchange = Exchange(body[:7], job["chunked"])
    enc = body[7:39]
    key = exchange.suite.kem.deserialize_private_key(bytes.fromhex(job["private_key"]))
    context = exchange.suite.create_recipient_context(enc, key, info=exchange.info)
    plaintext = opened(body[39:], job["chunked"], lambda i, c, aad: context.open(c, aad))
    answer_nonce = bytes.fromhex(job["nonce"])[:exchange.nonce_size]
    cipher, nonce = exchange.answer_key(context, enc, answer_nonce)
    answer = [bytes.fromhex(p) for p in job["response"]]
    if job["chunked"]:
        sealed = chunks([cipher.encrypt(nonce(i), p, label(i, len(answer))) for i, p in enumerate(answer)])
    else:
        sealed = [cipher.encrypt(nonce(0), answer[0], b"")]
    return {"plaintext": plaintext, "body": [answer_nonce.hex()] + [s.hex() for s in sealed]}


CLIENT = """
import sys
from ohttpy.ohttpy import Client
Client().send_request(method="POST", url=sys.argv[1], headers={"user-identifier": "u"}, body=bytes.fromhex(sys.argv[2]),
                      key_config=bytes.fromhex(sys.argv[3]))
"""


def ohttpy(job):
    bodies = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d/queries" % server.server_port
        # It holds the interpreter's lock while it waits: a process of its own.
        subprocess.run([sys.executable, "-c", CLIENT, url, job["content"], job["configurations"]], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
        server.shutdown()
    return {"body": [b.hex() for b in bodies]}


def attempt(work, job):
    from cryptography.exceptions import InvalidTag
    from pyhpke.exceptions import OpenError

    try:
        return work(job)
    except (InvalidTag, OpenError):
        return {"failed": True}


def main(command):
    if command == "probe":
        importlib.import_module("pyhpke")
    elif command == "probe-ohttpy":
        importlib.import_module("ohttpy.ohttpy")
    else:
        work = {"request": request, "response": response, "gateway": gateway, "ohttpy": ohttpy}[command]
        json.dump([attempt(work, job) for job in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
