"""Pays for one call with the x402 package of this interpreter and reports what was sent and got.

Run as `python pay.py requests` or `python pay.py httpx`. The same script judges with the x402
package of its maintainers and with the one of OKX: both install under the name `x402`, each in an
environment of its own.

in:  {url, method, body|null, asset|null, private_key, spend_controls}
     asset null leaves the choice to the client; spend_controls is "default", "off" or the largest
     amount in atomic units that the allow-listed `asset` may cost. The package of OKX has no spend
     controls; there only "off" is accepted.
out: {status, headers, body, payment_signature|null, receipt|null, requests} or {error, requests};
     receipt is PAYMENT-RESPONSE as the package decodes it
"""

import asyncio
import json
import sys
from typing import Any

from eth_account import Account
from x402 import x402Client, x402ClientSync
from x402.http import decode_payment_response_header
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import ExactEvmScheme

NETWORK = "eip155:196"


def configure(client: Any, order: dict[str, Any]) -> Any:
    """Registers the buyer, the wanted asset and the spend controls on `client`."""
    signer = EthAccountSigner(Account.from_key(order["private_key"]))
    client.register(NETWORK, ExactEvmScheme(signer))
    if order["asset"] is not None:
        wanted = order["asset"].lower()
        client.register_policy(
            lambda _version, options: [o for o in options if o.asset.lower() == wanted]
        )
    controls = order["spend_controls"]
    if not hasattr(client, "set_spend_controls"):
        if controls != "off":
            raise SystemExit("this client has no spend controls")
    elif controls == "off":
        client.set_spend_controls(False)
    elif controls != "default":
        entry = {
            "network": NETWORK,
            "asset": order["asset"],
            "max_amount_per_payment": controls,
        }
        client.set_spend_controls({"allowed_assets": [entry]})
    return client


def content_of(order: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that carry the body, if there is one."""
    if order["body"] is None:
        return {}
    return {
        "data": order["body"].encode(),
        "headers": {"content-type": "application/json"},
    }


class Observed:
    """What a client put on the wire."""

    def __init__(self) -> None:
        self.requests = 0
        self.payment_signature: str | None = None

    def note(self, headers: Any) -> None:
        """Counts a request and keeps its payment header."""
        self.requests += 1
        header = headers.get("PAYMENT-SIGNATURE")
        if isinstance(header, bytes):
            header = header.decode("ascii")
        self.payment_signature = header or self.payment_signature


def pay_with_requests(order: dict[str, Any], observed: Observed) -> dict[str, Any]:
    """Pays through a `requests` session."""
    from requests.adapters import HTTPAdapter
    from x402.http.clients.requests import x402_requests

    # The payment adapter sends through its base class: the only place that sees both requests.
    send = HTTPAdapter.send

    def observing_send(self: Any, request: Any, **options: Any) -> Any:
        observed.note(request.headers)
        return send(self, request, **options)

    HTTPAdapter.send = observing_send
    session = x402_requests(configure(x402ClientSync(), order))
    response = session.request(order["method"], order["url"], **content_of(order))
    return {
        "status": response.status_code,
        "headers": {name.lower(): value for name, value in response.headers.items()},
        "body": response.content.decode("utf-8"),
    }


async def pay_with_httpx(order: dict[str, Any], observed: Observed) -> dict[str, Any]:
    """Pays through an `httpx` client."""
    import httpx
    from x402.http.clients.httpx import x402_httpx_transport

    class Observing(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            observed.note(request.headers)
            return await super().handle_async_request(request)

    content = content_of(order)
    transport = x402_httpx_transport(configure(x402Client(), order), Observing())
    async with httpx.AsyncClient(transport=transport, timeout=30) as client:
        response = await client.request(
            order["method"],
            order["url"],
            content=content.get("data"),
            headers=content.get("headers"),
        )
        return {
            "status": response.status_code,
            "headers": {name.lower(): value for name, value in response.headers.items()},
            "body": response.content.decode("utf-8"),
        }


def main() -> None:
    """Reads the order, pays, prints one JSON line."""
    order = json.load(sys.stdin)
    observed = Observed()
    try:
        if sys.argv[1] == "requests":
            verdict = pay_with_requests(order, observed)
        else:
            verdict = asyncio.run(pay_with_httpx(order, observed))
        verdict["payment_signature"] = observed.payment_signature
        receipt = verdict["headers"].get("payment-response")
        verdict["receipt"] = receipt and decode_payment_response_header(receipt).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
    except Exception as error:  # noqa: BLE001 - whatever the client raises is the verdict
        verdict = {"error": str(error)}
    verdict["requests"] = observed.requests
    print(json.dumps(verdict))


if __name__ == "__main__":
    main()
