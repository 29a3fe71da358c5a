//! The paths of the attestation service, and the bodies of its answers.

use alloy_primitives::B256;
use serde_json::{Value, json};

use super::{IrisReply, State, burn::SLOW_DOMAINS};
use crate::cctp::DOMAINS;

/// The fees of forwarding to Ethereum and to the other domains, in atomic units of USDC.
const FORWARD_FEES: [[u64; 3]; 2] = [
    [2_303_729, 2_803_729, 3_503_729],
    [201_005, 211_005, 231_005],
];

pub(super) fn answer(state: &mut State, method: &str, path_and_query: &str) -> Option<IrisReply> {
    if let Some(failing) = state.failing.pop() {
        let error = json!({"code": failing, "message": "the service failed on request"});
        return Some(reply(failing, &error));
    }
    if method != "GET" {
        return None;
    }
    let (path, query) = path_and_query
        .split_once('?')
        .unwrap_or((path_and_query, ""));
    let mut parts = path.trim_start_matches('/').split('/');
    match (parts.next()?, parts.next()?, parts.next()?) {
        ("v2", "messages", domain) => Some(messages(state, domain.parse().ok()?, query)),
        ("v2", "burn", "USDC") if parts.next()? == "fees" => {
            let source = parts.next()?.parse().ok()?;
            let destination = parts.next()?.parse().ok()?;
            Some(fees(state, source, destination, query))
        }
        ("v2", "fastBurn", "USDC") if parts.next()? == "allowance" => Some(IrisReply {
            status: 200,
            body: r#"{"allowance":52455615.650179,"lastUpdated":"2026-11-21T01:02:00.000Z"}"#
                .to_owned(),
        }),
        _ => None,
    }
}

fn messages(state: &mut State, domain: u32, query: &str) -> IrisReply {
    let asked = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("transactionHash="))
        .and_then(|hash| hash.parse::<B256>().ok());
    let Some(transaction) = asked else {
        let error = json!({"code": 400, "message": "transactionHash or nonce is required"});
        return reply(400, &error);
    };
    let missing = || reply(404, &json!({"code": 404, "message": "Message not found"}));
    let burns = state.burns(domain, transaction);
    if burns.is_empty() {
        return missing();
    }
    let count = state.asked.entry((domain, transaction)).or_default();
    *count = count.saturating_add(1);
    let count = *count;
    if count <= state.missing {
        return missing();
    }
    let found: Option<Vec<Value>> = if count <= state.missing.saturating_add(state.pending) {
        Some(burns.iter().map(|burn| burn.pending()).collect())
    } else {
        let attested = burns.into_iter().map(|burn| burn.attested(state));
        attested.collect()
    };
    match found {
        Some(messages) => reply(200, &json!({ "messages": messages })),
        None => reply(500, &json!({"code": 500, "message": "cannot sign"})),
    }
}

fn fees(state: &State, source: u32, destination: u32, query: &str) -> IrisReply {
    let known = |domain| DOMAINS.iter().any(|(known, _)| *known == domain);
    if source == destination || !known(source) || !known(destination) {
        return reply(404, &json!({"code": 404, "message": "Route not found"}));
    }
    let fee = basis_points(state.fee_hundredths);
    let forward = match query.split('&').any(|pair| pair == "forward=true") {
        false => String::new(),
        true => {
            let [towards_ethereum, elsewhere] = FORWARD_FEES;
            let [low, med, high] = if destination == 0 {
                towards_ethereum
            } else {
                elsewhere
            };
            format!(r#","forwardFee":{{"low":{low},"med":{med},"high":{high}}}"#)
        }
    };
    let fast = match SLOW_DOMAINS.contains(&source) {
        true => String::new(),
        false => {
            format!(r#"{{"finalityThreshold":1000,"minimumFee":{fee}{forward}}},"#)
        }
    };
    let body = format!(r#"[{fast}{{"finalityThreshold":2000,"minimumFee":0{forward}}}]"#);
    IrisReply { status: 200, body }
}

/// A JSON number, built from its digits: 1.3 for 130.
fn basis_points(hundredths: u64) -> String {
    let (whole, part) = (hundredths / 100, hundredths % 100);
    match (part / 10, part % 10) {
        (0, 0) => whole.to_string(),
        (tenths, 0) => format!("{whole}.{tenths}"),
        _ => format!("{whole}.{part:02}"),
    }
}

fn reply(status: u16, body: &Value) -> IrisReply {
    let body = body.to_string();
    IrisReply { status, body }
}

#[cfg(test)]
mod tests {
    use super::basis_points;

    #[test]
    fn fees_have_no_digits_to_spare() {
        let written = [130, 205, 0, 1400, 7].map(basis_points);
        assert_eq!(written, ["1.3", "2.05", "0", "14", "0.07"]);
    }
}
