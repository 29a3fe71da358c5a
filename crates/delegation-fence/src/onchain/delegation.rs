//! A delegation: its hash, its signature and its written forms.
//!
//! This module does not know grants: [`ChainTerms`](super::ChainTerms) says which delegations a
//! grant promises.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct as _};
use plan_builder::wire::Hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::framework::{MANAGER, ROOT, TypedCaveat, TypedDelegation, WireCaveat, WireDelegation};
use crate::{Refusal, Rule, Signature, json};

/// A condition of a delegation: a contract and its terms. The arguments of a redeemer (`args`) are
/// not signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caveat {
    /// The contract that enforces the condition.
    pub enforcer: Address,
    /// The terms of the condition.
    pub terms: Bytes,
}

/// An account's permission for a redeemer. Its authority is the account itself: a delegation that
/// passes on another one is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The redeemer.
    pub delegate: Address,
    /// The account.
    pub delegator: Address,
    /// The conditions, in their order.
    pub caveats: Vec<Caveat>,
    /// Distinguishes it from otherwise equal delegations.
    pub salt: U256,
}

impl Delegation {
    /// The delegation's hash, by which it is disabled. It names no chain.
    #[must_use]
    pub fn hash(&self) -> B256 {
        self.typed().eip712_hash_struct()
    }

    /// The signed digest: the hash under the manager's domain on a chain.
    ///
    /// # Example
    /// ```
    /// use delegation_fence::onchain::SignedDelegation;
    ///
    /// let text = include_str!("../../../../fixtures/vectors/delegation.json");
    /// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    /// let vector = &vectors["erc7710_delegation"];
    /// let signed = SignedDelegation::parse(&vector["delegation"].to_string())?;
    /// assert_eq!(signed.delegation.hash().to_string(), vector["struct_hash"].as_str().unwrap());
    /// assert_eq!(signed.delegation.digest(8453).to_string(), vector["digest"].as_str().unwrap());
    /// assert_eq!(signed.signer(8453)?, signed.delegation.delegator);
    /// # Ok::<(), delegation_fence::Refusal>(())
    /// ```
    #[must_use]
    pub fn digest(&self, chain_id: u64) -> B256 {
        let mut preimage = [0_u8; 66];
        let (prefix, hashes) = preimage.split_at_mut(2);
        let (domain_hash, message) = hashes.split_at_mut(32);
        prefix.copy_from_slice(&[0x19, 0x01]);
        domain_hash.copy_from_slice(domain(chain_id).separator().as_slice());
        message.copy_from_slice(self.hash().as_slice());
        keccak256(preimage)
    }

    /// The domain hash that a hardware wallet shows. The message hash is [`Self::hash`].
    #[must_use]
    pub fn domain_hash(chain_id: u64) -> B256 {
        domain(chain_id).separator()
    }

    /// Typed data (EIP-712), for wallets.
    #[must_use]
    pub fn typed_data(&self, chain_id: u64) -> Value {
        let member = |name: &str, kind: &str| json!({"name": name, "type": kind});
        json!({
            "types": {
                "EIP712Domain": [
                    member("name", "string"), member("version", "string"), member("chainId", "uint256"),
                    member("verifyingContract", "address"),
                ],
                "Caveat": [member("enforcer", "address"), member("terms", "bytes")],
                "Delegation": [
                    member("delegate", "address"), member("delegator", "address"), member("authority", "bytes32"),
                    member("caveats", "Caveat[]"), member("salt", "uint256"),
                ],
            },
            "primaryType": "Delegation",
            "domain": {"name": NAME, "version": VERSION, "chainId": chain_id, "verifyingContract": MANAGER.to_string()},
            "message": {
                "delegate": self.delegate.to_string(),
                "delegator": self.delegator.to_string(),
                "authority": ROOT,
                "caveats": self.caveats.iter().map(|caveat| json!({
                    "enforcer": caveat.enforcer.to_string(), "terms": caveat.terms,
                })).collect::<Vec<_>>(),
                "salt": self.salt.to_string(),
            },
        })
    }

    /// Adds the signature.
    #[must_use]
    pub const fn sign_with(self, signature: Signature) -> SignedDelegation {
        SignedDelegation {
            delegation: self,
            signature,
        }
    }

    fn typed(&self) -> TypedDelegation {
        TypedDelegation {
            delegate: self.delegate,
            delegator: self.delegator,
            authority: ROOT,
            caveats: self
                .caveats
                .iter()
                .map(|caveat| TypedCaveat {
                    enforcer: caveat.enforcer,
                    terms: caveat.terms.clone(),
                })
                .collect(),
            salt: self.salt,
        }
    }
}

/// A delegation with the signature of its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDelegation {
    /// The delegation.
    pub delegation: Delegation,
    /// The signature over [`Delegation::digest`].
    pub signature: Signature,
}

