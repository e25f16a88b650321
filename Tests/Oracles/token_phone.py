#!/usr/bin/env python3
"""A phone that obtains and spends tokens over HTTP: Python's http.client, plain integers and PyPI `cryptography`.

    token_phone.py probe                          exit 0 if the packages are there
    token_phone.py obtain URL [--count N] [--save FILE] [--spend N]
        directory, the user's key, N tokens in parallel threads; spends the first --spend tokens, each twice; all go to FILE
    token_phone.py spend URL --tokens FILE        spends the tokens of a file and prints the statuses
    token_phone.py drain URL [--limit N]          issues one after the other until the quota is used up
    token_phone.py hostile URL                    bad requests and fields, each beside what service.md 1.12 says
    token_phone.py flow URL [--seconds S] [--rate R] [--speed X] [--keep N]
        issues and spends R times a second each, as phones of both generations, and counts every refusal; keys may be rotated
        meanwhile. N tokens are held back, so that they grow old. With --speed the wall clock of the server runs X times faster
        (faketime -f '+0 xX', FAKETIME_DONT_FAKE_MONOTONIC=1), and so does the phones'
    token_phone.py times URL [--rounds N] [--compare TEXT]...
        whether refusals of different credentials differ in time: rank tests against an unknown one, and of each TEXT (a revoked
        token, a wrong signature) against random ones of its length

Every form prints one line of JSON. Common options: --user TEXT (what stands behind `Bearer `), --issuer NAME. Written from
RFC 9577, RFC 9578 and the service's specification; shares no code and no library with the Swift side.
"""
import argparse
import base64
import concurrent.futures
import http.client
import json
import sys
import threading
import time
import urllib.parse

import privacypass_oracle as blind_rsa

DIRECTORY = "/.well-known/private-token-issuer-directory"
USER_ID = "6E6F2D6F-6E65-4069-6E70-617274696375"


class Answer:
    """A response, read whole."""

    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def message(self):
        try:
            return json.loads(self.body)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            return None

    def __str__(self):
        return f"{self.status} {self.message or ''}".strip()


class Phone:
    """One connection at a time, reopened when the server has closed it."""

    def __init__(self, url, user="AAAA", issuer=None):
        self.parts = urllib.parse.urlsplit(url)
        self.user = user
        self.issuer = issuer or self.parts.hostname
        self.connection = None

    def send(self, method, path, fields=(), body=b""):
        """`fields` is a list, so that a field may come twice."""
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=60)
            try:
                connection = self.connection
                connection.putrequest(method, path, skip_accept_encoding=True)
                for name, value in fields:
                    connection.putheader(name, value)
                if body or method == "POST":
                    connection.putheader("Content-Length", str(len(body)))
                connection.endheaders()
                try:
                    connection.send(body)
                except OSError:
                    pass  # Refused before the body was read: the answer is there all the same.
                response = connection.getresponse()
                answer = Answer(response.status, response.headers, response.read())
                if response.will_close:
                    self.close()
                return answer
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt == 1:
                    raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def bearer(self):
        return [("Authorization", "Bearer " + self.user)]

    def directory(self):
        """The keys of type 2 in the directory's order: (SPKI, not before)."""
        answer = self.send("GET", DIRECTORY)
        assert answer.status == 200, str(answer)
        content = json.loads(answer.body)
        assert urllib.parse.urljoin(DIRECTORY, content["issuer-request-uri"]) == "/issue"
        keys = [
            (base64.urlsafe_b64decode(key["token-key"] + "=" * (-len(key["token-key"]) % 4)), key.get("not-before", 0))
            for key in content["token-keys"]
            if key["token-type"] == 2
        ]
        assert keys and all(len(spki) == 342 for spki, _ in keys)
        return keys

    def user_key(self):
        """The key of the user's tier, as phones before 27.3 ask for it."""
        answer = self.send("GET", "/token-key-for-user-token", self.bearer())
        assert answer.status == 200, str(answer)
        return answer.body

    def prepare(self, spki, count=1):
        return blind_rsa.request({"spki": spki.hex(), "issuer": self.issuer, "count": count})

    def issue(self, request):
        fields = self.bearer() + [("Content-Type", "application/private-token-request")]
        return self.send("POST", "/issue", fields, request)

    def finish(self, spki, issuance, response):
        """The token; an exception if the issuer's answer does not verify."""
        (token,) = blind_rsa.finish({"spki": spki.hex(), "issuances": [issuance], "responses": [response.hex()]})
        return bytes.fromhex(token)

    def obtain(self, spki):
        (issuance,) = self.prepare(spki)
        answer = self.issue(bytes.fromhex(issuance["request"]))
        assert answer.status == 200, str(answer)
        return self.finish(spki, issuance, answer.body)

    def spend(self, token):
        return self.config([("Authorization", field(token))])

    def config(self, authorization, body=b"", user_id=USER_ID):
        identifier = [("User-Identifier", user_id)] if user_id is not None else []
        return self.send("POST", "/config", list(authorization) + identifier, body)


