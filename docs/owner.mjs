// The life of a sub-wallet from its owner's side: empty, a deposit, a swap, withdrawals, and the
// export of its key. OWNERS.md explains each step. Node 20 or newer, and in an empty folder:
//
//   npm install viem@2.57.1 @x402/fetch@2.27.0 @x402/evm@2.27.0 @hpke/core@1.9.0 @hpke/chacha20poly1305@1.8.0
//   API_URL=http://127.0.0.1:8402 OWNER_KEY=0x… node owner.mjs
//
// Everything that it signs is compared with the order first.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { Chacha20Poly1305 } from "@hpke/chacha20poly1305";
import { CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { bytesToHex, hexToBytes, isAddressEqual, parseUnits } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const CHAIN = 196;
const USDG = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"; // pays for the calls, and is invested
const USDT0 = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
const DECIMALS = 6; // of both
const MOST_PER_CALL = parseUnits("0.05", DECIMALS);

const { API_URL, OWNER_KEY } = process.env;
const owner = privateKeyToAccount(OWNER_KEY);

// Pays at most MOST_PER_CALL for a call, in USDG.
const client = new x402Client();
client.register(`eip155:${CHAIN}`, new ExactEvmScheme(owner));
client.setSpendControls({
  allowedAssets: [
    { network: `eip155:${CHAIN}`, asset: USDG, maxAmountPerPayment: MOST_PER_CALL.toString() },
  ],
});
client.registerPolicy((_version, options) =>
  options.filter(({ asset }) => isAddressEqual(asset, USDG)),
);
// Names every purchase: without a name, the same order again is taken for a lost answer's retry.
client.onBeforePaymentCreation(async ({ paymentRequired }) => {
  const named = paymentRequired.extensions["payment-identifier"];
  named.info = { ...named.info, id: randomUUID() };
});
const fetchAndPay = wrapFetchWithPayment(fetch, client);

function expect(holds, what) {
  if (!holds) throw new Error(`expected ${what}`);
}

async function call(path, body) {
  const order = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetchAndPay(new URL(path, API_URL), order);
  return { status: answer.status, body: await answer.json() };
}

// Signs the transfer of `amount` from the owner to its sub-wallet, and nothing else.
async function fund({ domain, types, primaryType, message }, amount) {
  expect(primaryType === "TransferWithAuthorization", "an authorization (EIP-3009)");
  expect(Number(domain.chainId) === CHAIN, `chain ${CHAIN}`);
  expect(isAddressEqual(domain.verifyingContract, USDG), "the token of the order");
  expect(isAddressEqual(message.from, owner.address), "a transfer from the owner");
  expect(isAddressEqual(message.to, wallet), "a transfer to the owner's sub-wallet");
  expect(BigInt(message.value) <= parseUnits(amount, DECIMALS), `at most ${amount}`);
  const signature = await owner.signTypedData({ domain, types, primaryType, message });
  return { signature, authorization: message };
}

// Orders an action and waits for its end.
async function act(path, body) {
  let answer = await call(path, body);
  if (answer.status === 409 && answer.body.error.principal_auth) {
    const principal_auth = await fund(answer.body.error.principal_auth, body.amount);
    answer = await call(path, { ...body, principal_auth });
  }
  expect(answer.status === 200 || answer.status === 202, `${path}: ${JSON.stringify(answer.body)}`);
  let intent = answer.body.data;
  while (intent.status === "in_progress") {
    await pause(1000);
    intent = await (await fetch(new URL(`/intents/${intent.intent_id}`, API_URL))).json();
  }
  expect(intent.status === "completed", `${path} to complete: ${JSON.stringify(intent)}`);
  return intent.result;
}

// 1. An empty wallet: this call makes it, and the owner is whoever pays for the call.
const { body } = await call("/sub-wallet");
expect(body.data?.sub_wallet, JSON.stringify(body));
const wallet = body.data.sub_wallet;
console.log(`sub-wallet   ${wallet}`);

// A wallet whose export was requested only has its last step before it.
const isLeaving = existsSync("export-request.json");
if (!isLeaving) await trade();

async function trade() {
  // 2. A deposit. The wallet is empty, so the owner's signature brings the money.
  const deposit = { chain_id: "196", protocol: "aave-v3", asset: "USDG", amount: "40" };
  await act("/auto-defi-invest", deposit);
  console.log("deposited    40 USDG");
  const out = await act("/auto-defi-withdraw", { product_id: "aave-v3-xlayer-usdg", ratio: "1" });
  console.log(`taken back   ${out.amount_out} USDG`);

  // 3. A swap.
  const swap = { chain_id: "196", from_token: USDG, to_token: USDT0, amount: "20", slippage: "0.5" };
  const swapped = await act("/auto-swap", swap);
  console.log(`swapped      20 USDG for ${swapped.amount_out} USD₮0`);

  // 4. Withdrawals. They go to the owner, and cannot go elsewhere.
  for (const [token, symbol] of [[USDG, "USDG"], [USDT0, "USD₮0"]]) {
    const { delivered } = await act("/auto-withdraw", { chain_id: "196", token, amount: "max" });
    console.log(`withdrawn    ${delivered} ${symbol}`);
  }
}

// 5. The export. The request and its key are in files, so that an interrupted run can go on.
const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Chacha20Poly1305(),
});
const secretFile = (name, text) => writeFileSync(name, `${text}\n`, { mode: 0o600 });
if (!isLeaving) {
  const pair = await suite.kem.generateKeyPair();
  const publicKey = bytesToHex(new Uint8Array(await suite.kem.serializePublicKey(pair.publicKey)));
  const privateKey = await suite.kem.serializePrivateKey(pair.privateKey);
  const issuedAt = Math.floor(Date.now() / 1000);
  const { service } = await (await fetch(new URL("/status", API_URL))).json();
  const signature = await owner.signTypedData({
    domain: { name: `${service} wallets`, version: "1", chainId: CHAIN },
    types: {
      WalletExport: [
        { name: "owner", type: "address" },
        { name: "wallet", type: "address" },
        { name: "publicKey", type: "bytes32" },
        { name: "issuedAt", type: "uint64" },
      ],
    },
    primaryType: "WalletExport",
    message: { owner: owner.address, wallet, publicKey, issuedAt: BigInt(issuedAt) },
  });
  secretFile("export-key", bytesToHex(new Uint8Array(privateKey)));
  const request = {
    owner: `eip155:${CHAIN}:${owner.address}`,
    wallet,
    public_key: publicKey,
    issued_at: issuedAt,
    signature,
  };
  writeFileSync("export-request.json", `${JSON.stringify(request)}\n`);
}
console.log("give export-request.json to the operator, and put the answer beside it as export.json");
while (!existsSync("export.json")) await pause(1000);

const exported = JSON.parse(readFileSync("export.json", "utf8"));
const about = ["format", "owner", "wallet", "request"].map((member) => `${exported[member]}\n`);
const recipientKey = await suite.kem.deserializePrivateKey(
  hexToBytes(readFileSync("export-key", "utf8").trim()),
);
const recipient = await suite.createRecipientContext({
  recipientKey,
  enc: hexToBytes(exported.enc),
  info: new TextEncoder().encode("wallet-export-2"),
});
const opened = await recipient.open(
  hexToBytes(exported.ciphertext),
  new TextEncoder().encode(about.join("")),
);
const key = bytesToHex(new Uint8Array(opened));
expect(isAddressEqual(privateKeyToAccount(key).address, wallet), "the key of the sub-wallet");
secretFile("wallet-key", key);
console.log("exported     the key of the sub-wallet is in the file wallet-key");
