//! The checks of the hashed parts: the builder fee, the bytes, the digests and the expiry.

use super::{PerpOrderFacts, hash, msgpack};
use crate::{Observed, Verdict, Violation, commitment::MAX_LIFE_SECONDS};

/// The venue's cap of a builder fee on perpetuals, in tenths of a basis point (0.1 %).
pub const MAX_BUILDER_FEE: u16 = 100;
/// The most that an account can have approved for a builder, in tenths of a basis point (1 %, the
/// venue's cap outside perpetuals). The bound also keeps the number exact in canonical JSON (RFC
/// 8785), whose numbers are doubles: beyond 2^53 two readings would have one digest.
pub const MAX_APPROVED_BUILDER_FEE: u64 = 1000;
/// The formula in a recipe.
pub const CONNECTION_ID_FORMULA: &str = "keccak256(action_msgpack || u64be(nonce) || vault_flag [|| vault20] [|| 00 || u64be(expires_after)])";
/// The primary type in a recipe.
pub const PRIMARY_TYPE: &str = "Agent";
/// The members of the domain's type: name and type. A wallet that is not given them signs for the
/// empty domain (`eth_signTypedData_v4`).
pub const DOMAIN_TYPE: [(&str, &str); 4] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
];
/// The members of the primary type: name and type.
pub const AGENT_TYPE: [(&str, &str); 2] = [("source", "string"), ("connectionId", "bytes32")];
/// The placeholder of the connection id in a recipe's message.
pub const COMPUTED: &str = "<computed>";

pub(super) fn builder_fee(facts: &PerpOrderFacts) -> Verdict {
    let approved = facts.plan.venue.approved_builder_fee;
    let (Some(policy), Some(builder)) = (facts.builder, facts.action.builder) else {
        return match (facts.builder, facts.action.builder, approved) {
            (None, None, None) => Ok(Observed::fixed("no builder")),
            (None, None, Some(_)) => Err(Violation::new(
                "a builder approval is disclosed without a builder",
                "none",
                "an approval",
            )),
            (policy, action, _) => {
                let text = |present| if present { "a builder" } else { "no builder" };
                Err(Violation::new(
                    "the builder is not as configured",
                    text(policy.is_some()),
                    text(action.is_some()),
                ))
            }
        };
    };
    if builder.address != policy.address {
        return Err(Violation::new(
            "another builder",
            policy.address,
            builder.address,
        ));
    }
    let fee = u32::from(policy.fee_tenth_bps);
    if builder.fee_tenth_bps != fee {
        return Err(Violation::new(
            "another builder fee",
            fee,
            builder.fee_tenth_bps,
        ));
    }
    if policy.fee_tenth_bps > MAX_BUILDER_FEE {
        return Err(Violation::new(
            "the builder fee is above the venue's cap",
            format_args!("at most {MAX_BUILDER_FEE} tenths of a basis point"),
            fee,
        ));
    }
    if let Some(above) = approved.filter(|approved| *approved > MAX_APPROVED_BUILDER_FEE) {
        return Err(Violation::new(
            "the approval of the builder fee is above what an account can approve",
            format_args!("at most {MAX_APPROVED_BUILDER_FEE} tenths of a basis point"),
            above,
        ));
    }
    if approved.is_none_or(|approved| approved < u64::from(fee)) {
        return Err(Violation::new(
            "the account has not approved the builder fee",
            format_args!("an approval of at least {fee} tenths of a basis point"),
            approved.unwrap_or(0),
        ));
    }
    Ok(
        Observed::from(format!("{fee} tenths of a basis point, approved"))
            .by_readings("the account's approval at the venue"),
    )
}

pub(super) fn canonical(facts: &PerpOrderFacts) -> Verdict {
    if msgpack::encode(&facts.decoded).as_deref() != Some(facts.plan.action_msgpack.as_ref()) {
        return Err(Violation::new(
            "action_msgpack encodes again to other bytes",
            "the same bytes",
            "other bytes",
        ));
    }
    if facts.plan.action != facts.decoded {
        return Err(Violation::new(
            "the JSON action says something else than action_msgpack",
            "the same action",
            first_difference(facts),
        ));
    }
    Ok(Observed::from(format!(
        "{} bytes",
        facts.plan.action_msgpack.len()
    )))
}

