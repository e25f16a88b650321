#!/usr/bin/env python3
"""A page of metrics as the Prometheus project's own parser (PyPI `prometheus_client`) reads it.

    metrics_oracle.py probe              exit 0 if the package is there
    metrics_oracle.py parse < page       one JSON object: {family: {type, help, samples: [[name, labels, value]]}}

Exit status 1 with the parser's message where it refuses the page.
"""
import json
import sys

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    print("prometheus_client is missing", file=sys.stderr)
    sys.exit(3)


def parse(text):
    families = {}
    for family in text_string_to_metric_families(text):
        if family.name in families:
            raise ValueError("family %s comes twice" % family.name)
        families[family.name] = {
            "type": family.type,
            "help": family.documentation,
            "samples": [[s.name, s.labels, repr(float(s.value))] for s in family.samples],
        }
    return families


if sys.argv[1:] == ["parse"]:
    try:
        print(json.dumps(parse(sys.stdin.buffer.read().decode("utf-8"))))
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
