#!/usr/bin/env python3
"""Writes a seed corpus for every target from the recorded vectors: seeds.py DIRECTORY"""

import base64
import json
import pathlib
import sys

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
RAILS = ["swap", "bridge", "pm_order", "perp_order"]


def main(directory):
    for target, seeds in corpora():
        folder = pathlib.Path(directory) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"seed-{number:03}").write_bytes(seed)
        print(f"{target}: {len(seeds)}")


def corpora():
    payments = vector("payments.json")
    payment = payments["payment_signature_example"]
    answers = payments["payment_response_examples"]
    yield "payment_header", [
        payment["PAYMENT-SIGNATURE"].encode(),
        payments["payment_required_example"]["PAYMENT-REQUIRED"].encode(),
        *(answer["PAYMENT-RESPONSE"].encode() for answer in answers.values()),
    ]
    yield "payment_json", [text(payment["json"])]
    yield "facilitator_answers", [text(answer) for answer in FACILITATOR_ANSWERS] + [
        text(answer["json"]) for answer in answers.values()
    ]
    yield "parameters", [bytes([route]) + values for route in range(32) for values in PARAMETERS]
    yield "swap_calldata", [
        unhex(found)
        for file in sorted((FIXTURES / "upstreams/okx").glob("*swap*.json"))
        for found in strings(json.loads(file.read_text()))
        if found.startswith("0x") and len(found) > 200
    ]

    plans = {rail: vector(f"plans/{rail}.plan.json") for rail in RAILS}
    swaps = [plans["swap"], vector("swap/plan.json")["plan"]]
    calls = [unhex(plan["payload"]["steps"][2]["data"]) for plan in swaps]
    # The fee leg's own calldata: a call inside the call.
    fees = [call[call.index(bytes.fromhex("332d746b")) :][: 4 + 32 * 7] for call in calls]
    yield "swap_route", calls + fees

    burns = vector("bridge/bridge_calldata.json")["vectors"]
    yield "bridge_burn", [unhex(burn["steps"][2]["data"]) for burn in burns] + [bytes(157), b"\1" + bytes(188)]
    three = [plan["payload"]["steps"] for plan in swaps] + [burn["steps"] for burn in burns]
    yield "plan_steps", [b"".join(map(step, enumerate(steps))) for steps in three]

    orders = vector("perp_order/perpetual_orders.json")["vectors"]
    yield "perp_action", [
        *(unhex(order["msgpack_hex"]) for order in orders),
        unhex(plans["perp_order"]["payload"]["action_msgpack"]),
        *COMPOSED_ACTIONS,
    ]
    typed = vector("pm_order/prediction_market_orders.json")["vectors"]
    yield "pm_typed_order", [b"", *(lines(order) for order in typed)]

    requests = {rail: (FIXTURES / f"vectors/plans/{rail}.request.json").read_bytes() for rail in RAILS}
    yield "plan_requests", [
        bytes([RAILS.index(rail)]) + seed for rail in RAILS for seed in [requests[rail], *map(text, REQUESTS[rail])]
    ]
    yield "plan_text", [
        bytes([RAILS.index(rail)]) + json.dumps(plans[rail], separators=(",", ":")).encode() for rail in RAILS
    ]
    yield "mcp_message", [text(message) for message in MESSAGES]

    yield "call_data", [signature.encode() + b"\n" + b"".join(map(word, words)) for signature, words in CALLS]
    yield "model_answer", [
        *(base64.b64decode(found) for found in images()),
        *map(text, MODEL_TEXTS),
    ]


def images():
    """The images in the recorded answers."""
    for file in sorted((FIXTURES / "upstreams").glob("*/*.json")):
        for found in strings(json.loads(file.read_text())):
            if found.startswith(("iVBORw0KGgo", "/9j/", "UklGR")):
                yield found


def word(value):
    return value.to_bytes(32, "big") if isinstance(value, int) else value.ljust(32, b"\0")


def vector(name):
    return json.loads((FIXTURES / "vectors" / name).read_text())


def unhex(digits):
    return bytes.fromhex(digits.removeprefix("0x"))


def text(value):
    return (value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))).encode()


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def step(numbered):
    """A step as the target reads it; only its calldata of at most 255 bytes."""
    kind, record = numbered
    data = unhex(record["data"])[:255]
    return bytes([kind, 0]) + unhex(record["to"]) + bytes([len(data)]) + data


