//! Converts values of `x402-wire` into types of `ethers-core`, and signs with `ethers-core`.

#![allow(dead_code, reason = "each test file compiles this module for itself")]

use alloy_primitives::{Address, B256, U256};
use ethers_core::k256::ecdsa::SigningKey;
use ethers_core::types::transaction::eip712::{EIP712Domain, TypedData};
use ethers_core::types::{H160, U256 as EthersU256};
use serde_json::json;
use x402_wire::{Asset, Authorization, Network};

pub(crate) fn domain(asset: &Asset, network: Network) -> EIP712Domain {
    EIP712Domain {
        name: Some(asset.name.clone()),
        version: Some(asset.version.clone()),
        chain_id: Some(network.chain_id().into()),
        verifying_contract: Some(address(asset.address)),
        salt: None,
    }
}

/// The authorization as the typed-data document that a wallet shows.
pub(crate) fn typed_data(
    asset: &Asset,
    network: Network,
    authorization: &Authorization,
) -> TypedData {
    let field = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let document = json!({
        "types": {
            "EIP712Domain": [
                field("name", "string"),
                field("version", "string"),
                field("chainId", "uint256"),
                field("verifyingContract", "address"),
            ],
            "TransferWithAuthorization": [
                field("from", "address"),
                field("to", "address"),
                field("value", "uint256"),
                field("validAfter", "uint256"),
                field("validBefore", "uint256"),
                field("nonce", "bytes32"),
            ],
        },
        "primaryType": "TransferWithAuthorization",
        "domain": domain(asset, network),
        // This is our own JSON of the message. Another library must read the same from its texts.
        "message": authorization,
    });
    serde_json::from_value(document).expect("typed data")
}

/// The parts r, s and v (27 or 28) of a signature of a digest.
pub(crate) fn sign(key: &SigningKey, digest: B256) -> [u8; 65] {
    let (signature, recovery) = key
        .sign_prehash_recoverable(digest.as_slice())
        .expect("signature");
    let mut bytes = [0u8; 65];
    let (rs, v) = bytes.split_at_mut(64);
    rs.copy_from_slice(&signature.to_bytes());
    v.copy_from_slice(&[27 + recovery.to_byte()]);
    bytes
}

pub(crate) fn address(address: Address) -> H160 {
    H160(address.into_array())
}

pub(crate) fn integer(value: U256) -> EthersU256 {
    EthersU256::from_big_endian(&value.to_be_bytes::<32>())
}

pub(crate) fn checksum(address: H160) -> String {
    ethers_core::utils::to_checksum(&address, None)
}
