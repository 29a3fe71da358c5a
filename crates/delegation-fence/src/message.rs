//! The four messages that people and agents sign, and their typed data.
//!
//! This module gives each message one set of bytes to sign. [`Fence`](crate::Fence) and
//! [`Instance`](crate::Instance) judge what a message permits and who signed it.

mod grant;
mod limit;
mod order;
mod revocation;

use alloy_primitives::{B256, keccak256};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use self::{
    grant::{AccountKind, Grant},
    limit::Limit,
    order::Order,
    revocation::Revocation,
};
use crate::{Domain, Refusal, Rule, domain::DomainRecord, json, refusal::same};

/// The latest Unix time of a message: the end of the year 9999.
const LAST_TIME: u64 = 253_402_300_799;

/// A message of the fence. There are exactly four.
pub trait Message: sealed::Sealed + Clone + PartialEq + Serialize + DeserializeOwned {
    /// The name of its type.
    const PRIMARY_TYPE: &'static str;
    /// Its members and their types, in the order in which they are hashed.
    const MEMBERS: &'static [(&'static str, &'static str)];

    /// `hashStruct` of EIP-712, which a hardware wallet shows as the message hash.
    fn hash_struct(&self) -> B256;

    /// The chain in the message, if it has that member.
    fn chain_id(&self) -> Option<u64>;

    /// Its times, by the names of the members.
    fn times(&self) -> Vec<(&'static str, u64)>;

    /// `encodeType` of EIP-712.
    #[must_use]
    fn encode_type() -> String {
        let members: Vec<_> = Self::MEMBERS
            .iter()
            .map(|(name, kind)| format!("{kind} {name}"))
            .collect();
        format!("{}({})", Self::PRIMARY_TYPE, members.join(","))
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A message in its domain, for `eth_signTypedData_v4`, `cast wallet sign --data` and hardware
/// wallets.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, B256};
/// use delegation_fence::{Domain, Name, Revocation, TypedData};
///
/// let revocation = Revocation {
///     account: Address::repeat_byte(0xab),
///     chain_id: 8453,
///     grant_id: B256::repeat_byte(0x22),
///     project_id: Name::new("shop")?,
///     revoked_at: 1_795_309_200,
/// };
/// let unsigned = TypedData::new(Domain::new(8453, B256::repeat_byte(0x11)), revocation)?;
/// let text = unsigned.to_json();
/// assert_eq!(TypedData::<Revocation>::parse(&text)?, unsigned);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedData<M> {
    domain: Domain,
    message: M,
}

impl<M: Message> TypedData<M> {
    /// Puts a message into a domain.
    ///
    /// # Errors
    /// `message_chain_mismatch` when the message names another chain than the domain;
    /// `time_out_of_range`.
    pub fn new(domain: Domain, message: M) -> Result<Self, Refusal> {
        if let Some(chain_id) = message.chain_id() {
            same(
                Rule::MessageChainMismatch,
                "the message names another chain than its domain",
                domain.chain_id(),
                chain_id,
            )?;
        }
        for (name, time) in message.times() {
            if time > LAST_TIME {
                return Err(Refusal::new(
                    Rule::TimeOutOfRange,
                    format!(
                        "{name} is after the year 9999; times are in seconds, not milliseconds"
                    ),
                    format_args!("at most {LAST_TIME}"),
                    time,
                ));
            }
        }
        Ok(Self { domain, message })
    }

    /// Reads typed data. Its types must be exactly those of the message, in their order.
    ///
    /// # Errors
    /// `typed_data_malformed`, `typed_data_types`, `typed_data_number_unsafe`,
    /// `message_chain_mismatch`, `time_out_of_range`
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Self::of_value(json::parse(Rule::TypedDataMalformed, text)?)
    }

    pub(crate) fn of_value(value: Value) -> Result<Self, Refusal> {
        let rule = Rule::TypedDataMalformed;
        json::safe_numbers(&value, "$")?;
        json::require_object(rule, "typed data (EIP-712)", &value)?;
        for member in ["domain", "message"] {
            let object = value.get(member).unwrap_or(&Value::Null);
            json::require_object(rule, member, object)?;
        }
        let document: Document = json::read(rule, "typed data (EIP-712)", value)?;
        same(
            Rule::TypedDataTypes,
            "typed data of another message",
            M::PRIMARY_TYPE,
            document.primary_type.as_str(),
        )?;
        let expected = types::<M>();
        if document.types != expected {
            return Err(Refusal::new(
                Rule::TypedDataTypes,
                "the types are not those of the message",
                M::encode_type(),
                document.types,
            ));
        }
        let message = json::read(rule, M::PRIMARY_TYPE, document.message)?;
        Self::new(document.domain.into_domain()?, message)
    }

    /// The JSON that wallets read.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({
            "types": types::<M>(),
            "primaryType": M::PRIMARY_TYPE,
            "domain": self.domain.record(),
            "message": self.message,
        })
    }

    /// The domain.
    #[must_use]
    pub const fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The message.
    #[must_use]
    pub const fn message(&self) -> &M {
        &self.message
    }

    /// The domain hash that a hardware wallet shows.
    #[must_use]
    pub fn domain_hash(&self) -> B256 {
        self.domain.separator()
    }

    /// The message hash that a hardware wallet shows.
    #[must_use]
    pub fn message_hash(&self) -> B256 {
        self.message.hash_struct()
    }

    /// The signed digest.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let mut preimage = [0u8; 66];
        let (prefix, hashes) = preimage.split_at_mut(2);
        let (domain, message) = hashes.split_at_mut(32);
        prefix.copy_from_slice(&[0x19, 0x01]);
        domain.copy_from_slice(self.domain_hash().as_slice());
        message.copy_from_slice(self.message_hash().as_slice());
        keccak256(preimage)
    }
}

/// The message type of a document, typed data or signed, for tools that accept any file.
///
/// # Errors
/// `typed_data_malformed` for any other document.
///
/// # Example
/// ```
/// let text = include_str!("../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let order = vectors["FenceOrder"]["typed_data"].to_string();
/// assert_eq!(delegation_fence::primary_type(&order)?, "FenceOrder");
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
pub fn primary_type(text: &str) -> Result<&'static str, Refusal> {
    let value = json::parse(Rule::TypedDataMalformed, text)?;
    let typed_data = value.get("typed_data").unwrap_or(&value);
    let named = typed_data.get("primaryType").and_then(Value::as_str);
    let known = [
        Grant::PRIMARY_TYPE,
        Revocation::PRIMARY_TYPE,
        Limit::PRIMARY_TYPE,
        Order::PRIMARY_TYPE,
    ];
    known
        .into_iter()
        .find(|name| named == Some(name))
        .ok_or_else(|| {
            Refusal::new(
                Rule::TypedDataMalformed,
                "not a message of the fence",
                known.join(", "),
                named.unwrap_or("no primaryType"),
            )
        })
}

/// Typed data in its written form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    types: Value,
    #[serde(rename = "primaryType")]
    primary_type: String,
    domain: DomainRecord,
    message: Value,
}

/// `types` of a message.
fn types<M: Message>() -> Value {
    let of = |members: &[(&str, &str)]| -> Value {
        members
            .iter()
            .map(|(name, kind)| json!({"name": name, "type": kind}))
            .collect()
    };
    let domain = [
        ("name", "string"),
        ("version", "string"),
        ("chainId", "uint256"),
        ("salt", "bytes32"),
    ];
    json!({"EIP712Domain": of(&domain), M::PRIMARY_TYPE: of(M::MEMBERS)})
}
