//! Renders the 402 answer. The part that all requests of a route share is computed once; the rest
//! is appended for each request.
//!
//! The header is short, because proxies with default buffers turn an answer with a longer head into
//! a 502. It has no member beyond those of x402, because strict clients refuse others. What buyers
//! need beyond it is in the body alone.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json, json};
use x402_wire::{Offer, Scheme, X402_VERSION, push_ascii_escaped};

use crate::{
    Method, Next, Offering, Operation, Parameter, Route, bazaar, common_query::COMMON_QUERY, query,
    render::sorted_ascii_json, schema,
};

/// A resource URL has the query of the request only while the JSON of the header is at most so
/// long, without `extensions.bazaar`. Then the whole head of every 402 stays below 4,000 bytes.
const HEADER_JSON_BYTES: usize = 2_340;
/// The longest `error` text, in bytes of ASCII JSON. A longer one is cut.
const ERROR_BYTES: usize = 220;

/// The header and the body of a 402 answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The value of the `PAYMENT-REQUIRED` header: the base64 of the `PaymentRequired` JSON. The
    /// JSON is pure ASCII.
    pub header: String,
    /// The body: the same JSON with `extensions.bazaar` and `outputSchema`, with `missingParams` if
    /// a GET lacks some, and with `refusal` if there is one.
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
/// The JSON is a prefix and then the tail. Spaces at the end of the header's prefix make its length
/// a multiple of three. So its base64 is a prefix of the whole base64, and is computed only once.
#[derive(Debug)]
pub(crate) struct ChallengePieces {
    route: &'static Route,
    /// The base64 of `{"x402Version":2,"accepts":[…],"extensions":{…},` and up to two spaces.
    header_prefix: String,
    /// The same JSON, with `extensions.bazaar`.
    body_prefix: String,
    /// The length of the header's JSON without `extensions.bazaar`, query and error.
    lean_len: usize,
    /// `"resource":{"url":"…` up to the path.
    tail_start: String,
    /// From the end of the URL up to the text of the error.
    tail_middle: String,
    /// `,"outputSchema":{…}`.
    output_schema: String,
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
        bazaar_in_header: bool,
    ) -> Self {
        let route = operation.route();
        let accepts: Vec<String> = offer
            .options()
            .map(|requirements| requirements.to_json())
            .collect();
        let accepts = accepts.join(",");
        let prefix = |with_bazaar: bool| {
            let extensions = bazaar::extensions(operation, offering.of(operation), with_bazaar);
            let extensions = sorted_ascii_json(&extensions.into());
            format!(
                r#"{{"x402Version":{X402_VERSION},"accepts":[{accepts}],"extensions":{extensions},"#
            )
        };
        let lean = prefix(false);
        let lean_prefix_len = lean.len().next_multiple_of(3);
        let body_prefix = prefix(true);
        let mut header_prefix = match bazaar_in_header {
            true => body_prefix.clone(),
            false => lean,
        };
        while !header_prefix.len().is_multiple_of(3) {
            header_prefix.push(' ');
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
        let output_schema = sorted_ascii_json(&output_schema(route));
        Self {
            route,
            header_prefix: STANDARD.encode(&header_prefix),
            body_prefix,
            lean_len: lean_prefix_len + tail_start.len() + tail_middle.len() + r#"?"}"#.len(),
            tail_start,
            tail_middle,
            output_schema: format!(",\"outputSchema\":{output_schema}"),
            unpayable: unpayable(&offering.unpayable),
            unpayable_private: unpayable(&private),
        }
    }

    pub(crate) fn header(&self, query: Option<&str>, error: &str) -> String {
        let tail = self.tail(query, error) + "}";
        let mut header =
            String::with_capacity(self.header_prefix.len() + tail.len().div_ceil(3) * 4);
        header.push_str(&self.header_prefix);
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
        let tail = self.tail(query, error);
        let fixed = self.body_prefix.len() + self.output_schema.len();
        let mut json = String::with_capacity(fixed + tail.len() + 320);
        json.push_str(&self.body_prefix);
        json.push_str(&tail);
        json.push_str(&self.output_schema);
        let missing = missing_parameters(self.route, query);
        if !missing.is_empty() {
            // The names are plain words, so their `Debug` form is JSON.
            json.push_str(&format!(",\"missingParams\":{missing:?}"));
        }
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

    /// The part that depends on the request, without the brace that ends the object.
    fn tail(&self, query: Option<&str>, error: &str) -> String {
        let shown = cut_to(error, ERROR_BYTES);
        let ellipsis = if shown.len() < error.len() { "..." } else { "" };
        let query = query
            .filter(|query| !query.is_empty())
            .filter(|query| {
                let len = self.lean_len + escaped_len(query) + escaped_len(shown) + ellipsis.len();
                len <= HEADER_JSON_BYTES
            })
            .unwrap_or_default();
        let fixed = self.tail_start.len() + self.tail_middle.len();
        let mut json = String::with_capacity(fixed + query.len() + shown.len() + 8);
        json.push_str(&self.tail_start);
        if !query.is_empty() {
            json.push('?');
            push_ascii_escaped(&mut json, query);
        }
        json.push_str(&self.tail_middle);
        push_ascii_escaped(&mut json, shown);
        json.push_str(ellipsis);
        json.push('"');
        json
    }
}

/// Describes a call's parameters flatly, for the buyers of this chain. They ask their person for
/// the required ones, and send each where its `carrier` says.
fn output_schema(route: &Route) -> Json {
    let of = |carrier: &'static str| {
        move |parameter: &Parameter| {
            let field = json!({
                "carrier": carrier,
                "type": schema::flat_type(&parameter.rule),
                "required": parameter.is_required(),
            });
            (parameter.name.to_owned(), field)
        }
    };
    let query = route.query.iter().chain(&COMMON_QUERY).map(of("query"));
    let input: Map<String, Json> = query.chain(route.body.iter().map(of("body"))).collect();
    json!({"method": route.method.as_str(), "input": input})
}

/// Returns the required parameters that the query of a GET lacks. Only these: a buyer asks again
/// for each of them, even when it has sent a value.
fn missing_parameters(route: &Route, raw_query: Option<&str>) -> Vec<&'static str> {
    if route.method != Method::Get {
        return Vec::new();
    }
    let is_given = |name: &str| {
        let mut pairs = query::pairs(raw_query.unwrap_or_default());
        pairs.any(|(given, _)| query::decode(given).is_ok_and(|given| given == name))
    };
    let required = route.query.iter().filter(|known| known.is_required());
    let names = required.map(|parameter| parameter.name);
    names.filter(|name| !is_given(name)).collect()
}

/// The length of a character in ASCII JSON, at most.
fn escaped_char_len(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        ' '..='~' => 1,
        other => 6 * other.len_utf16(),
    }
}

fn escaped_len(text: &str) -> usize {
    text.chars().map(escaped_char_len).sum()
}

/// Returns the longest beginning of a text that fits into so many bytes of ASCII JSON.
fn cut_to(text: &str, most: usize) -> &str {
    let mut len = 0_usize;
    let end = text.char_indices().find_map(|(at, c)| {
        len = len.saturating_add(escaped_char_len(c));
        (len > most).then_some(at)
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
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
