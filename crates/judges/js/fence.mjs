// Hashes and signs typed data of the fence with viem.
//
// in:  [{private_key, typed_data, ours}], ours: a signature of the same key by the tool
// out: [{domain_separator, message_hash, digest, signature, signer, our_signer}]

import { hashDomain, hashStruct, hashTypedData, recoverTypedDataAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { readOrder, report } from "./io.mjs";

async function judge({ private_key, typed_data, ours }) {
  const { domain, types, primaryType, message } = typed_data;
  const signature = await privateKeyToAccount(private_key).signTypedData(typed_data);
  return {
    domain_separator: hashDomain({ domain, types }),
    message_hash: hashStruct({ data: message, primaryType, types }),
    digest: hashTypedData(typed_data),
    signature,
    signer: await recoverTypedDataAddress({ ...typed_data, signature }),
    our_signer: await recoverTypedDataAddress({ ...typed_data, signature: ours }),
  };
}

report(await Promise.all((await readOrder()).map(judge)));
