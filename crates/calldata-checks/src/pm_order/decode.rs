//! Decodes typed members to one order, or refuses with the name of the check that a member belongs
//! to.
//!
//! The typed data, the order in the clients' form and the post body contain the same order three
//! times; the caller signs the first and posts the last. The module decodes each of them and
//! requires them to agree.

use alloy_primitives::{Address, B256, U256};

use super::{
    AMOUNTS, BUILDER, DOMAIN, MAKER, NEG_RISK, ORDER_HASH, ORDER_TYPE, Order, SIDE, Side, TOKEN,
    member::{address, exact, number, shown, word},
    text::{Member, RestOrder, TypedData, TypedOrder},
    typed_data::{DOMAIN_MEMBERS, Domain, ORDER_MEMBERS, type_string},
};
use crate::{Failure, Violation};

/// The decoded members of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedOrder {
    /// The signing domain.
    pub domain: Domain,
    /// The order: the same in the typed data, in the clients' form and in the post body.
    pub order: Order,
    /// The announced order hash.
    pub order_hash: B256,
    /// `postOnly` of the post body.
    pub post_only: bool,
    /// The approval that the plan names as a prerequisite.
    pub approval: DecodedApproval,
}

/// A decoded prerequisite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedApproval {
    /// The token contract.
    pub contract: Address,
    /// The side whose orders need the called function.
    pub side: Side,
    /// The contract that may move the tokens.
    pub spender: Address,
    /// The most that the spender may move, in the smallest unit.
    pub amount: U256,
}

impl DecodedOrder {
    /// Decodes the members of a plan.
    ///
    /// # Errors
    /// The check that the first malformed or disagreeing member belongs to.
    pub fn decode(plan: &TypedOrder<'_>) -> Result<Self, Failure> {
        let (domain, order) = typed_data(&plan.typed_data)?;
        agree("order", &plan.order, &order)?;
        let post = &plan.post;
        agree("post body", &post.order, &order)?;
        exact(ORDER_TYPE, "the method", "POST", post.method)?;
        exact(ORDER_TYPE, "the path", "/order", post.path)?;
        exact(ORDER_TYPE, "orderType", "GTC", post.order_type)?;
        if post.defer_exec {
            let violation = Violation::new("deferExec of the post body is set", false, true);
            return Err(Failure::new(ORDER_TYPE, violation));
        }
        let approval = &plan.approval;
        let side = Side::ALL
            .into_iter()
            .find(|side| side.approval().function == approval.function)
            .ok_or_else(|| {
                let known = Side::ALL.map(|side| side.approval().function).join(" or ");
                let message = "the approval is by an unknown function";
                let violation = Violation::new(message, known, shown(approval.function));
                Failure::new(SIDE, violation)
            })?;
        Ok(Self {
            order_hash: word(ORDER_HASH, "order_hash", plan.order_hash)?,
            post_only: post.post_only,
            approval: DecodedApproval {
                contract: address(SIDE, "the approval's contract", approval.contract)?,
                side,
                spender: address(NEG_RISK, "the approval's spender", approval.spender)?,
                amount: number(AMOUNTS, "the approval's amount", approval.amount)?,
            },
            domain,
            order,
        })
    }
}

fn typed_data(data: &TypedData<'_>) -> Result<(Domain, Order), Failure> {
    members_exact(
        DOMAIN,
        "EIP712Domain",
        &DOMAIN_MEMBERS,
        &data.domain_members,
    )?;
    members_exact(ORDER_HASH, "Order", &ORDER_MEMBERS, &data.order_members)?;
    exact(ORDER_HASH, "primaryType", "Order", data.primary_type)?;
    let contract = data.domain.verifying_contract;
    let domain = Domain {
        name: data.domain.name.to_owned(),
        version: data.domain.version.to_owned(),
        chain_id: data.domain.chain_id,
        verifying_contract: address(DOMAIN, "verifyingContract", contract)?,
    };
    let message = &data.message;
    let side = Side::from_number(message.side).ok_or_else(|| {
        let violation = Violation::new(
            "side of the typed data is neither buy nor sell",
            "0 or 1",
            message.side,
        );
        Failure::new(SIDE, violation)
    })?;
    let order = Order {
        salt: number(ORDER_HASH, "salt", message.salt)?,
        maker: address(MAKER, "maker", message.maker)?,
        signer: address(MAKER, "signer", message.signer)?,
        token_id: number(TOKEN, "tokenId", message.token_id)?,
        maker_amount: number(AMOUNTS, "makerAmount", message.maker_amount)?,
        taker_amount: number(AMOUNTS, "takerAmount", message.taker_amount)?,
        side,
        signature_type: signature_type(message.signature_type)?,
        timestamp: number(ORDER_HASH, "timestamp", message.timestamp)?,
        metadata: word(BUILDER, "metadata", message.metadata)?,
        builder: word(BUILDER, "builder", message.builder)?,
    };
    Ok((domain, order))
}

