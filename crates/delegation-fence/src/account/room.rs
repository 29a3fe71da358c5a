//! The limits of one account's records.

use crate::{Refusal, Rule};

/// The most days that a grant may live, whatever the policy says.
pub const MOST_GRANT_DAYS: u64 = 180;

/// Most live grants of an account: received, not revoked, and not older than a grant may live.
pub const MOST_GRANTS: u64 = 64;

/// Most revocations of an account for grants that were never received.
pub const MOST_TOMBSTONES: u64 = 256;

/// How long a revocation of a grant that was never received is kept after its arrival, in seconds:
/// the longest life of a grant, and ten minutes for clocks. A grant that was issued before the
/// revocation is over by then.
pub const TOMBSTONE_SECONDS: u64 = MOST_GRANT_DAYS * 86_400 + 600;

/// Checks that there is room for another grant beside so many live ones.
///
/// # Errors
/// `too_many_grants`
///
/// # Example
/// ```
/// use delegation_fence::{MOST_GRANTS, Rule, require_room_for_grant};
///
/// assert!(require_room_for_grant(MOST_GRANTS - 1).is_ok());
/// assert_eq!(require_room_for_grant(MOST_GRANTS).unwrap_err().rule, Rule::TooManyGrants);
/// ```
pub fn require_room_for_grant(live: u64) -> Result<(), Refusal> {
    if live < MOST_GRANTS {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::TooManyGrants,
        "the account has too many live grants; revoke those that are not needed, or all of them with the grant id of 32 zero bytes",
        format_args!("at most {MOST_GRANTS}"),
        format_args!("{live} before it"),
    ))
}

/// Checks that there is room for another revocation of a grant that was never received, beside so
/// many. A received grant can always be revoked, and so can all grants at once.
///
/// # Errors
/// `too_many_revocations`
pub fn require_room_for_tombstone(kept: u64) -> Result<(), Refusal> {
    if kept < MOST_TOMBSTONES {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::TooManyRevocations,
        "nothing is revoked: the account has revoked too many grants that never came; revoke all grants at once with the grant id of 32 zero bytes",
        format_args!("at most {MOST_TOMBSTONES}"),
        format_args!("{kept} before it"),
    ))
}

/// Checks that there is room for another revocation, beside so many, of accounts that a service
/// does not know: those without a grant and without a wallet, in `whose`.
///
/// # Errors
/// `revocations_full`
///
/// # Example
/// ```
/// use delegation_fence::require_room_for_stranger;
///
/// assert!(require_room_for_stranger("unknown accounts", 999, 1000).is_ok());
/// let refusal = require_room_for_stranger("unknown accounts", 1000, 1000).unwrap_err();
/// assert_eq!(refusal.code(), "revocations_full");
/// assert!(refusal.message.starts_with("nothing is revoked: "));
/// ```
pub fn require_room_for_stranger(whose: &'static str, kept: u64, most: u64) -> Result<(), Refusal> {
    if kept < most {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::RevocationsFull,
        "nothing is revoked: the service has no room for another revocation of an account without a grant and a wallet; revoke again later, or as soon as the service has received the grant, whose revocation is never refused",
        format_args!("fewer than {most} revocations of {whose}"),
        kept,
    ))
}
