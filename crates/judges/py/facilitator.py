"""A facilitator of the x402 package, over HTTP, for as long as stdin stays open.

in:  {rpc_url, private_key} as the first line of stdin
out: {url} once it listens; then POST /verify, POST /settle and GET /supported answer there

Whatever arrives is parsed with the models of the package, so a request that another x402
facilitator could not read is answered 400 here.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from x402 import x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.schemas import SettleRequest, VerifyRequest

NETWORK = "eip155:196"


def handler_for(facilitator: Any) -> type[BaseHTTPRequestHandler]:
    """The HTTP surface of x402 v2 section 7 over `facilitator`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path != "/supported":
                return self.answer(404, {"error": "not found"})
            return self.answer(200, facilitator.get_supported().model_dump(exclude_none=True))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            model, act = {
                "/verify": (VerifyRequest, facilitator.verify),
                "/settle": (SettleRequest, facilitator.settle),
            }.get(self.path, (None, None))
            if model is None:
                return self.answer(404, {"error": "not found"})
            try:
                request = model.model_validate_json(body)
            except ValueError as error:
                return self.answer(400, {"error": str(error)})
            result = act(request.payment_payload, request.payment_requirements)
            return self.answer(200, result.model_dump(exclude_none=True))

        def answer(self, status: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def main() -> None:
    """Listens on a free port of the loopback until stdin ends."""
    order = json.loads(sys.stdin.readline())
    signer = FacilitatorWeb3Signer(private_key=order["private_key"], rpc_url=order["rpc_url"])
    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, signer, networks=NETWORK)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(facilitator))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
