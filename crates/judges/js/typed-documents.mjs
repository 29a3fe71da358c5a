// Signs typed data (EIP-712) with the code of a browser wallet and with viem. MetaMask hashes the
// domain with the members that `types.EIP712Domain` names, and viem with those that `domain` has:
// only a complete document gets one signer from both.
//
// in:  [{private_key, typed_data}]
// out: [{metamask: {digest, signature, signer, signer_of_the_other}, viem: the same}]

import { SignTypedDataVersion, TypedDataUtils, recoverTypedSignature, signTypedData } from "@metamask/eth-sig-util";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { readOrder, report } from "./io.mjs";

const version = SignTypedDataVersion.V4;

async function judge({ private_key, typed_data: data }) {
  const privateKey = Buffer.from(private_key.slice(2), "hex");
  const metamask = signTypedData({ privateKey, data, version });
  const viem = await privateKeyToAccount(private_key).signTypedData(data);
  const byMetamask = (signature) => recoverTypedSignature({ data, signature, version });
  const byViem = (signature) => recoverTypedDataAddress({ ...data, signature });
  return {
    metamask: {
      digest: `0x${Buffer.from(TypedDataUtils.eip712Hash(data, version)).toString("hex")}`,
      signature: metamask,
      signer: byMetamask(metamask),
      signer_of_the_other: byMetamask(viem),
    },
    viem: {
      digest: hashTypedData(data),
      signature: viem,
      signer: await byViem(viem),
      signer_of_the_other: await byViem(metamask),
    },
  };
}

report(await Promise.all((await readOrder()).map(judge)));
