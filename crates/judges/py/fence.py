"""Hashes and signs typed data of the fence with eth-account, and writes policies in canonical form with rfc8785.

in:  {messages: [{private_key, typed_data}], policies: [document]}
out: {messages: [{domain_separator, message_hash, digest, signature, signer}], policies: [canonical text]}
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
    }


order = json.load(sys.stdin)
verdict = {
    "messages": [judge(message) for message in order["messages"]],
    "policies": [rfc8785.dumps(policy).decode() for policy in order["policies"]],
}
json.dump(verdict, sys.stdout)
