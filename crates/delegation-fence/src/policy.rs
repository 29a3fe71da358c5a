//! The policy: the versioned rules that every delegated plan lies inside.
//!
//! The module reads the document and answers questions about it. [`admit`](crate::admit) enforces
//! the rules on plans.

mod difference;
mod document;
mod lint;
mod reviewed;

use alloy_primitives::{Address, B256, Selector, U256};

use self::document::Document;
pub use self::{
    difference::{Change, differences},
    lint::Advice,
};
use crate::{Name, Refusal, Rule, json, refusal::same};

/// A parsed policy with its digest. This crate enforces every member of the document. A document
/// with another rule is refused, so that nobody relies on an unchecked rule.
///
/// # Example
/// ```
/// use delegation_fence::Policy;
///
/// let text = include_str!("../../../fixtures/vectors/delegation.json");
/// let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// let vector = &vectors["rules_document"];
///
/// let policy = Policy::parse(&vector["document"].to_string())?;
/// assert_eq!(policy.name().as_str(), "svc-base-swap-fence.v3");
/// assert_eq!(policy.canonical(), vector["jcs_utf8"].as_str().unwrap());
/// assert_eq!(policy.digest().to_string(), vector["keccak256"].as_str().unwrap());
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    document: Document,
    name: Name,
    chain_id: u64,
    canonical: String,
    digest: B256,
}

/// One function of the router that a plan may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The fee model, `B`.
    pub model: String,
    /// The selector.
    pub selector: Selector,
    /// The function's signature, whose hash the selector is.
    pub signature: String,
}

/// A token that a swap may end in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputToken {
    /// The token, on the policy's chain.
    pub address: Address,
    /// Its symbol, for people.
    pub symbol: String,
    /// Where its address was read, for people.
    pub source: String,
}

impl Policy {
    /// Reads a policy document. Members may have any order and white space. All of these spellings
    /// have one digest, and no other spelling is read.
    ///
    /// # Errors
    /// `policy_malformed` for another form, `policy_unenforceable` for a rule that this crate does
    /// not enforce.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let rule = Rule::PolicyMalformed;
        let value = json::parse(rule, text)?;
        let given = json::canonical(rule, &value)?;
        let document: Document = json::read(rule, "a policy", value)?;
        let canonical = json::canonical(rule, &document)?;
        // A member that reads like another spelling (`null` for a missing member) would give the
        // policy a second digest.
        if canonical != given {
            return Err(Refusal::new(
                rule,
                "a member is missing or has another form than in policies",
                "every member of a policy",
                "another document",
            ));
        }
        let chain_id = document.require_enforceable()?;
        let name = Name::new(&format!("{}.v{}", document.name, document.version))
            .map_err(|refusal| Refusal { rule, ..refusal })?;
        let digest = alloy_primitives::keccak256(&canonical);
        let canonical = String::from_utf8(canonical)
            .map_err(|error| Refusal::new(rule, "not UTF-8", "UTF-8", error))?;
        Ok(Self {
            document,
            name,
            chain_id,
            canonical,
            digest,
        })
    }

    /// The versioned name: `<name>.v<version>`.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The name without its version. Versions of one name follow each other.
    #[must_use]
    pub fn base_name(&self) -> &str {
        &self.document.name
    }

    /// The version in the name.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.document.version
    }

    /// keccak-256 over [`Self::canonical`].
    #[must_use]
    pub const fn digest(&self) -> B256 {
        self.digest
    }

    /// The RFC 8785 text of the document.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Checks that the name and the digest are the pinned ones of the service or the tool.
    ///
    /// # Errors
    /// `fence_name_mismatch`, `fence_digest_mismatch`
    pub fn require_pinned(&self, name: &Name, digest: B256) -> Result<(), Refusal> {
        same(
            Rule::FenceNameMismatch,
            "the policy has another name than the pinned one",
            name,
            &self.name,
        )?;
        same(
            Rule::FenceDigestMismatch,
            "the policy has other rules than the pinned one",
            digest,
            self.digest,
        )
    }

    /// The chain.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The input token.
    #[must_use]
    pub fn input_token(&self) -> Address {
        self.document.input_token.address.address()
    }

    /// The input token's decimals.
    #[must_use]
    pub const fn input_decimals(&self) -> u8 {
        self.document.input_token.decimals
    }

    /// The input token's symbol, for people.
    #[must_use]
    pub fn input_symbol(&self) -> &str {
        &self.document.input_token.symbol
    }

    /// The one contract that may be approved and called.
    #[must_use]
    pub fn router(&self) -> Address {
        self.document.router.address()
    }

    /// The most that one swap takes, fees included, in the input token's smallest unit; inclusive.
    #[must_use]
    pub const fn per_swap_cap(&self) -> U256 {
        self.document.per_swap_cap.max.0
    }

    /// The published cap, in whole US dollars.
    #[must_use]
    pub const fn per_swap_cap_usd(&self) -> U256 {
        self.document.per_swap_cap.usd.0
    }

    /// The functions of the router that a plan may call.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        self.document.shapes()
    }

    /// Whether a plan may call this function of the router.
    #[must_use]
    pub fn has_shape(&self, selector: Selector) -> bool {
        self.document
            .shapes
            .iter()
            .any(|shape| shape.selector.0 == selector)
    }

    /// The tokens that a swap may end in. Empty for a policy that names none: no swap lies inside
    /// such a policy, and no server starts with it.
    #[must_use]
    pub fn output_tokens(&self) -> Vec<OutputToken> {
        self.document.output_tokens()
    }

    /// The default life of a grant, in seconds.
    #[must_use]
    pub const fn default_grant_seconds(&self) -> u64 {
        self.document.grant.default_days * DAY
    }

    /// The longest life of a grant, in seconds.
    #[must_use]
    pub const fn max_grant_seconds(&self) -> u64 {
        self.document.grant.max_days * DAY
    }

    /// The capability that a grant under this policy permits.
    #[must_use]
    pub const fn capability(&self) -> &Name {
        &self.document.capability
    }

    /// The version of the fee configuration that plans are built and verified with.
    #[must_use]
    pub fn fee_config_version(&self) -> &str {
        &self.document.fee_config_version
    }

    /// The integrator that plans carry, where the policy names it.
    #[must_use]
    pub fn integrator(&self) -> Option<&str> {
        self.document.integrator.as_deref()
    }

    /// Advice for its author. None of it is an error.
    ///
    /// # Example
    /// ```
    /// # let text = include_str!("../../../fixtures/vectors/delegation.json");
    /// # let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    /// # let document = vectors["rules_document"]["document"].to_string();
    /// let policy = delegation_fence::Policy::parse(&document)?;
    /// let codes: Vec<_> = policy.lint().iter().map(|advice| advice.code).collect();
    /// assert_eq!(
    ///     codes,
    ///     ["shape_without_fee_leg", "integrator_not_named", "output_tokens_not_named"]
    /// );
    /// # Ok::<(), delegation_fence::Refusal>(())
    /// ```
    #[must_use]
    pub fn lint(&self) -> Vec<Advice> {
        lint::lint(self)
    }
}

/// A day in seconds.
const DAY: u64 = 86_400;
