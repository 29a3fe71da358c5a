//! The file of reviewed targets.

use alloy_primitives::{Address, Selector};
use serde::Deserialize;

use super::{SigningPolicy, Target, TargetsFault, Vault};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: String,
    #[serde(default)]
    targets: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    chain_id: u64,
    contract: String,
    #[serde(default)]
    selectors: Vec<String>,
    #[serde(default)]
    spender_only: bool,
    #[serde(rename = "what")]
    description: String,
    product_id: Option<String>,
    protocol: Option<String>,
    asset: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<SigningPolicy, TargetsFault> {
    let document: Document = toml::from_str(text).map_err(|error| TargetsFault::Malformed {
        message: error.message().to_owned(),
    })?;
    if document.version.trim().is_empty() {
        return Err(TargetsFault::VersionEmpty);
    }
    let mut policy = SigningPolicy {
        version: document.version,
        ..SigningPolicy::default()
    };
    for (index, record) in document.targets.iter().enumerate() {
        policy.insert(record.target(index)?)?;
    }
    Ok(policy)
}

impl Record {
    fn target(&self, index: usize) -> Result<Target, TargetsFault> {
        let chain_id = self.chain_id;
        if chain_id == 0 {
            return Err(TargetsFault::ChainZero { index });
        }
        let contract = address(index, "contract", &self.contract)?;
        let target = if self.spender_only {
            if !self.selectors.is_empty() {
                return Err(TargetsFault::SpenderCalled {
                    contract,
                    observed: self.selectors.len(),
                });
            }
            Target::spender(chain_id, contract, &self.description)?
        } else {
            let selectors = self.selectors.iter().map(|text| selector(index, text));
            let selectors = selectors.collect::<Result<Vec<_>, _>>()?;
            Target::new(chain_id, contract, selectors, &self.description)?
        };
        Ok(match self.vault(index, contract)? {
            Some(vault) => target.with_vault(vault),
            None => target,
        })
    }

    /// The three keys of a vault: all of them or none.
    fn vault(&self, index: usize, contract: Address) -> Result<Option<Vault>, TargetsFault> {
        let keys = [
            ("product_id", &self.product_id),
            ("protocol", &self.protocol),
            ("asset", &self.asset),
        ];
        if keys.iter().all(|(_, value)| value.is_none()) {
            return Ok(None);
        }
        let [product_id, protocol, asset] = keys.map(|(missing, value)| {
            let value = value.as_deref().filter(|text| !text.trim().is_empty());
            value.ok_or(TargetsFault::VaultIncomplete { contract, missing })
        });
        Ok(Some(Vault {
            product_id: product_id?.to_owned(),
            protocol: protocol?.to_owned(),
            asset: address(index, "asset", asset?)?,
        }))
    }
}

fn address(index: usize, key: &'static str, text: &str) -> Result<Address, TargetsFault> {
    let address =
        exact::address::parse(text).map_err(|cause| TargetsFault::Address { index, key, cause })?;
    if address.is_zero() {
        return Err(TargetsFault::AddressZero { index, key });
    }
    Ok(address)
}

fn selector(index: usize, text: &str) -> Result<Selector, TargetsFault> {
    exact::parse_hex_array(text)
        .map(Selector::new)
        .ok_or(TargetsFault::SelectorMalformed {
            index,
            length: text.chars().count(),
        })
}
