//! The EIP-712 domain of one instance of the service. A message that is signed in another domain is
//! refused, so no message counts at two instances.

use alloy_primitives::{B256, U256};
use alloy_sol_types::Eip712Domain;
use serde::{Deserialize, Serialize};

use crate::{Name, Refusal, Rule, json, refusal::same};

/// The version of the domain.
const VERSION: &str = "1";

/// The scope of a message: a service by its brand, a chain, and an instance by its salt. There is
/// no verifying contract, because grants, limits and revocations are for the service.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, b256};
/// use delegation_fence::Domain;
///
/// let domain = Domain::new(8453, B256::repeat_byte(0x11));
/// assert_eq!(
///     domain.separator(),
///     b256!("c258f3e61d60ef9f3a1f0814daf50c4a1ee224610bc9cf27c69f51e0135ae8a4"),
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    name: Name,
    chain_id: u64,
    salt: B256,
}

impl Domain {
    /// The default brand: the first word of the default name.
    pub const BRAND: &'static str = "svc";

    /// The domain of an instance with the default brand.
    #[must_use]
    pub fn new(chain_id: u64, salt: B256) -> Self {
        Self {
            name: Name::of_domain(),
            chain_id,
            salt,
        }
    }

    /// The domain of an instance of another brand.
    ///
    /// # Errors
    /// `typed_data_malformed` for a brand that is not a [`Name`] or is too long.
    pub fn branded(brand: &str, chain_id: u64, salt: B256) -> Result<Self, Refusal> {
        Ok(Self {
            name: Name::new(&format!("{brand} delegation fence"))?,
            chain_id,
            salt,
        })
    }

    /// `name`
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// `chainId`
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// `salt`: the instance of the service.
    #[must_use]
    pub const fn salt(&self) -> B256 {
        self.salt
    }

    /// The domain separator, which a hardware wallet shows as the domain hash.
    #[must_use]
    pub fn separator(&self) -> B256 {
        self.eip712().separator()
    }

    /// Checks that a message's domain is this one.
    ///
    /// # Errors
    /// `domain_name_mismatch`, `domain_chain_mismatch`, `domain_salt_mismatch`
    pub fn require(&self, observed: &Self) -> Result<(), Refusal> {
        same(
            Rule::DomainNameMismatch,
            "the domain is of another service",
            &self.name,
            &observed.name,
        )?;
        same(
            Rule::DomainChainMismatch,
            "the domain is of another chain",
            self.chain_id,
            observed.chain_id,
        )?;
        same(
            Rule::DomainSaltMismatch,
            "the domain is of another instance of the service",
            self.salt,
            observed.salt,
        )
    }

    pub(crate) fn eip712(&self) -> Eip712Domain {
        Eip712Domain::new(
            Some(self.name.as_str().to_owned().into()),
            Some(VERSION.into()),
            Some(U256::from(self.chain_id)),
            None,
            Some(self.salt),
        )
    }

    pub(crate) fn record(&self) -> DomainRecord {
        DomainRecord {
            name: self.name.clone(),
            version: VERSION.to_owned(),
            chain_id: self.chain_id,
            salt: self.salt,
        }
    }
}

/// The domain in its typed-data form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DomainRecord {
    name: Name,
    version: String,
    /// Written as a number, because wallets compare it with their own chain id.
    #[serde(rename = "chainId", deserialize_with = "json::uint64::deserialize")]
    chain_id: u64,
    #[serde(with = "json::word")]
    salt: B256,
}

impl DomainRecord {
    pub(crate) fn into_domain(self) -> Result<Domain, Refusal> {
        same(
            Rule::TypedDataMalformed,
            "the domain has another version",
            VERSION,
            self.version.as_str(),
        )?;
        Ok(Domain {
            name: self.name,
            chain_id: self.chain_id,
            salt: self.salt,
        })
    }
}
