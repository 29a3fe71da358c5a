//! `ethers-core` hashes the messages of the fence as `delegation-fence` does.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

mod messages;

use alloy_primitives::B256;
use ethers_core::types::transaction::eip712::{Eip712, TypedData};

#[test]
fn ethers_core_comes_to_the_same_hashes() {
    let cases = messages::cases();
    assert_eq!(cases.len(), 16);
    for case in cases {
        let document: TypedData = serde_json::from_str(&case.json).unwrap();
        assert_eq!(
            B256::from(document.domain_separator().unwrap()),
            case.domain_hash
        );
        assert_eq!(
            B256::from(document.struct_hash().unwrap()),
            case.message_hash
        );
        assert_eq!(
            B256::from(document.encode_eip712().unwrap()),
            case.digest,
            "{}",
            case.json
        );
    }
}
