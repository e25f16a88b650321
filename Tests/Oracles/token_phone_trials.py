"""Longer trials of token_phone.py: hostile requests, a steady flow while keys rotate, and the time that refusals take."""
import base64
import collections
import email.utils
import hashlib
import random
import secrets
import statistics
import threading
import time

import privacypass_oracle as blind_rsa
from token_phone import Phone, field, text

NO_TOKEN = (401, "No private token")
NO_KEY = (401, "No token key found")
NOT_PASSED = (401, "Token did not pass verification")
NO_USER = (401, "User token is unauthorized")
BAD_REQUEST = (422, "Invalid token request")
DONE = (200, None)


class Trial:
    """Cases, what was expected of each and what came."""

    def __init__(self):
        self.count, self.wrong = 0, []

    def expect(self, name, answer, expected, challenge=None):
        self.count += 1
        status, message = expected
        came = (answer.status, answer.message)
        if answer.status != status or (message is not None and answer.message != message):
            self.wrong.append({"case": name, "expected": list(expected), "came": list(came)})
        elif challenge and not (answer.fields.get("WWW-Authenticate") or "").startswith(challenge):
            self.wrong.append({"case": name, "expected": challenge, "came": answer.fields.get("WWW-Authenticate")})


def hostile(options):
    phone = Phone(options.url, options.user, options.issuer)
    trial = Trial()
    spki = phone.user_key()
    hostile_requests(phone, trial, spki)
    hostile_users(phone, trial)
    hostile_fields(phone, trial, phone.obtain(spki))
    for name, form in accepted_fields():
        trial.expect(name, phone.config([("Authorization", form(phone.obtain(spki)))]), DONE)
    hostile_order(phone, trial, phone.obtain(spki))
    return {"cases": trial.count, "wrong": trial.wrong}


def hostile_requests(phone, trial, spki):
    """TokenRequests: type, key id, length, number."""
    n, _ = blind_rsa.public_numbers(spki)
    (issuance,) = phone.prepare(spki)
    good = bytes.fromhex(issuance["request"])
    head, blinded = good[:3], good[3:]

    def number(value):
        return head + value.to_bytes(256, "big")

    # With one tier there is one key, and every other last byte names none.
    for offset in range(1, 256, 17):
        other = bytes([(good[2] + offset) % 256])
        trial.expect(f"key id + {offset}", phone.issue(good[:2] + other + blinded), BAD_REQUEST)
    for kind in (b"\x00\x00", b"\x00\x01", b"\x00\x03", b"\x02\x00", b"\xff\xff", b"\xda\x7a"):
        trial.expect("type " + kind.hex(), phone.issue(kind + good[2:]), BAD_REQUEST)
    bodies = [
        ("empty", b""), ("1 byte", good[:1]), ("head only", head), ("258 bytes", good[:-1]), ("260 bytes", good + b"\x00"),
        ("twice", good + good), ("1 KiB", good + bytes(765)), ("n", number(n)), ("n + 1", number(n + 1)),
        ("all ones", head + b"\xff" * 256), ("2^2048 - 2^64", number(2**2048 - 2**64)),
    ]
    for name, body in bodies:
        trial.expect("request: " + name, phone.issue(body), BAD_REQUEST)
    for name, body in [("zero", number(0)), ("one", number(1)), ("n - 1", number(n - 1))]:
        answer = phone.issue(body)
        trial.expect("request: " + name, answer, DONE)  # Harmless (2.9.1): the result is the number itself.
        if answer.body != body[3:]:
            trial.wrong.append({"case": name, "expected": "the number itself", "came": "another"})
    trial.expect("request: over 1 KiB", phone.issue(good + bytes(766)), (413, "Body too large; the limit is 1024 bytes"))
    trial.expect("request as it should be", phone.issue(good), DONE)
    for method, path in [("GET", "/issue"), ("POST", "/token-key-for-user-token"), ("PUT", "/issue")]:
        trial.expect(f"{method} {path}", phone.send(method, path, phone.bearer(), good), (405, None))


