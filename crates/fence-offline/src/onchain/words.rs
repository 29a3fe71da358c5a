//! The meaning of delegations, in words, for the person who is about to sign them.

use std::fmt::Write as _;

use alloy_primitives::U256;
use delegation_fence::{
    Policy,
    onchain::{ChainTerms, Delegation, Level, Purpose},
};

use crate::Printable;

/// The permission of each delegation, the rules that the chain enforces and those that it does not,
/// and the hashes that a hardware wallet shows.
#[must_use]
pub fn of_delegations(terms: &ChainTerms<'_>, delegations: &[(Purpose, Delegation)]) -> String {
    let grant = terms.grant.message();
    let most = amount(terms.policy, terms.most_on_chain());
    let mut words = format!(
        "\nOn the chain, for ever within the grant's time, or until you disable them (fence-cli onchain disable):\n\n\
         redeemed by       the holder of the key of {}, a key of the service\n",
        terms.redeemer
    );
    // Writing to a string cannot fail.
    let _ = match terms.level {
        Level::Stock => writeln!(
            words,
            "held by           MetaMask's enforcers (experimental): one approval of at most {most}, for {} only; calls of that\n\
             \u{20}                 contract that pay this account; no native coin; until the end of the grant\n\
             NOT held          the cap of {} and everything below: these are the service's own promise\n\
             \u{20}                 - what you allowed that contract before, of this token or another: all of it can be spent.\n\
             \u{20}                   Clear such allowances first.\n\
             \u{20}                 - the least output: a swap can be made to bring nothing\n\
             \u{20}                 - orders, and the number of swaps: the redeemer needs no other party",
            terms.policy.router(),
            amount(terms.policy, grant.per_swap_cap),
        ),
        Level::Enforcer(enforcer) => writeln!(
            words,
            "held by           {enforcer}, the project's own enforcer. It is NOT AUDITED: compare its code with its source.\n\
             \u{20}                 One swap of at most {most} for each order that {} signed, once, until its deadline:\n\
             \u{20}                 this token only, through {} only, paid to this account, with the\n\
             \u{20}                 order's least output, and no allowance left\n\
             NOT held          whether the order's least output is a good price; how many orders are signed; limits",
            grant.delegate,
            terms.policy.router(),
        ),
    };
    let _ = writeln!(
        words,
        "number            {} (delegations count until the account counts it up)\n\nA hardware wallet shows, for each:\n\
         domain hash       {}",
        terms.nonce,
        Delegation::domain_hash(grant.chain_id),
    );
    for (purpose, delegation) in delegations {
        let what = match purpose {
            Purpose::Approve => "approves the contract",
            Purpose::Call => "calls the contract",
            Purpose::Swap => "swaps by order",
            Purpose::Clear => "takes its allowance away; a day longer than the grant",
        };
        let _ = writeln!(words, "message hash      {} ({what})", delegation.hash());
    }
    words
}

fn amount(policy: &Policy, atoms: U256) -> String {
    format!(
        "{} {}",
        exact::format_units(atoms, policy.input_decimals()),
        Printable(policy.input_symbol())
    )
}