def text(token):
    return base64.urlsafe_b64encode(token).decode()


def field(token):
    return "PrivateToken token=" + text(token)


def in_threads(options, count, threads=8):
    """Tokens by parallel phones, and the keys: every thread fetches on a connection of its own."""
    first = Phone(options.url, options.user, options.issuer)
    listed, spki = [key for key, _ in first.directory()], first.user_key()
    assert spki in listed, "the user's key is not in the directory"
    local = threading.local()

    def one(_):
        if not hasattr(local, "phone"):
            local.phone = Phone(options.url, options.user, options.issuer)
        return local.phone.obtain(spki)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(count))), listed


def obtain(options):
    tokens, listed = in_threads(options, options.count)
    phone = Phone(options.url, options.user, options.issuer)
    spent = [[phone.spend(token).status, phone.spend(token).status] for token in tokens[: options.spend]]
    if options.save:
        with open(options.save, "w") as file:
            json.dump([token.hex() for token in tokens], file)
    return {"keys": len(listed), "tokens": len(tokens), "distinct": len(set(tokens)), "spent": spent}


def spend(options):
    phone = Phone(options.url, options.user, options.issuer)
    with open(options.tokens) as file:
        answers = [phone.spend(bytes.fromhex(token)) for token in json.load(file)]
    return {"statuses": [answer.status for answer in answers], "messages": [answer.message for answer in answers]}


def drain(options):
    phone = Phone(options.url, options.user, options.issuer)
    spki = phone.user_key()
    for issued in range(options.limit):
        (issuance,) = phone.prepare(spki)
        answer = phone.issue(bytes.fromhex(issuance["request"]))
        if answer.status != 200:
            wait = answer.fields.get("Retry-After", "")
            return {"issued": issued, "status": answer.status, "message": answer.message, "retryAfter": wait}
    return {"issued": options.limit, "status": 200, "message": None, "retryAfter": ""}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["probe", "obtain", "spend", "drain", "hostile", "flow", "times"])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--user", default="AAAA")
    parser.add_argument("--issuer")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--spend", type=int, default=1)
    parser.add_argument("--save")
    parser.add_argument("--tokens")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--speed", type=float, default=1)
    parser.add_argument("--until-keys", type=int, default=0, help="flow: wait for so many listed keys first")
    parser.add_argument("--keep", type=int, default=0, help="tokens that flow holds back, so that they grow old")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--compare", action="append", default=[])
    options = parser.parse_args()
    if options.command == "probe":
        return
    if options.command in ("obtain", "spend", "drain"):
        result = {"obtain": obtain, "spend": spend, "drain": drain}[options.command](options)
    else:
        import token_phone_trials as trials  # The long ones: a file of their own.

        result = {"hostile": trials.hostile, "flow": trials.flow, "times": trials.times}[options.command](options)
    print(json.dumps(result))


if __name__ == "__main__":
    sys.modules["token_phone"] = sys.modules["__main__"]
    main()
