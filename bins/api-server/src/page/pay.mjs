import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm";
import { privateKeyToAccount } from "viem/accounts";

const client = new x402Client();
client.register("eip155:196", new ExactEvmScheme(privateKeyToAccount(process.env.BUYER_KEY)));
client.setSpendControls({
  allowedAssets: [
    {
      network: "eip155:196",
      asset: "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", // USD₮0
      maxAmountPerPayment: "10000", // $0.01: the asset has six decimals
    },
  ],
}); // or client.setSpendControls(false)

const fetchAndPay = wrapFetchWithPayment(fetch, client);
const answer = await fetchAndPay(
  "http://127.0.0.1:8402/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b",
);
if (!answer.ok) {
  // Nothing was charged unless `next` says otherwise.
  throw new Error(`${answer.status} ${await answer.text()}`);
}
console.log(answer.status, (await answer.json()).data.price_usd);
console.log(decodePaymentResponseHeader(answer.headers.get("PAYMENT-RESPONSE")));
