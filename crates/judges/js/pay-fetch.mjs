// Pays for one call with @x402/fetch, as an application would, and reports what it sent and got.
//
// in:  {url, method, body|null, asset|null, private_key, spend_controls}
//      asset null leaves the choice to the client; spend_controls is "default", "off" or the
//      largest amount in atomic units that the allow-listed `asset` may cost.
// out: {status, headers, body, payment_signature|null, receipt|null, requests} or {error, requests};
//      receipt is PAYMENT-RESPONSE as the package decodes it

import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm";
import { privateKeyToAccount } from "viem/accounts";

import { readOrder, report } from "./io.mjs";

const NETWORK = "eip155:196";
const order = await readOrder();

const client = new x402Client();
client.register(NETWORK, new ExactEvmScheme(privateKeyToAccount(order.private_key)));
if (order.asset !== null) {
  const wanted = order.asset.toLowerCase();
  client.registerPolicy((_version, options) =>
    options.filter(({ asset }) => asset.toLowerCase() === wanted),
  );
}
if (order.spend_controls === "off") {
  client.setSpendControls(false);
} else if (order.spend_controls !== "default") {
  client.setSpendControls({
    allowedAssets: [
      { network: NETWORK, asset: order.asset, maxAmountPerPayment: order.spend_controls },
    ],
  });
}

let requests = 0;
let paymentSignature = null;
const observed = async (request) => {
  requests += 1;
  paymentSignature = request.headers.get("PAYMENT-SIGNATURE") ?? paymentSignature;
  return fetch(request);
};

try {
  const response = await wrapFetchWithPayment(observed, client)(order.url, {
    method: order.method,
    ...(order.body === null
      ? {}
      : { body: order.body, headers: { "content-type": "application/json" } }),
  });
  const receipt = response.headers.get("PAYMENT-RESPONSE");
  report({
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
    payment_signature: paymentSignature,
    receipt: receipt === null ? null : decodePaymentResponseHeader(receipt),
    requests,
  });
} catch (error) {
  report({ error: error.message, requests });
}
