//! The limits of one account's records.

use crate::{Refusal, Rule};

/// The most days that a grant may live, whatever the policy says.
pub const MOST_GRANT_DAYS: u64 = 180;

/// Most live grants of an account: received, not revoked, and not older than a grant may live.
pub const MOST_GRANTS: u64 = 64;

/// Most revocations of an account for grants that were never received.
pub const MOST_TOMBSTONES: u64 = 256;

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
        "the account has revoked too many grants that never came; revoke all grants at once with the grant id of 32 zero bytes",
        format_args!("at most {MOST_TOMBSTONES}"),
        format_args!("{kept} before it"),
    ))
}
