//! The meaning of a message, in words, for the person who is about to sign it.
//!
//! Every statement comes from the bytes that are signed. What a wallet or the service shows is not
//! read.

use std::fmt::Write as _;

use alloy_primitives::{Address, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::{AccountKind, Grant, Limit, Message, Order, Policy, Revocation, TypedData};
use serde_json::{Value, json};

use crate::{Printable, units};

/// Aligned lines of a label and a text.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{label:18}{text}");
    }
}

/// A grant. Amounts are in the token's own unit where `policy` is the policy of the grant.
pub fn of_grant(
    typed_data: &TypedData<Grant>,
    policy: Option<&Policy>,
    signer: Option<Address>,
) -> String {
    let grant = typed_data.message();
    let policy = policy.filter(|policy| policy.digest() == grant.rules_digest);
    let cap = in_token(policy, grant.per_swap_cap);
    let mut lines = Lines::default();
    lines
        .0
        .push_str("A permission to swap out of your account without asking you again\n\n");
    lines.add(
        "account",
        format_args!("{} ({})", grant.account, kind(grant.account_kind)),
    );
    lines.add("chain", units::chain(Some(grant.chain_id)));
    lines.add(
        "lost at most",
        format_args!("{cap} in one swap, fees included, if that swap has the worst of prices"),
    );
    lines.add(
        "",
        "in one day: everything of that token in the account. There is no daily and no total limit;",
    );
    lines.add(
        "",
        "swaps can follow each other. Keep in the account what you can lose.",
    );
    lines.add("until", until(grant));
    lines.add(
        "who may order",
        format_args!("the holder of the key of {}", grant.delegate),
    );
    may_end_in(&mut lines, policy);
    lines.add("output goes to", "the account itself, and nowhere else");
    lines.add(
        "how to end it",
        "fence-cli revoke now --grant FILE, at any time and for ever",
    );
    match policy {
        Some(policy) => {
            lines.add("through", format_args!("{} only", policy.router()));
            lines.add(
                "policy",
                format_args!("{} {}", grant.policy_name, grant.rules_digest),
            );
        }
        None => lines.add(
            "policy",
            format_args!(
                "{} {} (its document was not compared)",
                grant.policy_name, grant.rules_digest
            ),
        ),
    }
    lines.add("capability", &grant.capability);
    lines.add("project", &grant.project_id);
    lines.add("grant id", grant.grant_id);
    lines.add("issued at", time(grant.issued_at));
    if let Some(signer) = signer {
        lines.add("signed by", signer);
    }
    lines.0 + &screen(typed_data)
}

/// The tokens that a swap may end in.
fn may_end_in(lines: &mut Lines, policy: Option<&Policy>) {
    let Some(policy) = policy else {
        lines.add(
            "may end in",
            "the output_tokens of the policy (its document was not compared)",
        );
        return;
    };
    let tokens = policy.output_tokens();
    if tokens.is_empty() {
        lines.add("may end in", "no token: the policy lists none");
    }
    for (index, token) in tokens.iter().enumerate() {
        let label = if index == 0 { "may end in" } else { "" };
        let symbol = Printable(&token.symbol);
        lines.add(label, format_args!("{symbol} {}", token.address));
    }
}

/// The tokens that a swap may end in, as JSON.
pub(crate) fn output_tokens(policy: &Policy) -> Value {
    let tokens = policy.output_tokens();
    let each = tokens.iter().map(|token| {
        json!({"address": token.address.to_string(), "symbol": token.symbol, "source": token.source})
    });
    each.collect()
}

/// A revocation.
pub fn of_revocation(typed_data: &TypedData<Revocation>, signer: Option<Address>) -> String {
    let revocation = typed_data.message();
    let mut lines = Lines::default();
    lines.0.push_str("The end of a permission, for ever\n\n");
    lines.add("account", revocation.account);
    lines.add("chain", units::chain(Some(revocation.chain_id)));
    if revocation.is_of_all() {
        lines.add(
            "ends",
            format_args!(
                "every grant that was issued at or before {}",
                time(revocation.revoked_at)
            ),
        );
    } else {
        lines.add("ends", format_args!("the grant {}", revocation.grant_id));
        lines.add("revoked at", time(revocation.revoked_at));
    }
    lines.add("project", &revocation.project_id);
    if let Some(signer) = signer {
        lines.add("signed by", signer);
    }
    lines.0 + &screen(typed_data)
}