pub(super) fn hash(facts: &PerpOrderFacts) -> Verdict {
    let (recipe, example) = (&facts.plan.recipe, facts.plan.example);
    let template =
        hash::preimage_suffix_template(recipe.vault_address, recipe.expires_after.is_some());
    for (what, expected, observed) in [
        (
            "the recipe has another formula",
            CONNECTION_ID_FORMULA,
            &recipe.connection_id,
        ),
        (
            "the recipe has another preimage",
            &template,
            &recipe.preimage_suffix_template,
        ),
        (
            "the recipe has another primary type",
            PRIMARY_TYPE,
            &recipe.primary_type,
        ),
        (
            "the recipe fixes a connection id",
            COMPUTED,
            &recipe.message_connection_id,
        ),
    ] {
        if observed != expected {
            return Err(Violation::new(what, expected, observed));
        }
    }
    if !is_type(&recipe.agent_type, &AGENT_TYPE) {
        return Err(Violation::new(
            "the recipe has another message type",
            "Agent(string source,bytes32 connectionId)",
            format_args!("{:?}", recipe.agent_type),
        ));
    }
    if !is_type(&recipe.domain_type, &DOMAIN_TYPE) {
        return Err(Violation::new(
            "the recipe has another domain type",
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
            format_args!("{:?}", recipe.domain_type),
        ));
    }
    let (vault, expires_after) = (recipe.vault_address, recipe.expires_after);
    let connection_id = hash::connection_id(
        &facts.plan.action_msgpack,
        example.nonce,
        vault,
        expires_after,
    );
    if example.connection_id != connection_id {
        return Err(Violation::new(
            "the example's connection id is not that of its action",
            connection_id,
            example.connection_id,
        ));
    }
    let digest = hash::agent_digest(&recipe.source, connection_id);
    if example.eip712_digest != digest {
        return Err(Violation::new(
            "the example's digest is not that of its connection id",
            digest,
            example.eip712_digest,
        ));
    }
    // A nonce far ahead would block the account's later orders: it would leave the venue's window.
    let last = facts.commitment.valid_until.unix_millis();
    let first = last.saturating_sub((MAX_LIFE_SECONDS + 1) * 1000);
    if !(first..=last).contains(&example.nonce) {
        return Err(Violation::new(
            "the example's nonce is not a time within the plan's life",
            format_args!("{first} to {last}"),
            example.nonce,
        ));
    }
    Ok(Observed::from(format!(
        "digest recomputed for nonce {}",
        example.nonce
    )))
}

pub(super) fn expiry(facts: &PerpOrderFacts) -> Verdict {
    // The checks of formula and example have established that the expiry is inside the hash.
    let expected = facts.commitment.valid_until.unix_millis();
    match facts.plan.recipe.expires_after {
        Some(expires_after) if expires_after == expected => {
            Ok(Observed::from(format!("expiresAfter {expected}")))
        }
        observed => Err(Violation::new(
            "the venue would take the order at another time than valid_until",
            expected,
            observed.map_or_else(|| "none".to_owned(), |at| at.to_string()),
        )),
    }
}

/// Whether a recipe's struct type has exactly these members.
fn is_type(members: &[(String, String)], expected: &[(&str, &str)]) -> bool {
    let members = members.iter();
    members
        .map(|(name, kind)| (name.as_str(), kind.as_str()))
        .eq(expected.iter().copied())
}

fn first_difference(facts: &PerpOrderFacts) -> &'static str {
    let (json, bytes) = (&facts.plan.action, &facts.decoded);
    if json.kind != bytes.kind {
        "another type"
    } else if json.orders.len() != bytes.orders.len() {
        "another number of orders"
    } else if json.orders != bytes.orders {
        "another order"
    } else if json.grouping != bytes.grouping {
        "another grouping"
    } else {
        "another builder"
    }
}
