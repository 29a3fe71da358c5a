// Encodes delegations with MetaMask's own tools and with viem.
//
// in:  {delegations: [{delegate, delegator, authority, caveats: [{enforcer, terms, args}], salt, signature}],
//       chain_id, private_key, redemption: {mode, execution},
//       terms: {after, before, redeemer, nonce, targets, selectors, calldata: [{offset, value}]}}
// out: {hashes, digests, signatures, context, redeem, disable, terms: {…}, addresses: {contract name: address}}

import { DelegationManager } from "@metamask/delegation-abis";
import {
  createAllowedCalldataTerms, createAllowedMethodsTerms, createAllowedTargetsTerms, createApprovalRevocationTerms,
  createNonceTerms, createRedeemerTerms, createTimestampTerms, createValueLteTerms, encodeDelegations, hashDelegation,
} from "@metamask/delegation-core";
import { DELEGATOR_CONTRACTS } from "@metamask/delegation-deployments";
import { encodeFunctionData, hashTypedData, numberToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { readOrder, report } from "./io.mjs";

const { delegations, chain_id, private_key, redemption, terms } = await readOrder();
const addresses = DELEGATOR_CONTRACTS["1.3.0"][chain_id];
const given = delegations.map((delegation) => ({ ...delegation, salt: BigInt(delegation.salt) }));

function typedData({ delegate, delegator, authority, caveats, salt }) {
  return {
    domain: {
      name: "DelegationManager", version: "1", chainId: chain_id, verifyingContract: addresses.DelegationManager,
    },
    types: {
      Caveat: [{ name: "enforcer", type: "address" }, { name: "terms", type: "bytes" }],
      Delegation: [
        { name: "delegate", type: "address" }, { name: "delegator", type: "address" },
        { name: "authority", type: "bytes32" }, { name: "caveats", type: "Caveat[]" },
        { name: "salt", type: "uint256" },
      ],
    },
    primaryType: "Delegation",
    message: { delegate, delegator, authority, caveats, salt },
  };
}

const account = privateKeyToAccount(private_key);
const context = encodeDelegations([given[0]]);
report({
  hashes: given.map((delegation) => hashDelegation(delegation)),
  digests: given.map((delegation) => hashTypedData(typedData(delegation))),
  signatures: await Promise.all(given.map((delegation) => account.signTypedData(typedData(delegation)))),
  context,
  redeem: encodeFunctionData({
    abi: DelegationManager, functionName: "redeemDelegations",
    args: [[context], [redemption.mode], [redemption.execution]],
  }),
  disable: encodeFunctionData({ abi: DelegationManager, functionName: "disableDelegation", args: [given[0]] }),
  terms: {
    timestamp: createTimestampTerms({ afterThreshold: terms.after, beforeThreshold: terms.before }),
    redeemer: createRedeemerTerms({ redeemers: [terms.redeemer] }),
    nonce: createNonceTerms({ nonce: numberToHex(terms.nonce) }),
    value: createValueLteTerms({ maxValue: 0n }),
    targets: terms.targets.map((target) => createAllowedTargetsTerms({ targets: [target] })),
    methods: createAllowedMethodsTerms({ selectors: terms.selectors }),
    calldata: terms.calldata.map(({ offset, value }) => createAllowedCalldataTerms({ startIndex: offset, value })),
    revocation: createApprovalRevocationTerms({
      erc20Approve: true, erc721Approve: false, erc721SetApprovalForAll: false,
      permit2Approve: false, permit2Lockdown: false, permit2InvalidateNonces: false,
    }),
  },
  addresses,
});