/// Checks that the order in the REST form at `place` is the signed one, and never expires.
fn agree(place: &'static str, rest: &RestOrder<'_>, signed: &Order) -> Result<(), Failure> {
    let side = Side::from_text(rest.side).ok_or_else(|| {
        let message = format!("side of the {place} is neither BUY nor SELL");
        Failure::new(
            SIDE,
            Violation::new(message, "BUY or SELL", shown(rest.side)),
        )
    })?;
    let order = Order {
        salt: number(ORDER_HASH, "salt", rest.salt)?,
        maker: address(MAKER, "maker", rest.maker)?,
        signer: address(MAKER, "signer", rest.signer)?,
        token_id: number(TOKEN, "tokenId", rest.token_id)?,
        maker_amount: number(AMOUNTS, "makerAmount", rest.maker_amount)?,
        taker_amount: number(AMOUNTS, "takerAmount", rest.taker_amount)?,
        side,
        signature_type: signature_type(rest.signature_type)?,
        timestamp: number(ORDER_HASH, "timestamp", rest.timestamp)?,
        metadata: word(BUILDER, "metadata", rest.metadata)?,
        builder: word(BUILDER, "builder", rest.builder)?,
    };
    exact(ORDER_TYPE, "expiration", "0", rest.expiration)?;
    if order == *signed {
        return Ok(());
    }
    for (check, member, text) in MEMBERS {
        let (expected, observed) = (text(signed), text(&order));
        if expected != observed {
            let message = format!("{member} of the {place} is not that of the typed data");
            return Err(Failure::new(
                check,
                Violation::new(message, expected, observed),
            ));
        }
    }
    Ok(())
}

/// A member of an order by name, with its check and its text.
type OrderMember = (&'static str, &'static str, fn(&Order) -> String);

const MEMBERS: [OrderMember; 11] = [
    (MAKER, "maker", |order| order.maker.to_string()),
    (MAKER, "signer", |order| order.signer.to_string()),
    (MAKER, "signatureType", |order| {
        order.signature_type.to_string()
    }),
    (TOKEN, "tokenId", |order| order.token_id.to_string()),
    (SIDE, "side", |order| order.side.as_str().to_owned()),
    (AMOUNTS, "makerAmount", |order| {
        order.maker_amount.to_string()
    }),
    (AMOUNTS, "takerAmount", |order| {
        order.taker_amount.to_string()
    }),
    (BUILDER, "metadata", |order| order.metadata.to_string()),
    (BUILDER, "builder", |order| order.builder.to_string()),
    (ORDER_HASH, "salt", |order| order.salt.to_string()),
    (ORDER_HASH, "timestamp", |order| order.timestamp.to_string()),
];

fn members_exact(
    check: &'static str,
    name: &str,
    expected: &[Member<'_>],
    observed: &[Member<'_>],
) -> Result<(), Failure> {
    if expected == observed {
        return Ok(());
    }
    let violation = Violation::new(
        "the typed data declares another struct",
        type_string(name, expected),
        shown(&type_string(name, observed)),
    );
    Err(Failure::new(check, violation))
}

fn signature_type(number: u64) -> Result<u8, Failure> {
    u8::try_from(number).map_err(|_| {
        let violation = Violation::new("signatureType is not a uint8", 0, number);
        Failure::new(MAKER, violation)
    })
}