/// A limit. With a policy, amounts are in the token's own unit, together with the signed number: a
/// limit names no policy.
pub fn of_limit(
    typed_data: &TypedData<Limit>,
    policy: Option<&Policy>,
    signer: Option<Address>,
) -> String {
    const NONE: &str = "no limit of its own";
    let limit = typed_data.message();
    let amount = |atoms: U256| match policy {
        _ if atoms.is_zero() => NONE.to_owned(),
        Some(_) => format!("{} ({atoms} of the smallest unit)", in_token(policy, atoms)),
        None => in_token(None, atoms),
    };
    let swaps = match limit.max_swaps {
        0 => NONE.to_owned(),
        most => most.to_string(),
    };
    let mut lines = Lines::default();
    lines
        .0
        .push_str("A grant made tighter; nothing loosens it but a new grant\n\n");
    lines.add("account", limit.account);
    lines.add("grant id", limit.grant_id);
    lines.add("per swap", amount(limit.per_swap_cap));
    lines.add("swaps", swaps);
    lines.add("per 24 hours", amount(limit.outflow_24h));
    lines.add("issued at", time(limit.issued_at));
    if let Some(signer) = signer {
        lines.add("signed by", signer);
    }
    lines.0 + &screen(typed_data)
}

/// An order.
pub fn of_order(typed_data: &TypedData<Order>, signer: Option<Address>) -> String {
    let order = typed_data.message();
    let mut lines = Lines::default();
    lines.0.push_str("An order to send one plan, once\n\n");
    lines.add("account", order.account);
    lines.add("grant id", order.grant_id);
    lines.add("plan", order.payload_digest);
    lines.add("call", order.call_hash);
    lines.add(
        "gets at least",
        format_args!(
            "{} of the smallest unit of token {}",
            order.min_amount_out, order.output_token
        ),
    );
    lines.add("starts before", time(order.deadline));
    if let Some(signer) = signer {
        lines.add("signed by", signer);
    }
    lines.0 + &screen(typed_data)
}

/// The hashes that a hardware wallet shows, and the domain of the message.
fn screen<M: Message>(typed_data: &TypedData<M>) -> String {
    let domain = typed_data.domain();
    let mut lines = Lines::default();
    lines.add(
        "service",
        format_args!("{}, instance {}", Printable(domain.name()), domain.salt()),
    );
    lines.0.push_str("\nA hardware wallet shows:\n");
    lines.add("domain hash", typed_data.domain_hash());
    lines.add("message hash", typed_data.message_hash());
    lines.add("digest", typed_data.digest());
    lines.0
}

fn kind(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::SubWallet => "a sub-wallet whose key the service keeps; its owner signs",
        AccountKind::Eoa7702 => "your own account with delegation code; its own key signs",
        AccountKind::Eoa => "an account without code: the service refuses it",
        AccountKind::Safe => "a Safe: the service refuses it",
    }
}

fn until(grant: &Grant) -> String {
    let lives = grant.expires_at.saturating_sub(grant.issued_at);
    let begins = if grant.not_before > grant.issued_at {
        format!(", beginning at {}", time(grant.not_before))
    } else {
        String::new()
    };
    format!(
        "{} ({} from its issue){begins}",
        time(grant.expires_at),
        units::span(lives)
    )
}

/// An amount of the policy's input token.
#[must_use]
pub fn in_token(policy: Option<&Policy>, amount: U256) -> String {
    match policy {
        Some(policy) => format!(
            "{} {}",
            exact::format_units(amount, policy.input_decimals()),
            Printable(policy.input_symbol())
        ),
        None => format!("{amount} of the input token's smallest unit"),
    }
}

fn time(unix: u64) -> UtcSeconds {
    UtcSeconds::from_unix(unix)
}
