"""Judges an OpenAPI document with openapi-spec-validator.

in:  the document
out: {valid, errors}
"""

import json
import sys

from openapi_spec_validator import OpenAPIV31SpecValidator


def main() -> None:
    """Reads the document, validates it as OpenAPI 3.1, prints one JSON line."""
    document = json.load(sys.stdin)
    errors = [
        {"path": list(map(str, error.absolute_path)), "message": error.message}
        for error in OpenAPIV31SpecValidator(document).iter_errors()
    ]
    print(json.dumps({"valid": not errors, "errors": errors}))


if __name__ == "__main__":
    main()