def hostile_users(phone, trial):
    """The Bearer field on both of the issuer's routes that want one."""
    token = phone.user
    coded = base64.b64encode(token.encode()).decode()
    refused = [
        ("none", []),
        ("two the same", [f"Bearer {token}", f"Bearer {token}"]),
        ("two, one bad", [f"Bearer {token}", "Bearer zzzz"]),
    ] + [
        (value[:40], [value])
        for value in [
            "Bearer", "Bearer ", "", token, f"Bearer{token}", f"Basic {token}", f"Token {token}", "Bearer zzzz",
            f"Bearer {token}A", f"Bearer {token[:-1]}", f'Bearer "{token}"', f"Bearer '{token}'", f"Bearer {token},{token}",
            f"Bearer {token}, {token}", f"Bearer {token} {token}", f"Bearer {token}, Bearer {token}", f"Bearer token={token}",
            f"Bearer\t{token}",
            # base64 of the token, damaged: no padding, half of it, too much, in the middle, bits that must be zero, alphabet.
            f"Bearer {coded.rstrip('=')}", f"Bearer {coded[:-1]}", f"Bearer {coded}=", f"Bearer ={coded}",
            f"Bearer {coded[:2]}={coded[2:]}", f"Bearer {coded[:-3]}R==", f"Bearer {coded[:2]}%{coded[3:]}",
            f"Bearer {coded[:2]} {coded[2:]}", f"Bearer {coded[:2]}-{coded[3:]}", f"Bearer {coded[:3]}", "Bearer ====",
            f"Bearer {base64.b64encode(coded.encode()).decode()}", f'Bearer "{coded}"',
            "Bearer " + "A" * 4096, "Bearer " + "A" * 4097, f"PrivateToken token={token}", f"PrivateToken token={coded}",
        ]
    ]
    for path, method in [("/token-key-for-user-token", "GET"), ("/issue", "POST")]:
        for name, values in refused:
            fields = [("Authorization", value) for value in values]
            expected = NO_USER if len(values) < 2 else (400, None)
            # The request is malformed too: nobody learns about requests without being a user.
            answer = phone.send(method, path, fields, b"x" if method == "POST" else b"")
            trial.expect(f"{path}: {name}", answer, expected, challenge="Bearer" if expected[0] == 401 else None)
        latin = [("Authorization", f"Bearer {token}".encode() + b"\xe9")]
        answer = phone.send(method, path, latin, b"")
        if answer.status not in (400, 401):
            trial.expect(f"{path}: not ASCII", answer, NO_USER)
    for value in [f"Bearer {token}", f"Bearer {coded}", f"bearer {token}", f"BEARER {coded}"]:
        answer = phone.send("GET", "/token-key-for-user-token", [("Authorization", value)])
        trial.expect(value, answer, DONE)


