//! EIP-712 of decoded members: type strings, domain separator, struct hash, order hash.
//!
//! The module computes them with keccak-256 alone, so that a plan's hash is recomputed in another
//! way than it was made.

use alloy_primitives::{Address, B256, U256, keccak256};

use super::{Order, text::Member};

/// The members of the domain, as the venue's contracts declare them.
pub(super) const DOMAIN_MEMBERS: [Member<'static>; 4] = [
    member("name", "string"),
    member("version", "string"),
    member("chainId", "uint256"),
    member("verifyingContract", "address"),
];

/// The members of an order of the second generation.
pub(super) const ORDER_MEMBERS: [Member<'static>; 11] = [
    member("salt", "uint256"),
    member("maker", "address"),
    member("signer", "address"),
    member("tokenId", "uint256"),
    member("makerAmount", "uint256"),
    member("takerAmount", "uint256"),
    member("side", "uint8"),
    member("signatureType", "uint8"),
    member("timestamp", "uint256"),
    member("metadata", "bytes32"),
    member("builder", "bytes32"),
];

/// The signing domain of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// `name`.
    pub name: String,
    /// `version`.
    pub version: String,
    /// `chainId`.
    pub chain_id: u64,
    /// `verifyingContract`.
    pub verifying_contract: Address,
}

impl Domain {
    /// Computes the domain separator (EIP-712).
    #[must_use]
    pub fn separator(&self) -> B256 {
        hash_words([
            type_hash("EIP712Domain", &DOMAIN_MEMBERS),
            keccak256(&self.name),
            keccak256(&self.version),
            U256::from(self.chain_id).into(),
            self.verifying_contract.into_word(),
        ])
    }
}

impl Order {
    /// Computes the struct hash (EIP-712).
    #[must_use]
    pub fn struct_hash(&self) -> B256 {
        hash_words([
            type_hash("Order", &ORDER_MEMBERS),
            self.salt.into(),
            self.maker.into_word(),
            self.signer.into_word(),
            self.token_id.into(),
            self.maker_amount.into(),
            self.taker_amount.into(),
            U256::from(self.side.number()).into(),
            U256::from(self.signature_type).into(),
            self.timestamp.into(),
            self.metadata,
            self.builder,
        ])
    }

    /// Computes the digest to sign. The venue and the exchange name the order by it.
    #[must_use]
    pub fn hash(&self, domain: &Domain) -> B256 {
        let mut bytes = [0; 66];
        let (prefix, rest) = bytes.split_at_mut(2);
        let (separator, order) = rest.split_at_mut(32);
        prefix.copy_from_slice(&[0x19, 0x01]);
        separator.copy_from_slice(domain.separator().as_slice());
        order.copy_from_slice(self.struct_hash().as_slice());
        keccak256(bytes)
    }
}

/// Writes a struct type as EIP-712 encodes it: `Name(type name,…)`.
pub(super) fn type_string(name: &str, members: &[Member<'_>]) -> String {
    let mut text = format!("{name}(");
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(member.kind);
        text.push(' ');
        text.push_str(member.name);
    }
    text.push(')');
    text
}

fn type_hash(name: &str, members: &[Member<'_>]) -> B256 {
    keccak256(type_string(name, members))
}

fn hash_words<const N: usize>(words: [B256; N]) -> B256 {
    keccak256(words.map(|word| word.0).as_flattened())
}

const fn member(name: &'static str, kind: &'static str) -> Member<'static> {
    Member { name, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pm_order::{Exchange, Side, domain};
    use alloy_primitives::{address, b256};

    #[test]
    fn the_order_type_hash() {
        assert_eq!(
            type_hash("Order", &ORDER_MEMBERS),
            b256!("0xbb86318a2138f5fa8ae32fbe8e659f8fcf13cc6ae4014a707893055433818589")
        );
    }

    #[test]
    fn the_domain_separators_of_both_exchanges() {
        assert_eq!(
            domain(Exchange::Normal).separator(),
            b256!("0x3264e159346253e26a64e00b69032db0e7d32f94628de3e6eecb50304d7af3d2")
        );
        assert_eq!(
            domain(Exchange::NegRisk).separator(),
            b256!("0x9b858f53327b0bd13af8ec14cfb35234fb9eb7b0504d1a4e61f433840d30e81a")
        );
    }

    /// The struct hash that the exchange's own contract test expects (`EIP712Digest.t.sol`).
    #[test]
    fn the_struct_hash_of_the_contract_test() {
        let mut token = [0; 32];
        for (index, byte) in token.iter_mut().enumerate() {
            *byte = u8::try_from(index + 1).unwrap();
        }
        let order = Order {
            salt: U256::from(12345),
            maker: address!("0x1234567890123456789012345678901234567890"),
            signer: address!("0x2345678901234567890123456789012345678901"),
            token_id: U256::from_be_bytes(token),
            maker_amount: U256::from(1_000_000),
            taker_amount: U256::from(500_000),
            side: Side::Buy,
            signature_type: 0,
            timestamp: U256::from(1_700_000_000),
            metadata: U256::from(0xDEAD_BEEFu32).into(),
            builder: U256::from(0xFEED_FACEu32).into(),
        };
        assert_eq!(
            order.struct_hash(),
            b256!("0x08b5c2f163715a48f38ae24e8d1b9ab97bb3d457245b854c1b6cb2a69142742a")
        );
    }
}
