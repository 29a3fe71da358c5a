import os

from eth_account import Account
from x402 import x402ClientSync
from x402.http import decode_payment_response_header
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import ExactEvmScheme

client = x402ClientSync()
signer = EthAccountSigner(Account.from_key(os.environ["BUYER_KEY"]))
client.register("eip155:196", ExactEvmScheme(signer))
client.set_spend_controls(False)

session = x402_requests(client)
answer = session.get(
    "http://127.0.0.1:8402/price",
    params={"token": "0xe538905cf8410324e03A5A23C1c177a474D59b2b"},
)
answer.raise_for_status()
print(answer.status_code, answer.json()["data"]["price_usd"])
print(decode_payment_response_header(answer.headers["PAYMENT-RESPONSE"]).transaction)
