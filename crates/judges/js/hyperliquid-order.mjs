// Places the orders of perpetuals plans with @nktkas/hyperliquid at a transport that keeps what would be posted.
//
// in:  [{private_key, plan}]; plan is the text of an envelope: the order of its members counts
// out: [{connection_id, signature: {r, s, v}, action, posted}]; action is the plan's as text, posted what the client would
//      send, its action as text, without the signature

import { ExchangeClient } from "@nktkas/hyperliquid";
import { createL1ActionHash } from "@nktkas/hyperliquid/signing";
import { privateKeyToAccount } from "viem/accounts";

import { readOrder, report } from "./io.mjs";

/** An answer of the venue that the client takes for success. */
const ACCEPTED = {
  status: "ok",
  response: { type: "order", data: { statuses: [{ resting: { oid: 1 } }] } },
};

async function judge({ private_key, plan }) {
  const { action, recipe, example } = JSON.parse(plan).payload;
  const { type, ...params } = action;
  if (type !== "order") throw new Error(`an action of type ${type}`);
  const nonce = example.nonce;
  const options = {
    expiresAfter: recipe.expires_after,
    ...(recipe.vault_address === null ? {} : { vaultAddress: recipe.vault_address }),
  };
  let sent;
  const client = new ExchangeClient({
    wallet: privateKeyToAccount(private_key),
    nonceManager: () => nonce,
    transport: {
      isTestnet: false,
      request: async (_endpoint, payload) => {
        sent = payload;
        return ACCEPTED;
      },
    },
  });
  await client.order(params, options);
  const { signature, ...posted } = sent;
  return {
    connection_id: createL1ActionHash({ action, nonce, ...options }),
    signature,
    action: JSON.stringify(action),
    posted: { ...posted, action: JSON.stringify(posted.action) },
  };
}

const verdicts = [];
for (const order of await readOrder()) verdicts.push(await judge(order));
report(verdicts);
