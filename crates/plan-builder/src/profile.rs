//! `accountProfile`: the account that a plan is for. Every constructor takes it.

use alloy_primitives::Address;
use serde::Serialize;

use crate::{
    AccountKind,
    arguments::{Argument, Object, Outcome, Property, Reader},
};

static KIND: Argument<&'static str> = Argument::choice(
    "kind",
    "eoa: an externally owned account; safe: a Safe-type contract account",
    AccountKind::WORDS,
);
static ADDRESS: Argument<Address> = Argument::address(
    "address",
    "the caller's own account; the plan is bound to it",
);
static CHAIN_ID: Argument<u64> = Argument::integer(
    "chainId",
    "the chain on which the account signs",
    1,
    u64::MAX >> 11,
);

/// The object in which the chain id is required.
pub(crate) static PROFILE: Object = Object {
    name: "accountProfile",
    description: "the account that the plan is bound to",
    properties: &[
        Property::required(&KIND),
        Property::required(&ADDRESS),
        Property::required(&CHAIN_ID),
    ],
};

/// The object in which the rail fixes the chain id.
pub(crate) static PROFILE_WITHOUT_CHAIN: Object = Object {
    name: "accountProfile",
    description: "the account that the plan is bound to",
    properties: &[
        Property::required(&KIND),
        Property::required(&ADDRESS),
        Property::optional(&CHAIN_ID),
    ],
};

/// The account that a plan is for, in normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountProfile {
    /// The address.
    pub address: Address,
    /// The chain on which the account signs.
    pub chain_id: u64,
    /// The kind of account.
    pub kind: AccountKind,
}

impl AccountProfile {
    /// Creates the profile of an account with a key.
    #[must_use]
    pub const fn eoa(address: Address, chain_id: u64) -> Self {
        Self {
            address,
            chain_id,
            kind: AccountKind::Eoa,
        }
    }

    /// Creates the profile of a Safe-type contract account.
    #[must_use]
    pub const fn safe(address: Address, chain_id: u64) -> Self {
        Self {
            address,
            chain_id,
            kind: AccountKind::Safe,
        }
    }

    /// Reads the member `accountProfile`. A missing chain id becomes `default_chain_id`, if there
    /// is one.
    pub(crate) fn read(
        reader: &Reader<'_>,
        object: &'static Object,
        default_chain_id: Option<u64>,
    ) -> Option<Self> {
        let profile = reader.object(object)?;
        let kind = profile.required(&KIND);
        let address = profile.required(&ADDRESS);
        let chain_id = match default_chain_id {
            Some(default) => profile
                .optional(&CHAIN_ID)
                .map(|given| given.unwrap_or(default)),
            None => profile.required(&CHAIN_ID),
        };
        Some(Self {
            address: address?,
            chain_id: chain_id?,
            kind: AccountKind::from_word(kind?),
        })
    }
}

/// Notes a problem when an account that is not a Safe wants a Safe batch. A Safe that imports the
/// batch would spend its own tokens.
pub(crate) fn refuse_safe_batch(
    reader: &Reader<'_>,
    outcome: &Outcome,
    profile: Option<AccountProfile>,
    exports: Option<&Option<Vec<&'static str>>>,
) {
    let batch = exports
        .and_then(Option::as_ref)
        .is_some_and(|words| words.contains(&"safe_tx_builder"));
    if batch && profile.is_some_and(|profile| profile.kind == AccountKind::Eoa) {
        outcome.note(
            &reader.path_of("exports"),
            "safe_tx_builder only for accountProfile.kind safe",
            "safe_tx_builder for an eoa",
        );
    }
}

/// Reads an arguments object by one function. The function must return `None` when it noted a
/// problem.
pub(crate) fn read_arguments<T>(
    arguments: &serde_json::Value,
    properties: &'static [Property],
    read: impl FnOnce(&Reader<'_>, &Outcome) -> Option<T>,
) -> Result<T, crate::Refusal> {
    let outcome = Outcome::default();
    let value =
        Reader::over(arguments, properties, &outcome).and_then(|reader| read(&reader, &outcome));
    outcome.finish(value)
}
