//! Renders the 402 answer. The part that all requests of a route share is computed once; the rest
//! is appended for each request.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use x402_wire::{Offer, Scheme, X402_VERSION, push_ascii_escaped};

use crate::{Next, Offering, Operation, bazaar, render::sorted_ascii_json};

/// The header and the body of a 402 answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The value of the `PAYMENT-REQUIRED` header: the base64 of the `PaymentRequired` JSON. The
    /// JSON is pure ASCII.
    pub header: String,
    /// The body: the same JSON, with the member `refusal` if there is one.
    pub body: Vec<u8>,
}

/// Why a call was answered 402, for programs. It is rendered with `"charged": false`, because no
/// call with a known charge is answered 402.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// A stable code.
    pub code: &'a str,
    /// The reason in words, or a reason code of x402.
    pub reason: &'a str,
    /// Whether the same call can succeed with another payment.
    pub retryable: bool,
    /// The caller's next step about the payment.
    pub next: &'a Next,
    /// The id of the request in the server's logs.
    pub request_id: &'a str,
}

/// The parts of one route's challenge that are the same for every request.
///
/// The JSON is `prefix` and then the tail. Spaces at the end of the prefix make its length a
/// multiple of three. So its base64 is a prefix of the whole base64, and is computed only once.
#[derive(Debug)]
pub(crate) struct ChallengePieces {
    /// `{"x402Version":2,"accepts":[…],"extensions":{…},` and up to two spaces.
    prefix: String,
    prefix_base64: String,
    /// `"resource":{"url":"…` up to the path.
    tail_start: String,
    /// From the end of the URL up to the text of the error.
    tail_middle: String,
    /// `,"unpayable_schemes":[…]` for a public answer, or nothing when every scheme can pay for it.
    unpayable: String,
    /// The same for an answer about the payer's own wallet.
    unpayable_private: String,
}

/// The schemes whose payments no server can prove to be their payer's: a broker alone can judge
/// their signatures. They pay for no answer about the payer's own wallet.
const UNPROVABLE: [Scheme; 1] = [Scheme::AggrDeferred];

/// Makes the member of `refusal` that names the schemes that cannot pay.
fn unpayable(schemes: &[Scheme]) -> String {
    let schemes: Vec<_> = schemes.iter().map(|scheme| scheme.as_str()).collect();
    match schemes.is_empty() {
        true => String::new(),
        false => format!(",\"unpayable_schemes\":{}", json!(schemes)),
    }
}

impl ChallengePieces {
    pub(crate) fn new(
        operation: Operation,
        offer: &Offer,
        base_url: &str,
        offering: &Offering,
    ) -> Self {
        let route = operation.route();
        let accepts: Vec<String> = offer
            .options()
            .map(|requirements| requirements.to_json())
            .collect();
        let extensions = bazaar::extensions(operation, offering.of(operation));
        let extensions = sorted_ascii_json(&extensions.into());
        let mut prefix = format!(
            r#"{{"x402Version":{X402_VERSION},"accepts":[{}],"extensions":{extensions},"#,
            accepts.join(",")
        );
        while !prefix.len().is_multiple_of(3) {
            prefix.push(' ');
        }
        let mut tail_start = String::from(r#""resource":{"url":""#);
        push_ascii_escaped(&mut tail_start, base_url);
        push_ascii_escaped(&mut tail_start, route.path);
        let unproven = UNPROVABLE.iter().copied();
        let unproven = unproven.filter(|scheme| !offering.unpayable.contains(scheme));
        let private: Vec<Scheme> = offering.unpayable.iter().copied().chain(unproven).collect();
        let tail_middle = format!(
            r#"","description":{},"mimeType":"application/json"}},"error":""#,
            sorted_ascii_json(&json!(route.summary))
        );
        Self {
            prefix_base64: STANDARD.encode(&prefix),
            prefix,
            tail_start,
            tail_middle,
            unpayable: unpayable(&offering.unpayable),
            unpayable_private: unpayable(&private),
        }
    }

    pub(crate) fn header(&self, query: Option<&str>, error: &str) -> String {
        let mut tail = String::with_capacity(self.tail_len(query, error));
        self.push_tail(&mut tail, query, error);
        tail.push('}');
        let mut header =
            String::with_capacity(self.prefix_base64.len() + tail.len().div_ceil(3) * 4);
        header.push_str(&self.prefix_base64);
        STANDARD.encode_string(tail, &mut header);
        header
    }

    /// Makes the body. `is_private`: whether the request is for an answer about the payer's own
    /// wallet.
    pub(crate) fn body(
        &self,
        query: Option<&str>,
        error: &str,
        refusal: Option<&Refusal<'_>>,
        is_private: bool,
    ) -> Vec<u8> {
        let mut json = String::with_capacity(self.prefix.len() + self.tail_len(query, error) + 256);
        json.push_str(&self.prefix);
        self.push_tail(&mut json, query, error);
        if let Some(refusal) = refusal {
            let unpayable = match is_private {
                true => &self.unpayable_private,
                false => &self.unpayable,
            };
            refusal.push_member(&mut json, unpayable);
        }
        json.push('}');
        json.into_bytes()
    }

    /// Appends the part that depends on the request, without the brace that ends the object.
    fn push_tail(&self, json: &mut String, query: Option<&str>, error: &str) {
        json.push_str(&self.tail_start);
        if let Some(query) = query {
            json.push('?');
            push_ascii_escaped(json, query);
        }
        json.push_str(&self.tail_middle);
        push_ascii_escaped(json, error);
        json.push('"');
    }

    fn tail_len(&self, query: Option<&str>, error: &str) -> usize {
        let query_len = query.map_or(0, str::len);
        self.tail_start.len() + self.tail_middle.len() + query_len + error.len() + 8
    }
}

impl Refusal<'_> {
    /// Appends `,"refusal":{…}`.
    fn push_member(&self, json: &mut String, unpayable: &str) {
        json.push_str(r#","refusal":{"code":""#);
        push_ascii_escaped(json, self.code);
        json.push_str(r#"","reason":""#);
        push_ascii_escaped(json, self.reason);
        json.push_str(r#"","charged":false,"retryable":"#);
        json.push_str(if self.retryable { "true" } else { "false" });
        json.push_str(r#","request_id":""#);
        push_ascii_escaped(json, self.request_id);
        json.push_str(r#"","next":"#);
        self.next.push_json(json);
        json.push_str(unpayable);
        json.push('}');
    }
}
