use alloy_dyn_abi::TypedData;
use alloy_primitives::{address, hex};
use keystore::Key;
use serde_json::json;

use super::*;

/// The account of the development phrase with the number 1.
const OWNER: Owner = Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
const OWNER_KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/// The owner's X25519 key pair of the vector in `docs/PROTOCOL.md`: its private half has 32 bytes
/// `11`.
const PUBLIC: &str = "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13";

fn vector() -> (ExportRequest, Key) {
    let key = Key::from_bytes(&[0x42; 32]).unwrap();
    let mut request = ExportRequest {
        owner: OWNER,
        wallet: key.address(),
        public_key: PUBLIC.parse().unwrap(),
        issued_at: 1_795_600_000,
        signature: Bytes::new(),
    };
    let owner = Key::from_text(OWNER_KEY).unwrap();
    request.signature = owner
        .sign(request.digest("example"))
        .unwrap()
        .to_vec()
        .into();
    (request, key)
}

/// A wallet library that reads the JSON of the typed data computes the same digest.
#[test]
fn the_digest_is_that_of_the_documented_typed_data() {
    let (request, _) = vector();
    let typed_data: TypedData = serde_json::from_value(json!({
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
            ],
            "WalletExport": [
                {"name": "owner", "type": "address"},
                {"name": "wallet", "type": "address"},
                {"name": "publicKey", "type": "bytes32"},
                {"name": "issuedAt", "type": "uint64"},
            ],
        },
        "primaryType": "WalletExport",
        "domain": {"name": "example wallets", "version": "1", "chainId": 196},
        "message": {
            "owner": request.owner.address(),
            "wallet": request.wallet,
            "publicKey": request.public_key,
            "issuedAt": request.issued_at,
        },
    }))
    .unwrap();
    assert_eq!(
        request.digest("example"),
        typed_data.eip712_signing_hash().unwrap()
    );
    assert_eq!(request.verify("example"), Ok(request.digest("example")));
}

/// `docs/PROTOCOL.md` shows this vector and how the owner decrypts it.
#[test]
fn the_vector_of_the_documentation_holds() {
    let (request, key) = vector();
    let digest = request.verify("example").unwrap();
    let document = seal(&request, digest, &key).unwrap().to_string();
    let protocol = include_str!("../../../../docs/PROTOCOL.md");
    let written = json!({
        "owner": request.owner.to_string(), "wallet": request.wallet, "public_key": request.public_key,
        "issued_at": request.issued_at, "signature": request.signature,
    });
    for shown in [&document, &written.to_string(), &request.wallet.to_string()] {
        assert!(protocol.contains(shown), "docs/PROTOCOL.md lacks {shown}");
    }
    assert_eq!(written.to_string().parse(), Ok(request));
}

#[test]
fn a_request_counts_for_a_week() {
    let (request, _) = vector();
    let at = request.issued_at;
    for (now, code) in [
        (at - 301, Some("wallet_export_issued_later")),
        (at - 300, None),
        (at, None),
        (at + 7 * 86_400, None),
        (at + 7 * 86_400 + 1, Some("wallet_export_expired")),
    ] {
        let refused = request.check_time(now).err();
        assert_eq!(refused.map(|refusal| refusal.code()), code, "{now}");
    }
}

/// Any changed bit makes another request, or none.
#[test]
fn no_bit_of_a_request_can_be_changed() {
    let (request, _) = vector();
    for byte in 0..65 {
        for bit in 0..8 {
            let mut bytes = request.signature.to_vec();
            bytes[byte] ^= 1 << bit;
            let signature = Bytes::from(bytes);
            let changed = ExportRequest {
                signature,
                ..request.clone()
            };
            assert!(changed.verify("example").is_err(), "{byte}.{bit}");
        }
    }
    assert_eq!(hex::encode(request.public_key), PUBLIC);
}
