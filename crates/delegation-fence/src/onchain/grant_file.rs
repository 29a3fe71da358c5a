//! The file of a grant, with the delegations of an `eoa7702` account.

use serde_json::{Value, json};

use super::delegation::SignedDelegation;
use crate::{Grant, Refusal, Rule, Signed, json};

/// `{"typed_data": {…}, "signature": "0x…", "delegations": [{…}]}`: the body of `POST
/// /delegation/grants`. The member `delegations` is left out for accounts that have none.
///
/// # Example
/// ```
/// use delegation_fence::onchain::GrantFile;
///
/// let text = include_str!("../../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let vector = &vectors["grant_eoa7702"];
/// let body = serde_json::json!({
///     "typed_data": vector["typed_data"],
///     "signature": vector["signature"],
///     "delegations": [vectors["erc7710_delegation"]["delegation"]],
/// });
/// let file = GrantFile::parse(&body.to_string())?;
/// assert_eq!(file.delegations.len(), 1);
/// assert_eq!(GrantFile::parse(&file.to_json())?, file);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantFile {
    /// The signed grant.
    pub signed: Signed<Grant>,
    /// The signed delegations.
    pub delegations: Vec<SignedDelegation>,
}

/// An upper bound of the number of a grant's delegations.
const MOST: usize = 8;

impl GrantFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Those of [`Signed::parse`] and [`SignedDelegation::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let (value, delegations) = split(text)?;
        Ok(Self {
            signed: Signed::of_value(value)?,
            delegations,
        })
    }

    /// The delegations of a file, and the text of the rest of it.
    ///
    /// # Errors
    /// `typed_data_malformed` for a text that is not JSON, and those of
    /// [`SignedDelegation::parse`].
    pub fn split(text: &str) -> Result<(String, Vec<SignedDelegation>), Refusal> {
        split(text).map(|(rest, delegations)| (rest.to_string(), delegations))
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut value: Value = self.signed.to_value();
        if let (false, Some(members)) = (self.delegations.is_empty(), value.as_object_mut()) {
            let delegations: Vec<_> = self
                .delegations
                .iter()
                .map(SignedDelegation::to_value)
                .collect();
            members.insert("delegations".to_owned(), json!(delegations));
        }
        value.to_string()
    }
}

impl From<Signed<Grant>> for GrantFile {
    /// The file of an account without delegations.
    fn from(signed: Signed<Grant>) -> Self {
        Self {
            signed,
            delegations: Vec::new(),
        }
    }
}

impl SignedDelegation {
    /// Reads a list of delegations in the form of a file.
    ///
    /// # Errors
    /// `delegation_malformed`, and the rules of signatures.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Refusal> {
        read_all(Some(json::parse(Rule::DelegationMalformed, text)?))
    }

    /// A list of delegations as JSON.
    #[must_use]
    pub fn list_to_json(list: &[Self]) -> String {
        Value::from_iter(list.iter().map(Self::to_value)).to_string()
    }
}

fn split(text: &str) -> Result<(Value, Vec<SignedDelegation>), Refusal> {
    let mut value = json::parse(Rule::TypedDataMalformed, text)?;
    let delegations = value
        .as_object_mut()
        .and_then(|members| members.remove("delegations"));
    Ok((value, read_all(delegations)?))
}

fn read_all(delegations: Option<Value>) -> Result<Vec<SignedDelegation>, Refusal> {
    match delegations {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) if items.len() <= MOST => {
            items.into_iter().map(SignedDelegation::of_value).collect()
        }
        Some(other) => Err(Refusal::new(
            Rule::DelegationMalformed,
            "delegations is no list of delegations",
            format_args!("a list of at most {MOST}"),
            other.as_array().map_or_else(
                || "another value".to_owned(),
                |items| items.len().to_string(),
            ),
        )),
    }
}
