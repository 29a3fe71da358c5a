"""Hashes and signs the orders of perpetuals plans with hyperliquid-python-sdk.

in:  [{private_key, plan}]; plan is the text of an envelope: the order of its members counts
out: [{connection_id, signature: {r, s, v}, signer, action, rebuilt}]; action is the plan's as text, rebuilt what the SDK's own
     builders write of the same numbers, null where one is too large for its floats
"""

import json
import sys

from eth_account import Account
from hyperliquid.utils import signing
from hyperliquid.utils.types import Cloid


# From here on a double has no eight decimals left, and the SDK writes noise in the last ones.
TOO_LARGE = 2**26


def rebuilt(action: dict) -> dict | None:
    """The action as the SDK's own builders write it, from the numbers of the plan."""
    wires = []
    for order in action["orders"]:
        kind = order["t"]
        if "trigger" in kind:
            kind = {"trigger": {**kind["trigger"], "triggerPx": float(kind["trigger"]["triggerPx"])}}
        request = {
            "coin": "",
            "is_buy": order["b"],
            "sz": float(order["s"]),
            "limit_px": float(order["p"]),
            "order_type": kind,
            "reduce_only": order["r"],
            "cloid": Cloid.from_str(order["c"]) if "c" in order else None,
        }
        if max(request["sz"], request["limit_px"]) >= TOO_LARGE:
            return None
        wires.append(signing.order_request_to_order_wire(request, order["a"]))
    return signing.order_wires_to_order_action(wires, action.get("builder"), action["grouping"])


def text(action: dict) -> str:
    """JSON in the order of the members."""
    return json.dumps(action, separators=(",", ":"))


def judge(order: dict) -> dict:
    """One order."""
    payload = json.loads(order["plan"])["payload"]
    action, recipe, nonce = payload["action"], payload["recipe"], payload["example"]["nonce"]
    vault, expires = recipe["vault_address"], recipe["expires_after"]
    wallet = Account.from_key(order["private_key"])
    signature = signing.sign_l1_action(wallet, action, vault, nonce, expires, True)
    signer = signing.recover_agent_or_user_from_l1_action(
        action, signature, vault, nonce, expires, True
    )
    own = rebuilt(action)
    return {
        "connection_id": "0x" + signing.action_hash(action, vault, nonce, expires).hex(),
        "signature": signature,
        "signer": signer,
        "action": text(action),
        "rebuilt": None if own is None else text(own),
    }


def main() -> None:
    """Reads the orders, prints one JSON line."""
    print(json.dumps([judge(order) for order in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
