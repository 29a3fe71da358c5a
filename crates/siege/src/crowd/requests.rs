//! Attacks with requests: work that ends uncharged, and bytes that are no requests.

use bench::exchange::PAYMENT_SIGNATURE;
use http::{HeaderName, HeaderValue};

use super::CHEAP;
use super::payments::new_token;
use crate::SiegeError;
use crate::chance::Chance;
use crate::client::Request;
use crate::field::Attacker;

type Acted = Result<Attacker, SiegeError>;

/// Pays for fresh data about unknown subjects, so that upstreams work and nothing is charged.
pub(super) async fn new_symbols(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    let token = new_token(&mut attacker.chance);
    let symbol: String = token.chars().skip(2).take(6).collect();
    let targets = [
        format!("/price?token={token}&max_age=0"),
        format!("/token-details?symbol={symbol}&max_age=0"),
        format!("/token-search?query={symbol}&max_age=0"),
        format!("/token-security?chain=8453&address={token}&max_age=0"),
    ];
    let target = attacker.chance.pick(&targets).cloned().unwrap_or_default();
    if let Some(payment) = attacker.signed(wallet, &target).await? {
        attacker.pay(&payment, &target).await;
    }
    Ok(attacker)
}

/// Pays for the histories of new accounts. They are the most expensive calls of a venue that counts
/// calls by weight.
pub(super) async fn histories(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    let account = new_token(&mut attacker.chance);
    let target = format!("/hl-transaction-history?address={account}&limit=1&max_age=0");
    if let Some(payment) = attacker.signed(wallet, &target).await? {
        attacker.pay(&payment, &target).await;
    }
    Ok(attacker)
}

/// Pays for research that ends without citations, and for images that are refused.
pub(super) async fn prompts(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    let number = attacker.chance.below(1_000_000);
    let targets = [
        format!("/llm-research?prompt=say+only+{number}+and+cite+nothing"),
        format!("/generate-meme?prompt=blocked+{number}"),
    ];
    let target = attacker.chance.pick(&targets).cloned().unwrap_or_default();
    // Models take long. A payment that ends before they answer is refused before any work.
    attacker.valid_seconds = 300;
    if let Some(payment) = attacker.signed(wallet, &target).await? {
        attacker.pay(&payment, &target).await;
    }
    Ok(attacker)
}

/// Sends invalid payment headers.
pub(super) async fn malformed(mut attacker: Attacker) -> Acted {
    let once = |value: HeaderValue| Request::get(CHEAP).with(PAYMENT_SIGNATURE, value);
    let request = match attacker.chance.below(6) {
        0 => once(garbage(&mut attacker.chance)),
        1 => once(HeaderValue::from_static("")),
        2 => {
            let twice = once(garbage(&mut attacker.chance));
            twice.with(PAYMENT_SIGNATURE, garbage(&mut attacker.chance))
        }
        3 => {
            let old = HeaderName::from_static("x-payment");
            Request::get(CHEAP).with(old, garbage(&mut attacker.chance))
        }
        // A very deeply nested document.
        4 => {
            let depth = 2_000;
            let json = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            once(encoded(&json))
        }
        _ => once(encoded(
            r#"{"x402Version":2,"accepted":{},"payload":{"authorization":null}}"#,
        )),
    };
    attacker.throw(&request).await;
    Ok(attacker)
}

fn encoded(json: &str) -> HeaderValue {
    let text = x402_wire::encode_header(json);
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Sends heads and bodies above the limits.
pub(super) async fn oversized(mut attacker: Attacker) -> Acted {
    let request = match attacker.chance.below(3) {
        0 => {
            let long = HeaderValue::try_from("x".repeat(60_000));
            let name = HeaderName::from_static("x-padding");
            Request::get(CHEAP).with(name, long.unwrap_or(HeaderValue::from_static("")))
        }
        1 => Request::get(format!("/price?token={}", "0".repeat(50_000))),
        _ => {
            let padding = "x".repeat(200_000);
            let value = garbage(&mut attacker.chance);
            Request::post("/swap", padding).with(PAYMENT_SIGNATURE, value)
        }
    };
    attacker.throw(&request).await;
    Ok(attacker)
}

/// Draws a meaningless header value: up to 2 kB of letters, digits and signs.
fn garbage(chance: &mut Chance) -> HeaderValue {
    let length = chance.below(2_000);
    let letters = (0..length).filter_map(|_| u8::try_from(chance.below(90)).ok());
    let text: String = letters
        .map(|letter| char::from(b'!'.saturating_add(letter)))
        .collect();
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("x"))
}
