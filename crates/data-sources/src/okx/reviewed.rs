//! The file form of the reviewed set.

use alloy_primitives::{Address, FixedBytes};
use calldata_checks::okx::{ReviewedContracts, SourceToken};
use serde::{Deserialize, Deserializer, de::Error as _};

/// The reviewed set as an operator writes it. [`ReviewedDocument::review`] turns it into the set.
///
/// ```
/// use data_sources::okx::ReviewedDocument;
///
/// let refused = serde_json::from_str::<ReviewedDocument>(r#"{"version": "1"}"#);
/// assert!(refused.unwrap_err().to_string().starts_with("missing field"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewedDocument {
    version: String,
    chain_id: u64,
    #[serde(deserialize_with = "checked")]
    spender: Address,
    #[serde(deserialize_with = "all_checked")]
    routers: Vec<Address>,
    selectors: Vec<FixedBytes<4>>,
    source_tokens: Vec<TokenDocument>,
    #[serde(deserialize_with = "all_checked")]
    allowance_reset_tokens: Vec<Address>,
    max_deadline_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenDocument {
    #[serde(deserialize_with = "checked")]
    address: Address,
    symbol: String,
    decimals: u8,
}

impl ReviewedDocument {
    /// The set.
    ///
    /// # Errors
    /// The reason why the set cannot be used, in words; the text starts with the name of the
    /// member.
    pub fn review(self) -> Result<ReviewedContracts, String> {
        let token = |token: TokenDocument| SourceToken {
            address: token.address,
            symbol: token.symbol,
            decimals: token.decimals,
        };
        let set = ReviewedContracts {
            version: self.version,
            chain_id: self.chain_id,
            spender: self.spender,
            routers: self.routers,
            selectors: self.selectors,
            source_tokens: self.source_tokens.into_iter().map(token).collect(),
            allowance_reset_tokens: self.allowance_reset_tokens,
            max_deadline_seconds: self.max_deadline_seconds,
        };
        match set.problem() {
            Some(problem) => Err(problem),
            None => Ok(set),
        }
    }
}

/// An address whose digits of both cases are those of its checksum (EIP-55): a slip would review
/// another contract.
fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
    let text = String::deserialize(deserializer)?;
    exact::address::parse(&text).map_err(D::Error::custom)
}

fn all_checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Address>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    let read = |text: &String| exact::address::parse(text).map_err(D::Error::custom);
    texts.iter().map(read).collect()
}
