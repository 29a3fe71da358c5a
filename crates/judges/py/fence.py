"""Hashes and signs typed data of the fence with eth-account, opens key files with it, and writes documents in canonical form with rfc8785.

in:  {messages: [{private_key, typed_data, ours}], documents: [document], key_files: [{file, password}]}
out: {messages: [{domain_separator, message_hash, digest, signature, signer, our_signer}], documents: [canonical text],
      key_files: [address]}
"""

import json
import sys

import rfc8785
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak


def judge(message):
    signable = encode_typed_data(full_message=message["typed_data"])
    signed = Account.sign_message(signable, private_key=message["private_key"])
    joined = b"\x19" + signable.version + signable.header + signable.body
    return {
        "domain_separator": "0x" + signable.header.hex(),
        "message_hash": "0x" + signable.body.hex(),
        "digest": "0x" + keccak(joined).hex(),
        "signature": "0x" + bytes(signed.signature).hex(),
        "signer": Account.recover_message(signable, signature=signed.signature),
        "our_signer": Account.recover_message(signable, signature=message["ours"]),
    }


order = json.load(sys.stdin)
verdict = {
    "messages": [judge(message) for message in order["messages"]],
    "documents": [rfc8785.dumps(document).decode() for document in order["documents"]],
    "key_files": [Account.from_key(Account.decrypt(key["file"], key["password"])).address for key in order["key_files"]],
}
json.dump(verdict, sys.stdout)
