#!/usr/bin/env python3
"""Messages as the official protobuf implementation (PyPI `protobuf`) reads and writes them.

The descriptors are built at run time from the schema below, written from keyword-pir.md 9 and 11
and bfv.md 12; no protoc, no generated code.

    protobuf_oracle.py probe                            exit 0 if the package is there
    protobuf_oracle.py generate --seed N --count N      JSON lines: messages and damaged messages
    protobuf_oracle.py check < lines                    JSON lines {message, bytes, text}: does the text
                                                        parse to the message that the bytes hold?

A generated line: `message` its type; `bytes` in hexadecimal, perhaps damaged; `canonical` what the
official implementation writes after reading them, unknown fields dropped, null if it refuses them;
`text` its text form, for undamaged ones. The C core writes maps in descending order of the key; Veilring ascending.
"""
import argparse
import json
import random
import re
import sys

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
    from google.protobuf.message import DecodeError
except ImportError:
    print("PyPI package protobuf is missing", file=sys.stderr)
    sys.exit(3)

# number name type; `[]` repeated, `?` optional, `|` member of the oneof, `{key}` map with that key.
# Members of protocols that Veilring does not speak stand here as bytes: their content is not looked at.
SCHEMA = """
enum ErrorStdDev 0 ERROR_STD_DEV_STDDEV32 1 ERROR_STD_DEV_STDDEV64
enum SecurityLevel 0 SECURITY_LEVEL_UNSPECIFIED 1 SECURITY_LEVEL_QUANTUM128
enum HeScheme 0 HE_SCHEME_UNSPECIFIED 1 HE_SCHEME_BFV 2 HE_SCHEME_BGV
enum PirAlgorithm 0 PIR_ALGORITHM_ACLS_PIR 1 PIR_ALGORITHM_MUL_PIR
enum KeyCompressionStrategy 0 KEY_COMPRESSION_STRATEGY_UNSPECIFIED 1 KEY_COMPRESSION_STRATEGY_MAXIMUM_COMPRESSION 2 KEY_COMPRESSION_STRATEGY_HYBRID_COMPRESSION
enum SymmetricPirConfigType 0 SYMMETRIC_PIR_CONFIG_TYPE_UNSPECIFIED 1 SYMMETRIC_PIR_CONFIG_TYPE_OPRF_P384_AES_GCM_192_NONCE_96_TAG_128
enum IconFormat 0 ICON_FORMAT_UNSPECIFIED 1 ICON_FORMAT_HEIC
enum IdentityCategory 0 IDENTITY_CATEGORY_UNSPECIFIED 1 IDENTITY_CATEGORY_PERSON 2 IDENTITY_CATEGORY_BUSINESS
message SerializedPlaintext 1 poly bytes
message SerializedSeededCiphertext 1 poly0 bytes 2 seed bytes
message SerializedFullCiphertext 1 polys bytes 2 skip_lsbs uint32[] 3 correction_factor uint64
message SerializedCiphertext 1 seeded SerializedSeededCiphertext| 2 full SerializedFullCiphertext|
message SerializedCiphertextVec 1 ciphertexts SerializedCiphertext[]
message SerializedSecretKey 1 polys bytes
message SerializedKeySwitchKey 1 key_switch_key SerializedCiphertextVec
message SerializedGaloisKey 1 key_switch_keys SerializedKeySwitchKey{uint64}
message SerializedRelinKey 1 relin_key SerializedKeySwitchKey
message SerializedEvaluationKey 1 galois_key SerializedGaloisKey 2 relin_key SerializedRelinKey
message EvaluationKeyMetadata 1 timestamp uint64 2 identifier bytes
message EvaluationKey 1 metadata EvaluationKeyMetadata 2 evaluation_key SerializedEvaluationKey
message EvaluationKeys 1 keys EvaluationKey[]
message EncryptionParameters 1 polynomial_degree uint64 2 plaintext_modulus uint64 3 coefficient_moduli uint64[] 4 error_std_dev ErrorStdDev 5 security_level SecurityLevel 6 he_scheme HeScheme
message EvaluationKeyConfig 1 encryption_parameters EncryptionParameters 2 galois_elements uint32[] 3 has_relin_key bool
message ConfigRequest 1 usecases string[] 2 existing_config_ids bytes[]
message KeyStatus 1 timestamp uint64 2 key_config EvaluationKeyConfig
message ConfigResponse 1 configs Config{string} 2 key_info KeyStatus[]
message Config 1 pir_config PIRConfig| 2 other2 bytes| 3 config_id bytes 4 reuse_existing_config bool 5 other5 bytes|
message PIRShardConfig 1 num_entries uint64 2 entry_size uint64 3 dimensions uint64[] 4 shard_id string? 5 compress_vectorized_pir_response bool? 6 vectorized_pir_internal_batching_size uint64?
message PIRFixedShardConfig 1 shard_config PIRShardConfig 2 shard_count uint32
message PIRShardConfigs 1 repeated_shard_config PIRFixedShardConfig|
message SymmetricPirClientConfig 1 server_public_key bytes 2 config_type SymmetricPirConfigType
message Empty
message DoubleMod 1 other_shard_count uint32
message PIRShardingFunction 1 sha256 Empty| 2 double_mod DoubleMod|
message KeywordPirParameters 1 num_hash_functions uint64 3 symmetric_pir_client_config SymmetricPirClientConfig 4 sharding_function PIRShardingFunction
message PIRConfig 1 encryption_parameters EncryptionParameters 2 shard_configs PIRShardConfig[] 3 keyword_pir_params KeywordPirParameters 4 algorithm PirAlgorithm 5 batch_size uint64 6 evaluation_key_config_hash bytes 10 pir_shard_configs PIRShardConfigs 11 encoding_entry_size bool?
message EncryptedIndices 1 ciphertexts SerializedCiphertext[] 2 num_pir_calls uint64
message PIRRequest 1 shard_index uint32 2 query EncryptedIndices 3 evaluation_key_metadata EvaluationKeyMetadata 4 configuration_hash bytes 5 shard_id string? 6 evaluation_key EvaluationKey
message OPRFRequest 1 query_element bytes 2 config_id bytes
message Request 1 usecase string 2 pir_request PIRRequest| 3 other3 bytes| 4 oprf_request OPRFRequest| 5 other5 bytes|
message Requests 1 requests Request[]
message StashOfEntries 1 hashed_keywords uint64[] 2 values bytes[] 3 removed_hashed_keywords uint64[]
message PIRResponse 1 replies SerializedCiphertextVec[] 2 stash StashOfEntries
message OPRFResponse 1 evaluated_element bytes 2 proof bytes
message Response 1 pir_response PIRResponse| 2 other2 bytes| 3 oprf_response OPRFResponse| 4 other4 bytes|
message Responses 1 responses Response[]
message ConfigVersionNotFound 1 config_response ConfigResponse?
message ErrorMessage 1 config_version_not_found ConfigVersionNotFound| 2 evaluation_key_not_found Empty| 3 invalid_request Empty| 4 internal_error Empty|
message KeywordDatabaseRow 1 keyword bytes 2 value bytes
message KeywordDatabase 1 rows KeywordDatabaseRow[]
message PirParameters 1 encryption_parameters EncryptionParameters 2 num_entries uint64 3 entry_size uint64 4 dimensions uint64[] 5 keyword_pir_params KeywordPirParameters 6 algorithm PirAlgorithm 7 batch_size uint64 8 evaluation_key_config EvaluationKeyConfig 9 key_compression_strategy KeyCompressionStrategy 13 encoding_entry_size bool
message Icon 1 format IconFormat 2 image bytes
message CallIdentity 1 name string 2 icon Icon 3 cache_expiry_minutes uint32 4 category IdentityCategory
message InputCallIdentity 1 name string 2 cache_expiry_minutes uint32 3 block bool 4 category IdentityCategory
message InputIdentities 1 identities InputCallIdentity{string}
"""
INTERNAL = {"Empty", "DoubleMod", "ConfigVersionNotFound"}

