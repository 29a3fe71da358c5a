//! A message with its signature: the file that a person keeps and sends to a server.

use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Message, Refusal, Rule, Signature, TypedData, json};

/// Typed data and the signature over its digest. [`Self::signer`] tells whose signature it is.
///
/// # Example
/// ```
/// use delegation_fence::{Grant, Signed};
///
/// let text = include_str!("../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let vector = &vectors["grant_eoa7702"];
/// let file = serde_json::json!({"typed_data": vector["typed_data"], "signature": vector["signature"]});
///
/// let signed = Signed::<Grant>::parse(&file.to_string())?;
/// assert_eq!(signed.signer()?, signed.message().account);
/// assert_eq!(signed.digest().to_string(), vector["digest"].as_str().unwrap());
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<M> {
    typed_data: TypedData<M>,
    signature: Signature,
}

impl<M: Message> Signed<M> {
    /// Joins typed data and a signature. [`Self::signer`] judges whether they belong together.
    #[must_use]
    pub const fn new(typed_data: TypedData<M>, signature: Signature) -> Self {
        Self {
            typed_data,
            signature,
        }
    }

    /// Reads `{"typed_data": {…}, "signature": "0x…"}`.
    ///
    /// # Errors
    /// Those of [`TypedData::parse`] and [`Signature::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Self::of_value(json::parse(Rule::TypedDataMalformed, text)?)
    }

    pub(crate) fn of_value(value: Value) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            typed_data: Value,
            signature: String,
        }
        json::require_object(Rule::TypedDataMalformed, "a signed file", &value)?;
        let file: File = json::read(
            Rule::TypedDataMalformed,
            "a file of typed_data and signature",
            value,
        )?;
        Ok(Self {
            typed_data: TypedData::of_value(file.typed_data)?,
            signature: Signature::parse(&file.signature)?,
        })
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({"typed_data": self.typed_data.to_value(), "signature": self.signature})
    }

    /// The signed typed data.
    #[must_use]
    pub const fn typed_data(&self) -> &TypedData<M> {
        &self.typed_data
    }

    /// The message.
    #[must_use]
    pub const fn message(&self) -> &M {
        self.typed_data.message()
    }

    /// The signature.
    #[must_use]
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The signed digest.
    #[must_use]
    pub fn digest(&self) -> B256 {
        self.typed_data.digest()
    }

    /// The signer.
    ///
    /// # Errors
    /// `signature_unrecoverable`
    pub fn signer(&self) -> Result<Address, Refusal> {
        self.signature.recover(self.digest())
    }

    /// Checks that the signer is the expected one.
    pub(crate) fn require_signer(
        &self,
        rule: Rule,
        message: &'static str,
        expected: Address,
    ) -> Result<(), Refusal> {
        crate::refusal::same(rule, message, expected, self.signer()?)
    }
}
