// Builds, signs and writes down prediction-market orders with @polymarket/clob-client-v2, whose salt and clock are pinned, and
// hashes the plans' own typed data with viem.
//
// in:  [{private_key, token_id, price, size, side, tick_size, neg_risk, post_only, builder_code, salt, timestamp,
//        typed_data}]
// out: [{body, typed_data_hash}]; body is what the client would post, signature included

import { OrderBuilder, OrderType, Side, orderToJsonV2 } from "@polymarket/clob-client-v2";
import { createWalletClient, custom, hashTypedData } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { polygon } from "viem/chains";

import { readOrder, report } from "./io.mjs";

const clock = Date.now;
const chance = Math.random;

/** Runs `work` while the client's `Math.round(Math.random() * Date.now())` gives the salt, and its clock the timestamp. */
async function pinned({ salt, timestamp }, work) {
  let salting = false;
  Math.random = () => {
    salting = true;
    return salt;
  };
  Date.now = () => {
    const time = salting ? 1 : Number(timestamp);
    salting = false;
    return time;
  };
  try {
    return await work();
  } finally {
    Math.random = chance;
    Date.now = clock;
  }
}

async function judge(order) {
  const signer = createWalletClient({
    account: privateKeyToAccount(order.private_key),
    chain: polygon,
    transport: custom({ request: async ({ method }) => Promise.reject(new Error(method)) }),
  });
  const wanted = {
    tokenID: order.token_id,
    price: Number(order.price),
    size: Number(order.size),
    side: Side[order.side],
    builderCode: order.builder_code,
  };
  const options = { tickSize: order.tick_size, negRisk: order.neg_risk };
  const builder = new OrderBuilder(signer, polygon.id);
  const signed = await pinned(order, () => builder.buildOrder(wanted, options, 2));
  return {
    body: orderToJsonV2(signed, "", OrderType.GTC, order.post_only, false),
    typed_data_hash: hashTypedData(order.typed_data),
  };
}

const verdicts = [];
for (const order of await readOrder()) verdicts.push(await judge(order));
report(verdicts);
