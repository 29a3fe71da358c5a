//! Transactions that the payer or a stranger sends in these tests.

use alloy_consensus::{SignableTransaction, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex, keccak256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall, SolValue, sol};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, MinedSummary, PAYEE};
use serde_json::json;
use x402_wire::Authorization;

use crate::payments::Draft;

sol! {
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature) external;
    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        bytes signature
    ) external;
}

/// Sends a call from account 6. The call must succeed. Returns the hash of its transaction.
fn send(chain: &DevChain, to: Address, input: Vec<u8>) -> B256 {
    let sent = attempt(chain, to, input);
    assert!(sent.success);
    sent.hash
}

/// Sends a call from account 6. The call may fail.
fn attempt(chain: &DevChain, to: Address, input: Vec<u8>) -> MinedSummary {
    let sender = DEV_ACCOUNTS[6];
    let before = chain.transactions();
    let nonce = before
        .iter()
        .filter(|sent| sent.from == sender.address)
        .count();
    let transaction = TxLegacy {
        chain_id: Some(196),
        nonce: nonce.try_into().unwrap(),
        gas_price: 1_000_000_000,
        gas_limit: 500_000,
        to: TxKind::Call(to),
        value: U256::ZERO,
        input: input.into(),
    };
    let signer = PrivateKeySigner::from_bytes(&sender.key).unwrap();
    let signature = signer
        .sign_hash_sync(&transaction.signature_hash())
        .unwrap();
    let raw = hex::encode_prefixed(transaction.into_signed(signature).encoded_2718());
    let answer = chain.request("eth_sendRawTransaction", json!([raw]));
    let sent = chain
        .transactions()
        .pop()
        .unwrap_or_else(|| panic!("{answer:?}"));
    assert!(sent.from == sender.address);
    sent
}

fn sign(digest: B256) -> Bytes {
    let signer = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    signer.sign_hash_sync(&digest).unwrap().as_bytes().into()
}

/// Sends the payer's cancellation of the authorization, and returns the hash.
pub(crate) fn cancel(chain: &DevChain, draft: &Draft) -> B256 {
    let type_hash = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    let structure = keccak256((type_hash, draft.from, draft.nonce).abi_encode());
    let requirements = draft.requirements();
    let separator = requirements.domain_separator();
    let digest = keccak256([&[0x19, 0x01], &separator[..], &structure[..]].concat());
    let call = cancelAuthorizationCall {
        authorizer: draft.from,
        nonce: draft.nonce,
        signature: sign(digest),
    };
    send(chain, requirements.asset, call.abi_encode())
}

/// Sends an authorization with the draft's nonce from a stranger's account. It is the draft's own
/// when `to` is the payee, otherwise one that pays another account.
pub(crate) fn transfer(chain: &DevChain, draft: &Draft, to: Address) -> B256 {
    send(chain, draft.requirements().asset, transfer_input(draft, to))
}

/// Sends the draft's used authorization from a stranger's account, to a token that reverts.
pub(crate) fn transfer_in_vain(chain: &DevChain, draft: &Draft) -> B256 {
    let input = transfer_input(draft, PAYEE.address);
    let sent = attempt(chain, draft.requirements().asset, input);
    assert!(!sent.success);
    sent.hash
}

fn transfer_input(draft: &Draft, to: Address) -> Vec<u8> {
    let requirements = draft.requirements();
    let authorization = Authorization {
        to,
        ..draft.authorization()
    };
    let call = transferWithAuthorizationCall {
        from: authorization.from,
        to,
        value: authorization.value,
        validAfter: authorization.valid_after,
        validBefore: authorization.valid_before,
        nonce: authorization.nonce,
        signature: sign(authorization.digest(requirements.domain_separator())),
    };
    call.abi_encode()
}
