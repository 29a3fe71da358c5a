//! The signed hashes: the connection id over the action's bytes, and the EIP-712 digest of the
//! venue's `Agent` message. They are computed from the byte layout alone, without a typed-data
//! library, so that they check the builder's own computation.

use alloy_primitives::{Address, B256, Keccak256, b256, keccak256};

/// `source` of the venue's main network.
pub const MAINNET_SOURCE: &str = "a";
/// `source` of the venue's test network.
pub const TESTNET_SOURCE: &str = "b";

/// The EIP-712 domain separator of `{name: "Exchange", version: "1", chainId: 1337,
/// verifyingContract: 0}`.
pub const DOMAIN_SEPARATOR: B256 =
    b256!("d79297fcdf2ffcd4ae223d01edaa2ba214ff8f401d7c9300d995d17c82aa4040");
/// The encoded type of the signed message.
const AGENT_TYPE: &[u8] = b"Agent(string source,bytes32 connectionId)";

/// Computes `keccak256(action || u64be(nonce) || vault || expiry)`: the vault is `00`, or `01` and
/// its 20 bytes; the expiry is empty, or `00` and 8 big-endian bytes.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, b256, hex};
/// use calldata_checks::perp_order::hash;
///
/// let action = hex!("83a474797065a56f72646572a66f72646572739186a16100a162c3a170a6313233343536a173
///     a7302e3030313233a172c2a17481a56c696d697481a3746966a3477463a867726f7570696e67
///     a26e61");
/// let plain = hash::connection_id(&action, 1_768_146_914_155, None, None);
/// assert_eq!(plain, b256!("b7a95c153a479cacb9c52da083a3bfd4545de1e3a1b1f629007c5492c16a797d"));
/// let vault = Some(Address::repeat_byte(1));
/// assert_ne!(plain, hash::connection_id(&action, 1_768_146_914_155, vault, None));
/// ```
#[must_use]
pub fn connection_id(
    action: &[u8],
    nonce: u64,
    vault: Option<Address>,
    expires_after: Option<u64>,
) -> B256 {
    let mut hasher = Keccak256::new();
    hasher.update(action);
    hasher.update(nonce.to_be_bytes());
    match vault {
        None => hasher.update([0]),
        Some(vault) => {
            hasher.update([1]);
            hasher.update(vault);
        }
    }
    if let Some(expires_after) = expires_after {
        // The venue marks a present expiry with 00, unlike a present vault.
        hasher.update([0]);
        hasher.update(expires_after.to_be_bytes());
    }
    hasher.finalize()
}

/// Computes the EIP-712 digest of `Agent{source, connectionId}` under [`DOMAIN_SEPARATOR`].
///
/// # Example
/// ```
/// use alloy_primitives::b256;
/// use calldata_checks::perp_order::hash::{MAINNET_SOURCE, TESTNET_SOURCE, agent_digest};
///
/// // The connection id of the example of `connection_id`.
/// let connection = b256!("b7a95c153a479cacb9c52da083a3bfd4545de1e3a1b1f629007c5492c16a797d");
/// let digest = agent_digest(MAINNET_SOURCE, connection);
/// assert_eq!(digest, b256!("1f22b153b12cbd3ee6ae4103a164d70eb5b32baf50c77e22b038dafa4fe80e52"));
/// assert_ne!(digest, agent_digest(TESTNET_SOURCE, connection));
/// ```
#[must_use]
pub fn agent_digest(source: &str, connection_id: B256) -> B256 {
    let mut hasher = Keccak256::new();
    hasher.update([0x19, 0x01]);
    hasher.update(DOMAIN_SEPARATOR);
    hasher.update(agent_hash(source, connection_id));
    hasher.finalize()
}

/// Computes the struct hash of `Agent{source, connectionId}`.
///
/// # Example
/// ```
/// use alloy_primitives::{b256, keccak256};
/// use calldata_checks::perp_order::hash::{self, DOMAIN_SEPARATOR, MAINNET_SOURCE};
///
/// let connection = b256!("b7a95c153a479cacb9c52da083a3bfd4545de1e3a1b1f629007c5492c16a797d");
/// let message = hash::agent_hash(MAINNET_SOURCE, connection);
/// let signed = [&[0x19_u8, 0x01][..], DOMAIN_SEPARATOR.as_slice(), message.as_slice()].concat();
/// assert_eq!(keccak256(signed), hash::agent_digest(MAINNET_SOURCE, connection));
/// ```
#[must_use]
pub fn agent_hash(source: &str, connection_id: B256) -> B256 {
    let message = [keccak256(AGENT_TYPE), keccak256(source), connection_id];
    keccak256(message.concat())
}

/// Returns the text of the preimage after the action's bytes, with `{nonce:16hex}` and
/// `{expires_after:16hex}` for the two numbers.
///
/// # Example
/// ```
/// use calldata_checks::perp_order::hash::preimage_suffix_template;
///
/// let template = preimage_suffix_template(None, true);
/// assert_eq!(template, "0x{nonce:16hex}0000{expires_after:16hex}");
/// assert_eq!(preimage_suffix_template(None, false), "0x{nonce:16hex}00");
/// ```
#[must_use]
pub fn preimage_suffix_template(vault: Option<Address>, expires: bool) -> String {
    let vault = vault.map_or_else(|| "00".to_owned(), |vault| format!("01{}", hex(vault)));
    let expiry = if expires {
        "00{expires_after:16hex}"
    } else {
        ""
    };
    format!("0x{{nonce:16hex}}{vault}{expiry}")
}

fn hex(address: Address) -> String {
    alloy_primitives::hex::encode(address)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    #[test]
    fn the_domain_separator_is_that_of_the_venue() {
        let encoded = [
            keccak256(
                "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
            ),
            keccak256("Exchange"),
            keccak256("1"),
            B256::from(U256::from(1337)),
            B256::ZERO,
        ];
        assert_eq!(keccak256(encoded.concat()), DOMAIN_SEPARATOR);
    }

    #[test]
    fn the_template_names_every_byte_after_the_action() {
        let vault = Address::repeat_byte(0xAB);
        assert_eq!(
            preimage_suffix_template(None, true),
            "0x{nonce:16hex}0000{expires_after:16hex}"
        );
        assert_eq!(
            preimage_suffix_template(Some(vault), true),
            format!(
                "0x{{nonce:16hex}}01{}00{{expires_after:16hex}}",
                "ab".repeat(20)
            )
        );
        assert_eq!(preimage_suffix_template(None, false), "0x{nonce:16hex}00");
    }
}