def hostile_fields(phone, trial, token):
    """The PrivateToken field. One good token is inside all of them; none may spend it."""
    good = text(token)

    def changed(at, mask=1):
        copy = bytearray(token)
        copy[at] ^= mask
        return bytes(copy)

    other = bytearray(token)
    other[66:98] = secrets.token_bytes(32)
    many = [
        ("no field", [], NO_TOKEN),
        ("two fields", [field(token), field(token)], (400, None)),
        ("token and Bearer", [field(token), "Bearer " + phone.user], (400, None)),
        ("other type", [field(changed(1))], NO_TOKEN),
        ("unknown key id", [field(bytes(other))], NO_KEY),
        ("key id, one bit", [field(changed(97))], NO_KEY),
        ("other nonce", [field(changed(2))], NOT_PASSED),
        ("other challenge", [field(changed(34))], NOT_PASSED),
        ("other signature", [field(changed(353))], NOT_PASSED),
        ("signature zero", [field(token[:98] + bytes(256))], NOT_PASSED),
        ("signature above n", [field(token[:98] + b"\xff" * 256)], NOT_PASSED),
    ]
    values = [
        "", "PrivateToken", "PrivateToken ", "PrivateToken token", "PrivateToken token=", 'PrivateToken token=""',
        "PrivateToken " + good, "PrivateToken" + good, "PrivateTokentoken=" + good, "Private Token token=" + good,
        "Bearer " + phone.user, "Bearer " + good, "Basic " + good, "token=" + good, "PrivateToken tokens=" + good,
        f"PrivateToken token={good}, token={good}", f'PrivateToken token={good}, token="{good}"',
        f"PrivateToken token={good}, TOKEN={good}", f"PrivateToken token={good},PrivateToken token={good}",
        f'PrivateToken token="{good}', f'PrivateToken token={good}"', f"PrivateToken token='{good}'",
        f'PrivateToken token="{good}" x', f"PrivateToken token={good} {good}", f"PrivateToken token={good};a=b",
        f"PrivateToken token={good[:-1]}", f"PrivateToken token={good[:-4]}", f"PrivateToken token={good}AAAA",
        f"PrivateToken token={good}A", f"PrivateToken token={good}=", f"PrivateToken token={good}==",
        f"PrivateToken token=={good}", f"PrivateToken token={good[:8]}={good[9:]}", f"PrivateToken token={good[:8]} {good[8:]}",
        f'PrivateToken token="{good[:8]} {good[8:]}"', f'PrivateToken token="{good[:8]}\t{good[8:]}"',
        f"PrivateToken token={good[:8]}%{good[9:]}", f"PrivateToken token={good[:8]}+{good[9:]}",
        f'PrivateToken token="{good[:8]}/{good[9:]}"', f"PrivateToken token={good[:-3]}=={good[-1:]}",
        "PrivateToken token=" + base64.urlsafe_b64encode(token[:-1]).decode(),
        "PrivateToken token=" + base64.urlsafe_b64encode(token + b"\x00").decode(),
        "PrivateToken token=" + token.hex(), "PrivateToken token=" + "A" * 7000,
    ]
    many += [(value[:30] + "…" + value[-12:], [value], NO_TOKEN) for value in values]
    for name, fields, expected in many:
        answer = phone.config([("Authorization", value) for value in fields])
        challenge = "PrivateToken challenge=" if expected[0] == 401 else None
        trial.expect("field: " + name, answer, expected, challenge)
    trial.expect("field: a token that refusals left unspent", phone.spend(token), DONE)
    trial.expect("field: spent", phone.spend(token), NOT_PASSED, "PrivateToken challenge=")
    for path in ("/key", "/queries"):
        # An empty message is refused before the token is looked for among the spent ones (1.8).
        fields = [("Authorization", field(token)), ("User-Identifier", "X")]
        trial.expect("spent, at " + path, phone.send("POST", path, fields), (400, "Invalid request"))
        fields[0] = ("Authorization", field(bytes(other)))
        trial.expect("unknown key id, at " + path, phone.send("POST", path, fields), NO_KEY, "PrivateToken challenge=")


def accepted_fields():
    """Forms that RFC 9577 allows beside the phone's own (service.md 1.6.1)."""
    return [
        ("as phones send it", field),
        ("quoted", lambda token: f'PrivateToken token="{text(token)}"'),
        ("lower case", lambda token: f"privatetoken token={text(token)}"),
        ("upper case", lambda token: f"PRIVATETOKEN TOKEN={text(token)}"),
        ("two spaces", lambda token: f"PrivateToken  token={text(token)}"),
        ("spaces around =", lambda token: f"PrivateToken token = {text(token)}"),
        ("another parameter after", lambda token: f'PrivateToken token={text(token)}, extensions="a, b=\\"c"'),
        ("another parameter before", lambda token: f"PrivateToken a=b , token={text(token)}"),
        ("escaped in quotes", lambda token: f'PrivateToken token="\\{text(token)}"'),
    ]