Proto = descriptor_pb2.FieldDescriptorProto
SCALARS = {"uint32": Proto.TYPE_UINT32, "uint64": Proto.TYPE_UINT64, "bool": Proto.TYPE_BOOL,
           "string": Proto.TYPE_STRING, "bytes": Proto.TYPE_BYTES}


def build():
    """Message classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="oracle.proto", package="oracle", syntax="proto3")
    enums, names = set(), []

    def set_type(field, kind):
        if kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            field.type = Proto.TYPE_ENUM if kind in enums else Proto.TYPE_MESSAGE
            field.type_name = f".oracle.{kind}"

    for line in SCHEMA.strip().splitlines():
        kind, name, *words = line.split()
        if kind == "enum":
            enums.add(name)
            enum = file.enum_type.add(name=name)
            for number, value in zip(words[::2], words[1::2]):
                enum.value.add(name=value, number=int(number))
            continue
        names.append(name)
        message = file.message_type.add(name=name)
        fields = [re.match(r"(\w+)(\[\]|\?|\||\{(\w+)\})?$", t) for t in words[2::3]]
        if any(m[2] == "|" for m in fields):
            message.oneof_decl.add(name="kind")
        for number, field_name, match in zip(words[::3], words[1::3], fields):
            base, mark, key = match[1], match[2], match[3]
            field = message.field.add(name=field_name, number=int(number))
            field.label = Proto.LABEL_REPEATED if mark == "[]" or key else Proto.LABEL_OPTIONAL
            if key:
                entry_name = "".join(p[:1].upper() + p[1:] for p in field_name.split("_")) + "Entry"
                entry = message.nested_type.add(name=entry_name)
                entry.options.map_entry = True
                for at, (n, t) in enumerate([("key", key), ("value", base)], 1):
                    part = entry.field.add(name=n, number=at, label=Proto.LABEL_OPTIONAL)
                    set_type(part, t)
                field.type, field.type_name = Proto.TYPE_MESSAGE, f".oracle.{name}.{entry_name}"
                continue
            set_type(field, base)
            if mark == "|":
                field.oneof_index = 0
        # Oneofs of optional fields come after the real ones.
        for match, field in zip(fields, message.field):
            if match[2] == "?":
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"oracle.{n}")) for n in names}


CLASSES = build()


def messages_with_maps():
    found = {n for n, c in CLASSES.items() if any(
        f.message_type and f.message_type.GetOptions().map_entry for f in c.DESCRIPTOR.fields)}
    while more := {n for n, c in CLASSES.items() if n not in found and any(
            f.message_type and f.message_type.name in found for f in c.DESCRIPTOR.fields)}:
        found |= more
    return found


WITH_MAP = messages_with_maps()


class Incomparable(Exception):
    """The implementations are known to differ, each within its rights."""


def random_number(rng, bits):
    return rng.choice([0, 1, 127, 128, (1 << bits) - 1, rng.getrandbits(rng.randint(1, bits))])


def random_bytes(rng):
    return rng.choice([b"", bytes(rng.randrange(256) for _ in range(rng.randrange(40))), bytes(rng.randrange(140))])


def random_text(rng):
    return "".join(rng.choice("aZ09 '\"\\\n\t\r\a\x00\x7f/.:é電☎😀\u0301\u0085") for _ in range(rng.randrange(12)))


def random_scalar(rng, field):
    if field.enum_type:
        return rng.choice([0, 1, 2, 3, -1, 2**31 - 1, -2**31])
    return {Proto.TYPE_UINT32: lambda: random_number(rng, 32), Proto.TYPE_UINT64: lambda: random_number(rng, 64),
            Proto.TYPE_BOOL: lambda: rng.random() < 0.5, Proto.TYPE_STRING: lambda: random_text(rng),
            Proto.TYPE_BYTES: lambda: random_bytes(rng)}[field.type]()


def fill(rng, message, depth=0):
    """Sets fields at random; fewer the deeper."""
    for field in message.DESCRIPTOR.fields:
        if field.name.startswith("other") and field.name[5:].isdigit():
            continue
        if rng.random() < 0.25 + 0.06 * depth:
            continue
        value = getattr(message, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            for _ in range(rng.randrange(4)):
                fill(rng, value[random_scalar(rng, field.message_type.fields_by_name["key"])], depth + 2)
        elif field.message_type and is_repeated(field):
            for _ in range(rng.randrange(4)):
                fill(rng, value.add(), depth + 2)
        elif field.message_type:
            value.SetInParent()
            fill(rng, value, depth + 1)
        elif is_repeated(field):
            value.extend(random_scalar(rng, field) for _ in range(rng.randrange(6)))
        else:
            setattr(message, field.name, random_scalar(rng, field))


def is_repeated(field):
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def drop_other_protocols(message):
    """Clears the oneof members that Veilring only notes."""
    for field, value in message.ListFields():
        if field.name.startswith("other") and field.name[5:].isdigit():
            message.ClearField(field.name)
        elif field.message_type and field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type:
                for key in list(value):
                    drop_other_protocols(value[key])
        elif field.message_type:
            for part in value if is_repeated(field) else [value]:
                drop_other_protocols(part)


def canonical(name, data):
    message = CLASSES[name]()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    before = message.ByteSize()
    message.DiscardUnknownFields()
    # The C core keeps a map entry that holds unknown fields as one unknown field; other implementations keep
    # its key and value. Nothing to compare there.
    if name in WITH_MAP and message.ByteSize() != before:
        raise Incomparable
    drop_other_protocols(message)
    return message.SerializeToString(deterministic=True)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def damage(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 3:
            # A field somewhere: most often unknown, sometimes the wrong type or a repetition.
            number, wire = rng.choice([1, 2, 3, 4, 5, 6, 99, 2**29 - 1]), rng.choice([0, 1, 2, 5, 3, 6])
            content = {0: varint(random_number(rng, 64)), 1: bytes(8), 5: bytes(4)}.get(wire, b"")
            if wire == 2:
                body = random_bytes(rng)
                content = varint(len(body)) + body
            data[rng.choice([0, at, len(data)]):0] = varint(number << 3 | wire) + content
        elif kind == 4:
            # The message twice: scalars repeat, sub-messages merge, lists grow.
            data += data[: rng.choice([len(data), at])]
        else:
            data[at:at] = varint(rng.choice([2**63, 2**64 - 1, 2**32 - 1, 2**31, len(data) + 1]))
        data = data[:20000]
    return bytes(data)


def generate(seed, count):
    rng = random.Random(seed)
    names = [n for n in CLASSES if n not in INTERNAL]
    for index in range(count):
        name = names[index % len(names)]
        message = CLASSES[name]()
        fill(rng, message)
        data = message.SerializeToString(deterministic=True)
        yield {"message": name, "bytes": data.hex(), "canonical": data.hex(),
               "text": text_format.MessageToString(message, as_utf8=rng.random() < 0.5,
                                                   use_short_repeated_primitives=rng.random() < 0.5,
                                                   as_one_line=rng.random() < 0.3)}
        for _ in range(3):
            broken = damage(rng, data)
            try:
                again = canonical(name, broken)
            except Incomparable:
                continue
            yield {"message": name, "bytes": broken.hex(), "canonical": None if again is None else again.hex()}


def check(lines):
    """Number of lines whose text the official implementation does not read as their bytes."""
    wrong = total = 0
    for number, line in enumerate(lines, 1):
        entry = json.loads(line)
        expected, found = CLASSES[entry["message"]](), CLASSES[entry["message"]]()
        expected.ParseFromString(bytes.fromhex(entry["bytes"]))
        total += 1
        try:
            text_format.Parse(entry["text"], found)
            same = found == expected
        except text_format.ParseError as error:
            print(f"line {number}, {entry['message']}: {error}", file=sys.stderr)
            same = False
        wrong += not same
    print(json.dumps({"total": total, "wrong": wrong}))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["probe", "generate", "check"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    if options.verb == "generate":
        for entry in generate(options.seed, options.count):
            print(json.dumps(entry))
    elif options.verb == "check":
        sys.exit(1 if check(sys.stdin) else 0)


if __name__ == "__main__":
    main()