def lines(order):
    """The members of one recorded order, one in each line."""
    message, rest = order["typed_data"]["message"], order["order"]
    signed = ["salt", "maker", "signer", "tokenId", "makerAmount", "takerAmount", "side", "signatureType", "timestamp"]
    posted = [*signed, "expiration", "metadata", "builder"]
    members = [message[name] for name in [*signed, "metadata", "builder"]] + [rest[name] for name in posted] * 2
    domain = order["typed_data"]["domain"]
    members += ["Order", domain["name"], domain["version"], domain["chainId"], domain["verifyingContract"], "", ""]
    return "\n".join(map(str, [*members, order["order_hash"]])).encode()


CALLS = [
    ("transfer(address,uint256)", [1, 5]),
    ("swap((address,uint24)[] hops, bytes data, uint256[2] limits, bool exact)", [160, 256, 7, 8, 1, 1, 11, 500, 3, b"abc"]),
    ("multicall(bytes[])", [32, 1, 32, 4, b"\xd0\xe3\x0d\xb0"]),
    ("name(string)", [32, 5, b"hello"]),
]
MODEL_TEXTS = [
    "# A [link](https://example.com/a) and ![an image](http://example.com/b.png)\n\n[1]: javascript:alert(1)\n<b>bold</b>",
    "https://docs.example.com/a?b=c#d",
    "\u202edrowssap \u200b \\![x](data:text/html,x)",
]
ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
FACILITATOR_ANSWERS = [
    {"isValid": True, "payer": ACCOUNT},
    {"isValid": False, "invalidReason": "insufficient_funds", "invalidMessage": "no"},
    {"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:196"}], "extensions": ["a"], "signers": {"eip155:*": [ACCOUNT]}},
]
PARAMETERS = [
    f"token={ACCOUNT}&from={ACCOUNT}&to={ACCOUNT}&amount=12.5&symbol=BTC&limit=10".encode(),
    text({"fromToken": ACCOUNT, "toToken": ACCOUNT, "amount": "1.5", "userAddress": ACCOUNT, "slippage": "0.5"}),
]
COMPOSED_ACTIONS = [
    b"\0order na bc 123456 0.00123 Gtc 0x00000000000000000000000000000001 ",
    b"\1order normalTpsl 0x8c967e73e7b15087c42a10d344cff4c96d877f1d 10 s 0 99000 0.001 Alo brtm 0 1.5 0.001 95000 sl ",
]
REQUESTS = {
    "swap": [
        {
            "accountProfile": {"kind": "safe", "address": ACCOUNT, "chainId": 8453},
            "chainId": 8453,
            "fromToken": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            "toToken": "0x4200000000000000000000000000000000000006",
            "fromAmount": "1",
            "slippage": {"maxBps": 50},
            "minAmountOut": "7",
            "exports": ["eip5792", "safe_tx_builder"],
        }
    ],
    "bridge": [
        {
            "accountProfile": {"kind": "eoa", "address": ACCOUNT, "chainId": 1},
            "fromChainId": 1,
            "toChainId": 8453,
            "token": "USDC",
            "amount": "25000000",
            "transferSpeed": "standard",
            "maxFee": "10",
            "minAmountOut": "24000000",
            "forward": True,
        }
    ],
    "pm_order": [
        {
            "accountProfile": {"kind": "eoa", "address": ACCOUNT, "chainId": 137},
            "tokenId": "7",
            "side": "SELL",
            "price": "0.125",
            "size": "5.5",
            "conditionId": "0x" + "07" * 32,
            "outcome": "Yes",
            "postOnly": True,
            "minProceeds": "0.5",
        }
    ],
    "perp_order": [
        {
            "accountProfile": {"kind": "eoa", "address": ACCOUNT},
            "coin": "xyz:TSLA",
            "side": "sell",
            "price": "1.25",
            "size": "3",
            "tif": "Alo",
            "reduceOnly": True,
            "cloid": "0x" + "0A" * 16,
            "vaultAddress": ACCOUNT,
            "stopLoss": {"triggerPrice": "2", "limitPrice": "2.5"},
        }
    ],
}
MESSAGES = [
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "prepare_swap", "arguments": {"a": [1, {}]}, "_meta": {"progressToken": "x"}}},
    {"jsonrpc": "2.0", "id": "a\u00e9", "method": "tools/list", "params": {"cursor": None}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    '{"jsonrpc":"2.0","id":-12345678901234567890123,"method":"\\u0070ing","params":null}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    "[" * 65 + "]" * 65,
]

if __name__ == "__main__":
    main(*sys.argv[1:])
