#!/usr/bin/env python3
"""Opens one wallet's file with the operator's secret and prints its private key: wallet_key.py FILE SECRET-FILE"""
import json, pathlib, sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

path, secret = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text().strip()
wallet = json.loads(path.read_text())
if wallet["format"] != "wallet-1":
    sys.exit(f"expected the form wallet-1, observed {wallet['format']}")
binary = lambda text: bytes.fromhex(text.removeprefix("0x"))

# The secret is stretched, and a key and a nonce for this one file follow from it.
how = wallet["stretching"]
stretched = Scrypt(binary(how["salt"]), 32, how["n"], how["r"], how["p"]).derive(secret.encode())
derived = HKDF(SHA256(), 44, binary(wallet["salt"]), b"wallet-seal-1").derive(stretched)

# The seal covers the form, the file's name, the owner, the address and the time as well.
name = wallet["owner"].lower().replace(":", "-") + ".json"
created_at = "" if wallet["created_at"] is None else str(wallet["created_at"])
about = "".join(line + "\n" for line in ["wallet-1", name, wallet["owner"], wallet["address"], created_at])
try:
    key = ChaCha20Poly1305(derived[:32]).decrypt(derived[32:], binary(wallet["sealed"]), about.encode())
except InvalidTag:
    sys.exit("another secret, or the file was altered")
print("owner", wallet["owner"], "address", wallet["address"], "key", "0x" + key.hex())
