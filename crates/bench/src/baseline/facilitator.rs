//! A facilitator that accepts every payment at once, and the aggregator of the sold list.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;

/// A list of one token, which a server keeps after the first call.
pub const TOKENS: &str = r#"{"code":"0","msg":"","data":[{
    "tokenContractAddress":"0xB6CEceAB302E2E4948951eE7843FC24E92933061",
    "tokenSymbol":"USDC","tokenName":"USD Coin","decimals":"6","tokenLogoUrl":""}]}"#;

/// Answers `/verify`, `/settle` and `/supported` as x402 v2 describes them, and everything else
/// with the list of tokens. A settlement's transaction is the nonce of its payment.
pub async fn answer(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    // A body that breaks off belongs to a server that has ended.
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    json(text(&path, &body))
}

fn text(path: &str, body: &[u8]) -> String {
    let payer = hexadecimal(body, "\"from\":\"", 42);
    match path {
        "/verify" => format!(r#"{{"isValid":true,"payer":"{payer}"}}"#),
        "/settle" => {
            let nonce = hexadecimal(body, "\"nonce\":\"", 66);
            format!(
                r#"{{"success":true,"payer":"{payer}","transaction":"{nonce}","network":"eip155:196"}}"#
            )
        }
        "/supported" => r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}],"extensions":[],"signers":{}}"#.to_owned(),
        _ => TOKENS.to_owned(),
    }
}

/// The text of a JSON member without spaces; empty when it is missing.
fn hexadecimal<'a>(body: &'a [u8], member: &str, length: usize) -> &'a str {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let value = text.split_once(member).map(|(_, rest)| rest);
    value
        .and_then(|rest| rest.get(..length))
        .unwrap_or_default()
}

fn json(text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_is_accepted_in_its_payers_name() {
        let payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let nonce = format!("0x{}", "11".repeat(32));
        let body = format!(r#"{{"authorization":{{"from":"{payer}","nonce":"{nonce}"}}}}"#);
        let read = |path| -> serde_json::Value {
            serde_json::from_str(&text(path, body.as_bytes())).unwrap()
        };
        assert_eq!(read("/verify")["isValid"], true);
        assert_eq!(read("/verify")["payer"], payer);
        assert_eq!(read("/settle")["transaction"], nonce.as_str());
        assert_eq!(read("/supported")["kinds"][0]["scheme"], "exact");
        assert_eq!(read("/anything")["code"], "0");
    }
}
