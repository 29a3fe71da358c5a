//! The contract functions that this crate calls, and the events that it reads.

#![allow(missing_docs, reason = "the interface is the documentation")]

use alloy_sol_types::sol;

sol! {
    /// The parts of EIP-20 and EIP-3009 that a payment needs.
    #[derive(Debug)]
    interface Eip3009 {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
        function balanceOf(address account) external view returns (uint256);
        function transferWithAuthorization(
            address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
            uint8 v, bytes32 r, bytes32 s
        ) external;
        function transferWithAuthorization(
            address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
            bytes signature
        ) external;
    }

    /// A contract wallet that judges signatures (EIP-1271).
    interface Erc1271 {
        function isValidSignature(bytes32 hash, bytes signature) external view returns (bytes4);
    }

    /// The fields before the suffix of an ERC-6492 signature.
    struct Erc6492 {
        address factory;
        bytes factoryCalldata;
        bytes signature;
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;
    use alloy_sol_types::{SolCall, SolEvent};

    use super::*;

    #[test]
    fn selectors_and_topics_are_those_of_the_reference() {
        assert_eq!(
            Eip3009::transferWithAuthorization_0Call::SELECTOR,
            hex!("e3ee160e")
        );
        assert_eq!(
            Eip3009::transferWithAuthorization_1Call::SELECTOR,
            hex!("cf092995")
        );
        assert_eq!(Eip3009::authorizationStateCall::SELECTOR, hex!("e94a0102"));
        assert_eq!(Eip3009::DOMAIN_SEPARATORCall::SELECTOR, hex!("3644e515"));
        assert_eq!(Eip3009::balanceOfCall::SELECTOR, hex!("70a08231"));
        assert_eq!(Erc1271::isValidSignatureCall::SELECTOR, hex!("1626ba7e"));
        assert_eq!(
            Eip3009::Transfer::SIGNATURE_HASH.0,
            hex!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
        );
        assert_eq!(
            Eip3009::AuthorizationUsed::SIGNATURE_HASH.0,
            hex!("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5")
        );
        assert_eq!(
            Eip3009::AuthorizationCanceled::SIGNATURE_HASH.0,
            hex!("1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81")
        );
    }
}