def hostile_order(phone, trial, token):
    """What is wrong beside the token does not spend it (service.md 1.8)."""
    authorization = [("Authorization", field(token))]
    identifiers = [("missing", None), ("empty", ""), ("with a space", "a b"), ("129 bytes", "x" * 129)]
    for name, identifier in identifiers:
        answer = phone.config(authorization, user_id=identifier)
        trial.expect("identifier " + name, answer, (400, "Missing or invalid User-Identifier"))
    trial.expect("malformed message", phone.config(authorization, b"\x0a\xff"), (400, "Malformed message"))
    trial.expect("unknown use case", phone.config(authorization, b"\x0a\x04none"), (404, "Unknown use case"))
    count = phone.config(authorization, b"\x12\x01x")
    trial.expect("ids without use cases", count, (400, "Invalid existing config ids"))
    trial.expect("still unspent", phone.config(authorization), DONE)
    trial.expect("now spent", phone.config(authorization), NOT_PASSED)


class Flow:
    """Counts of what phones were told, by kind of request."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.tokens = collections.deque()
        self.keys = set()
        self.late = self.oldest = self.end = 0.0
        self.listed = 0

    def note(self, kind, answer):
        with self.lock:
            self.counts[f"{kind} {answer}"] += 1

    def see(self, listed, options):
        """With --until-keys the time begins when the directory has so many keys."""
        with self.lock:
            if options.until_keys and self.listed < options.until_keys <= listed:
                self.end = time.monotonic() + options.seconds
            self.listed = max(self.listed, listed)


class FlowPhone(Phone):
    """Keeps the directory and the key for as long as the directory may be kept, by a clock of its own."""

    def __init__(self, options, flow, is_old):
        super().__init__(options.url, options.user, options.issuer)
        self.options, self.flow, self.is_old = options, flow, is_old
        self.fetched, self.key = None, None

    def current_key(self, now):
        if self.fetched is not None and now - self.fetched < self.max_age:
            return self.key
        answer = self.send("GET", "/.well-known/private-token-issuer-directory")
        self.max_age = int(answer.fields["Cache-Control"].partition("max-age=")[2] or 0)
        listed = self.directory()
        self.flow.see(len(listed), self.options)
        if self.is_old:
            self.key = self.user_key()
            if self.key not in [spki for spki, _ in listed]:
                self.flow.note("key", "not in the directory")
        else:
            usable = [spki for spki, begin in listed if begin <= now]
            if not usable:
                self.flow.note("key", "none usable")
            self.key = usable[0]
        self.fetched = now
        with self.flow.lock:
            self.flow.keys.add(hashlib.sha256(self.key).hexdigest()[:8])
        return self.key


def flow(options):
    """Steady issuing and spending. Tokens are spent in order of age, as late as the flow allows."""
    flow = Flow()
    # By the server's clock, since the phones' clocks are not what is tried.
    date = Phone(options.url).send("GET", "/.well-known/private-token-issuer-directory").fields["Date"]
    start, begun = time.monotonic(), email.utils.parsedate_to_datetime(date).timestamp()

    def clock():
        return begun + (time.monotonic() - start) * options.speed

    flow.end = start + (60 if options.until_keys else options.seconds)

    def paced(work, share, offset):
        """Calls `work` `share` times a second until the time is over; remembers how far behind it fell."""
        period, turn = 1 / share, 0
        while time.monotonic() < flow.end:
            due = start + (turn + offset) * period
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            else:
                flow.late = max(flow.late, -wait)
            turn += 1
            try:
                work()
            except Exception as error:  # A refused connection is a refusal too.
                flow.note("connection", type(error).__name__)

    def issuer(phone):
        key = phone.current_key(clock())
        (issuance,) = phone.prepare(key)
        answer = phone.issue(bytes.fromhex(issuance["request"]))
        flow.note("issue", answer)
        if answer.status == 200:
            flow.tokens.append((clock(), phone.finish(key, issuance, answer.body)))

    def spender(phone):
        try:
            born, token = flow.tokens.popleft() if len(flow.tokens) > options.keep else (None, None)
        except IndexError:
            return
        if token is not None:
            flow.note("spend", phone.spend(token))
            with flow.lock:
                flow.oldest = max(flow.oldest, clock() - born)

    threads = []
    for i in range(4):
        one, other = FlowPhone(options, flow, i % 2 == 0), Phone(options.url, options.user, options.issuer)
        threads.append(threading.Thread(target=paced, args=(lambda p=one: issuer(p), options.rate / 4, i / 4)))
        threads.append(threading.Thread(target=paced, args=(lambda p=other: spender(p), options.rate / 4, i / 4)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = Phone(options.url, options.user, options.issuer)
    while flow.tokens:
        flow.note("spend", last.spend(flow.tokens.popleft()[1]))
    return {
        "counts": dict(sorted(flow.counts.items())), "keys": len(flow.keys), "listed": flow.listed,
        "seconds": round(time.monotonic() - start, 1),
        "oldestToken": round(flow.oldest), "furthestBehind": round(flow.late, 2),
    }


def rank_test(left, right):
    """Mann-Whitney by the normal approximation: P(left > right) + P(equal) / 2, and z."""
    values = sorted([(value, 0) for value in left] + [(value, 1) for value in right])
    ranks, at = 0.0, 0
    ties = 0
    while at < len(values):
        end = at
        while end < len(values) and values[end][0] == values[at][0]:
            end += 1
        rank = (at + 1 + end) / 2
        ranks += rank * sum(1 for value in values[at:end] if value[1] == 0)
        ties += (end - at) ** 3 - (end - at)
        at = end
    m, n = len(left), len(right)
    u = ranks - m * (m + 1) / 2
    deviation = (m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1)))) ** 0.5
    return u / (m * n), (u - m * n / 2) / deviation


def times(options):
    """Interleaved in random order on one connection; every round has each kind once."""
    phone = Phone(options.url, options.user, options.issuer)
    token = phone.user
    coded = base64.b64encode(token.encode()).decode()
    kinds = {
        "unknown": lambda: secrets.token_urlsafe(len(token))[: len(token)],
        "one character off": lambda: token[:-1] + random.choice("BCDEFGHIJKLMNOP"),
        "unknown, base64": lambda: base64.b64encode(secrets.token_bytes(len(token))).decode(),
        "base64, one off": lambda: base64.b64encode((token[:-1] + random.choice("BCDEFGH")).encode()).decode(),
        "malformed base64": lambda: coded[:2] + "=" + coded[3:],
        "long": lambda: secrets.token_urlsafe(48),
    }
    against = {}
    for i, given in enumerate(options.compare):
        kinds[f"as long as given {i}"] = lambda given=given: secrets.token_urlsafe(len(given))[: len(given)]
        kinds[f"given {i}"] = lambda given=given: given
        against[f"given {i}"] = f"as long as given {i}"
    (issuance,) = phone.prepare(phone.user_key())
    request = bytes.fromhex(issuance["request"])
    result = {}
    for path, method, body in [("/token-key-for-user-token", "GET", b""), ("/issue", "POST", request)]:
        taken = {kind: [] for kind in kinds}
        for turn in range(options.rounds + 20):
            order = list(kinds)
            random.shuffle(order)
            for kind in order:
                fields = [("Authorization", "Bearer " + kinds[kind]())]
                begin = time.perf_counter_ns()
                answer = phone.send(method, path, fields, body)
                duration = time.perf_counter_ns() - begin
                assert answer.status == 401, str(answer)
                if turn >= 20:
                    taken[kind].append(duration / 1000)
        rows = {}
        for kind, values in taken.items():
            probability, z = rank_test(taken[against.get(kind, "unknown")], values)
            median = round(statistics.median(values), 1)
            rows[kind] = {"medianMicroseconds": median, "unknownIsSlower": round(probability, 3), "z": round(z, 2)}
        result[path] = rows
    return result