impl SignedDelegation {
    /// Reads `{"delegate", "delegator", "authority", "caveats": [{"enforcer", "terms", "args"?}],
    /// "salt", "signature"}`.
    ///
    /// # Errors
    /// `delegation_malformed`, and the rules of signatures. `args` have to be empty, because the
    /// redeemer sets them.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Self::of_value(json::parse(Rule::DelegationMalformed, text)?)
    }

    pub(super) fn of_value(value: Value) -> Result<Self, Refusal> {
        let rule = Rule::DelegationMalformed;
        json::require_object(rule, "a delegation", &value)?;
        let record: Record = json::read(rule, "a delegation", value)?;
        if record.authority != ROOT {
            return Err(Refusal::new(
                rule,
                "the delegation passes another one on",
                ROOT,
                record.authority,
            ));
        }
        let mut caveats = Vec::new();
        for caveat in record.caveats {
            if caveat.args.is_some_and(|args| !args.0.is_empty()) {
                return Err(Refusal::new(
                    rule,
                    "a caveat has args, which no signature covers",
                    "no args",
                    caveat.enforcer,
                ));
            }
            caveats.push(Caveat {
                enforcer: caveat.enforcer,
                terms: caveat.terms.0,
            });
        }
        Ok(Self {
            delegation: Delegation {
                delegate: record.delegate,
                delegator: record.delegator,
                caveats,
                salt: record.salt,
            },
            signature: Signature::parse(&record.signature)?,
        })
    }

    /// As JSON, in the form that MetaMask's tools read.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let Delegation {
            delegate,
            delegator,
            caveats,
            salt,
        } = &self.delegation;
        json!({
            "delegate": delegate.to_string(),
            "delegator": delegator.to_string(),
            "authority": ROOT,
            "caveats": caveats.iter().map(|caveat| json!({
                "enforcer": caveat.enforcer.to_string(), "terms": caveat.terms, "args": "0x",
            })).collect::<Vec<_>>(),
            "salt": B256::from(*salt),
            "signature": self.signature,
        })
    }

    /// The signer, for a chain.
    ///
    /// # Errors
    /// `signature_unrecoverable`
    pub fn signer(&self, chain_id: u64) -> Result<Address, Refusal> {
        self.signature.recover(self.delegation.digest(chain_id))
    }

    /// The form for the manager; `args` for the caveats of one enforcer.
    pub(super) fn wire(&self, args: Option<(Address, &Bytes)>) -> WireDelegation {
        let delegation = &self.delegation;
        let of = |enforcer: Address| match args {
            Some((whose, args)) if whose == enforcer => args.clone(),
            _ => Bytes::new(),
        };
        WireDelegation {
            delegate: delegation.delegate,
            delegator: delegation.delegator,
            authority: ROOT,
            caveats: delegation
                .caveats
                .iter()
                .map(|caveat| WireCaveat {
                    enforcer: caveat.enforcer,
                    terms: caveat.terms.clone(),
                    args: of(caveat.enforcer),
                })
                .collect(),
            salt: delegation.salt,
            signature: Bytes::copy_from_slice(self.signature.as_bytes()),
        }
    }
}

const NAME: &str = "DelegationManager";
const VERSION: &str = "1";

/// The manager's domain.
fn domain(chain_id: u64) -> Eip712Domain {
    Eip712Domain::new(
        Some(NAME.into()),
        Some(VERSION.into()),
        Some(U256::from(chain_id)),
        Some(MANAGER),
        None,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(with = "json::address")]
    delegate: Address,
    #[serde(with = "json::address")]
    delegator: Address,
    #[serde(with = "json::word")]
    authority: B256,
    caveats: Vec<CaveatRecord>,
    #[serde(deserialize_with = "salt")]
    salt: U256,
    signature: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaveatRecord {
    #[serde(with = "json::address")]
    enforcer: Address,
    terms: AnyHex,
    #[serde(default)]
    args: Option<AnyHex>,
}

/// Bytes in hexadecimal digits of either case: MetaMask's tools keep the case of addresses inside
/// terms.
#[derive(Serialize)]
#[serde(transparent)]
struct AnyHex(Bytes);

impl<'de> Deserialize<'de> for AnyHex {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let lower = Value::String(text.to_ascii_lowercase());
        Hex::deserialize(lower)
            .map(|hex| Self(hex.0))
            .map_err(serde::de::Error::custom)
    }
}

/// A word, or an integer in any other form of this crate.
fn salt<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let is_hex = value.as_str().is_some_and(|text| text.starts_with("0x"));
    if is_hex {
        return json::word::deserialize(value)
            .map(|word| U256::from_be_bytes(word.0))
            .map_err(serde::de::Error::custom);
    }
    json::uint256::deserialize(value).map_err(serde::de::Error::custom)
}
