"""Reads calldata with eth-abi.

in:  [{function, data}]
out: [{facts, encoded} | {error}]; facts has the form of rails/facts.rs, encoded is the calldata that eth-abi writes for what
     it read
"""

import json
import sys

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError, EncodingError
from eth_utils import keccak

LEG = "(address,address,address,address,uint256,bytes,bool)"
BURN = ["uint256", "uint32", "bytes32", "address", "bytes32", "uint256", "uint32"]
FUNCTIONS = {
    "approve": [("approve", ["address", "uint256"])],
    "burn": [("depositForBurn", BURN), ("depositForBurnWithHook", [*BURN, "bytes"])],
    "forward_fees": [("forwardERC20Fees", ["address", "(address,uint256)[]"])],
    "swap": [
        (
            "swapTokensMultipleV3ERC20ToERC20",
            ["bytes32", "string", "string", "address", "uint256", f"{LEG}[]"],
        )
    ],
}
LEG_NAMES = [
    "call_to",
    "approve_to",
    "sending",
    "receiving",
    "from_amount",
    "call_data",
    "requires_deposit",
]
BURN_NAMES = [
    "amount",
    "destination_domain",
    "mint_recipient",
    "burn_token",
    "destination_caller",
    "max_fee",
    "min_finality_threshold",
    "hook",
]
SWAP_NAMES = ["transaction_id", "integrator", "referrer", "receiver", "min_amount_out", "legs"]


def plain(value: object) -> object:
    """Bytes as hex, integers as digits, the rest as it is."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def facts(function: str, values: tuple) -> dict:
    """What the values of a call say."""
    values = plain(values)
    if function == "approve":
        return {"spender": values[0], "amount": values[1]}
    if function == "forward_fees":
        return {"token": values[0], "distributions": values[1]}
    if function == "burn":
        return dict(zip(BURN_NAMES, [*values, None]))
    said = dict(zip(SWAP_NAMES, values))
    said["legs"] = [dict(zip(LEG_NAMES, leg)) for leg in said["legs"]]
    return said


def read(function: str, data: bytes) -> dict:
    """Decodes the arguments of the one function of that name whose selector the data has."""
    for name, types in FUNCTIONS[function]:
        selector = keccak(text=f"{name}({','.join(types)})")[:4]
        if data[:4] == selector:
            try:
                values = decode(types, data[4:])
                encoded = selector + encode(types, values)
            except (DecodingError, EncodingError, UnicodeDecodeError, OverflowError) as error:
                return {"error": f"{type(error).__name__}: {error}"}
            return {"facts": facts(function, values), "encoded": "0x" + encoded.hex()}
    return {"error": "another function"}


def main() -> None:
    """Reads the calls, prints one JSON line."""
    calls = json.load(sys.stdin)
    print(json.dumps([read(call["function"], bytes.fromhex(call["data"][2:])) for call in calls]))


if __name__ == "__main__":
    main()
