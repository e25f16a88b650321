#!/usr/bin/env python3
"""Blind RSA in plain integers of Python, and RSASSA-PSS by PyPI `cryptography`, beside the Swift ones.

    privacypass_oracle.py probe              exit 0 if the package is there
    privacypass_oracle.py request < JSON     {spki, issuer, count} -> [{request, nonce, input, r}]: token requests
    privacypass_oracle.py finish < JSON      {spki, issuances: [..], responses} -> [token]: unblinds, fails if one does not verify
    privacypass_oracle.py verify < JSON      {spki, tokens} -> [bool]
    privacypass_oracle.py sign < JSON        {pem, passphrase or null, requests} -> [response]: an issuer

Bytes are hexadecimal. Written from RFC 9474, RFC 9577 and RFC 9578; shares no code and no library with the Swift side.
"""
import hashlib
import json
import math
import secrets
import sys

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
except ImportError:
    print("cryptography is missing", file=sys.stderr)
    sys.exit(3)


def read(data, at, tag):
    """The content of one DER element, and where the next one begins."""
    assert data[at] == tag, "DER tag"
    length, at = data[at + 1], at + 2
    if length >= 0x80:
        octets = length & 0x7F
        length, at = int.from_bytes(data[at : at + octets], "big"), at + octets
    assert at + length <= len(data), "DER length"
    return data[at : at + length], at + length


def public_numbers(spki):
    body, end = read(spki, 0, 0x30)
    assert end == len(spki)
    algorithm, at = read(body, 0, 0x30)
    assert read(algorithm, 0, 0x06)[0].hex() == "2a864886f70d01010a"
    bits, end = read(body, at, 0x03)
    assert end == len(body) and bits[0] == 0
    numbers, end = read(bits, 1, 0x30)
    assert end == len(bits)
    n, at = read(numbers, 0, 0x02)
    e, end = read(numbers, at, 0x02)
    assert end == len(numbers)
    return int.from_bytes(n, "big"), int.from_bytes(e, "big")


def sha384(*pieces):
    return hashlib.sha384(b"".join(pieces)).digest()


def encode_pss(message, bits):
    """EMSA-PSS-ENCODE of RFC 8017 9.1.1 for a modulus of `bits` bits."""
    length = (bits - 1 + 7) // 8
    salt = secrets.token_bytes(48)
    h = sha384(bytes(8), sha384(message), salt)
    db = bytes(length - 48 - 48 - 2) + b"\x01" + salt
    mask = b"".join(sha384(h, i.to_bytes(4, "big")) for i in range(-(-len(db) // 48)))[: len(db)]
    masked = int.from_bytes(db, "big") ^ int.from_bytes(mask, "big")
    masked &= (1 << (8 * len(db) - (8 * length - (bits - 1)))) - 1
    return masked.to_bytes(len(db), "big") + h + b"\xbc"


def verifies(n, e, message, signature):
    try:
        rsa.RSAPublicNumbers(e, n).public_key().verify(
            signature, message, padding.PSS(padding.MGF1(hashes.SHA384()), 48), hashes.SHA384()
        )
        return True
    except InvalidSignature:
        return False


def request(job):
    spki = bytes.fromhex(job["spki"])
    n, e = public_numbers(spki)
    key_id = hashlib.sha256(spki).digest()
    name = job["issuer"].encode("ascii")
    challenge = b"\x00\x02" + len(name).to_bytes(2, "big") + name + b"\x00" + b"\x00\x00"
    result = []
    for _ in range(job["count"]):
        nonce = secrets.token_bytes(32)
        message = b"\x00\x02" + nonce + hashlib.sha256(challenge).digest() + key_id
        m = int.from_bytes(encode_pss(message, n.bit_length()), "big")
        r = secrets.randbelow(n - 1) + 1
        assert math.gcd(r, n) == 1 and math.gcd(m, n) == 1
        blinded = m * pow(r, e, n) % n
        result.append({
            "request": (b"\x00\x02" + key_id[-1:] + blinded.to_bytes(256, "big")).hex(),
            "input": message.hex(),
            "r": "%x" % r,
        })
    return result


def finish(job):
    n, e = public_numbers(bytes.fromhex(job["spki"]))
    tokens = []
    for issuance, response in zip(job["issuances"], job["responses"], strict=True):
        assert len(response) == 512
        signature = (int(response, 16) * pow(int(issuance["r"], 16), -1, n) % n).to_bytes(256, "big")
        message = bytes.fromhex(issuance["input"])
        assert verifies(n, e, message, signature), "the issuer's answer does not verify"
        tokens.append((message + signature).hex())
    return tokens


def verify(job):
    n, e = public_numbers(bytes.fromhex(job["spki"]))
    tokens = [bytes.fromhex(token) for token in job["tokens"]]
    return [len(token) == 354 and verifies(n, e, token[:98], token[98:]) for token in tokens]


def sign(job):
    passphrase = job.get("passphrase")
    key = serialization.load_pem_private_key(job["pem"].encode(), passphrase.encode() if passphrase else None)
    numbers = key.private_numbers()
    n = numbers.public_numbers.n
    return [
        pow(int(request[6:], 16), numbers.d, n).to_bytes(256, "big").hex()
        for request in job["requests"]
    ]


commands = {"request": request, "finish": finish, "verify": verify, "sign": sign}
if __name__ == "__main__" and sys.argv[1] in commands:
    print(json.dumps(commands[sys.argv[1]](json.load(sys.stdin))))
