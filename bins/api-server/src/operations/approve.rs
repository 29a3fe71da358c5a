//! `GET /approve`: the calldata of a token approval for the reviewed spender of the home chain.

use data_sources::okx::Okx;
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method, Object, Origin, Unavailable};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::reviewed::Unreviewed;

const FRESH_SECONDS: u64 = 3600;

pub(super) async fn answer(
    context: &Context,
    okx: &Okx,
    unreviewed: &Unreviewed,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let token = call.parameters.address("token").unwrap_or_default();
    let amount = call.parameters.uint("amount").unwrap_or_default();
    let found = okx
        .approval(token, amount)
        .await
        .inspect_err(|error| unreviewed.note(error, context.now()))
        .map_err(|error| fault::reply(&error))?;
    let source = found.source();
    let approval = found.value;
    let mut unavailable = Vec::new();
    if approval.gas_limit.is_none() {
        unavailable.push(Unavailable {
            field: "data.gas_limit".to_owned(),
            reason: "not_named_by_source".to_owned(),
            source,
        });
    }
    if approval.needs_reset.is_none() {
        unavailable.push(Unavailable {
            field: "data.needs_reset".to_owned(),
            reason: "not_known_for_token".to_owned(),
            source,
        });
    }
    Ok(Answered {
        data: Object::from(json!({
            "to": approval.to.to_string(),
            "data": approval.data.to_string(),
            "value": "0",
            "spender": approval.spender.to_string(),
            "amount": approval.amount.to_string(),
            "chain_id": approval.chain_id,
            "gas_limit": approval.gas_limit.map(|gas| gas.to_string()),
            "decoded": {
                "function": "approve(address,uint256)",
                "args": {
                    "spender": approval.spender.to_string(),
                    "amount": approval.amount.to_string(),
                },
            },
            "needs_reset": approval.needs_reset,
            "reviewed_version": approval.reviewed_version,
        })),
        origins: vec![Origin::new("data", source, Method::Derived)],
        sources: found.sources,
        unavailable,
        as_of: Some(context.now()),
        fresh_seconds: FRESH_SECONDS,
        none: &[],
        ..Answered::default()
    })
}
