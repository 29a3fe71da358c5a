//! Compares the Calldata Digest of ERC-8213, which each step states, with `ethers-core`. It is the
//! hash of the length, encoded as a `uint256`, and the bytes.

use alloy_primitives::hex;
use ethers_core::abi::{Token, encode};
use ethers_core::types::U256;
use ethers_core::utils::keccak256;
use proptest::prelude::*;

use crate::rails::bridge::bridges;
use crate::rails::swap::swaps;
use crate::rails::{Case, Plan};

fn check_steps(plan: &Plan) {
    let shown = plan.json["device_display"]["steps"].as_array().unwrap();
    let steps = plan.payload()["steps"].as_array().unwrap();
    assert_eq!((shown.len(), steps.len()), (3, 3));
    for (at, shown) in shown.iter().enumerate() {
        let data = plan.step_data(at);
        let mut hashed = encode(&[Token::Uint(U256::from(data.len()))]);
        hashed.extend_from_slice(&data);
        let digest = hex::encode_prefixed(keccak256(hashed));
        assert_eq!(shown["calldata_digest"], digest);
        assert_eq!(shown["calldata_bytes"], data.len());
        assert_eq!(shown["kind"], steps[at]["kind"]);
    }
}

proptest! {
    #[test]
    fn every_step_of_a_swap(case in swaps()) {
        check_steps(&case.plan());
    }

    #[test]
    fn every_step_of_a_bridge(case in bridges()) {
        check_steps(&case.plan());
    }
}
