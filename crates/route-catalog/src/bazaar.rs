//! The `extensions` of a 402: `bazaar` describes a route's parameters and answer to registries,
//! `payment-identifier` describes the caller's id of a payment, and `availability` says that the
//! route is not served.

use serde_json::{Map, Value as Json, json};

use crate::{
    Method, Operation, Privacy, Route, Unserved,
    common_query::COMMON_QUERY,
    offering::AVAILABILITY,
    schema::{self, Detail},
};

/// The name of the extension that registries read.
pub(crate) const BAZAAR: &str = "bazaar";

/// The largest example answer in a challenge, in bytes.
const EXAMPLE_BYTES: usize = 900;
const MAX_DEPTH: usize = 6;
const LONGEST_TEXT: usize = 66;
const JSON_SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// Makes the `extensions` member of an operation's challenge. The header has it without `bazaar`,
/// which is longer than everything else.
pub(crate) fn extensions(
    operation: Operation,
    unserved: Option<&Unserved>,
    with_bazaar: bool,
) -> Map<String, Json> {
    let mut extensions = Map::new();
    if let Some(unserved) = unserved {
        extensions.insert(AVAILABILITY.into(), unserved.extension());
    }
    if with_bazaar {
        extensions.insert(BAZAAR.into(), bazaar(operation.route()));
    }
    let identifier = payment_identifier(operation.privacy());
    extensions.insert("payment-identifier".into(), identifier);
    extensions
}

/// Makes the extension `bazaar`. `info` has an example call and an example answer; `schema` is the
/// JSON Schema of `info`.
pub(crate) fn bazaar(route: &Route) -> Json {
    let query = route.query.iter().chain(&COMMON_QUERY);
    let query_schema = schema::open_object(query, Detail::Compact);
    let shown = || route.query.iter().filter(|known| route.shows(known));
    let method = route.method.as_str();

    let mut input = json!({"type": "http", "method": method});
    let mut properties = json!({
        "type": {"const": "http"},
        "method": {"enum": methods(route.method)},
        "queryParams": query_schema,
    });
    let mut required = vec!["type", "method"];
    if route.takes_body() {
        merge(
            &mut input,
            json!({"bodyType": "json", "body": route.example_call().body}),
        );
        let body = schema::of_members(route.body, &[], Detail::Compact);
        merge(
            &mut properties,
            json!({"bodyType": {"const": "json"}, "body": body}),
        );
        required.push("body");
    } else {
        merge(
            &mut input,
            json!({"queryParams": schema::examples(shown())}),
        );
    }

    let object = json!({"type": "object"});
    json!({
        "info": {"input": input, "output": {"type": "json", "example": answer_example(route)}},
        "schema": {
            "$schema": JSON_SCHEMA,
            "type": "object",
            "properties": {
                "input": {"type": "object", "properties": properties, "required": required},
                "output": {
                    "type": "object",
                    "properties": {
                        "type": {"const": "json"},
                        "example": {
                            "type": "object",
                            "properties": {"data": object, "meta": object},
                            "required": ["data", "meta"],
                        },
                    },
                },
            },
            "required": ["input"],
        },
    })
}

fn answer_example(route: &Route) -> Json {
    // A test of the table parses every example, so the fallback is never used.
    let data: Json = serde_json::from_str(route.example).unwrap_or(Json::Null);
    json!({
        "data": outline(&data, EXAMPLE_BYTES),
        "meta": {"as_of": "2026-11-21T01:00:00Z", "age_seconds": 4, "verdict": "fresh"},
    })
}

/// Shortens an example answer to at most `bytes`, because an operator may have it in the header.
/// Cuts long texts, then empties objects and lists from the inside out until the rest fits. OpenAPI
/// has the whole answer.
fn outline(example: &Json, bytes: usize) -> Json {
    for depth in (1..=MAX_DEPTH).rev() {
        let cut = cut(example, depth);
        if ascii_len(&cut) <= bytes {
            return cut;
        }
    }
    cut(example, 0)
}

fn cut(value: &Json, depth: usize) -> Json {
    match value {
        Json::String(text) if text.chars().count() > LONGEST_TEXT => {
            let start: String = text.chars().take(LONGEST_TEXT).collect();
            Json::String(format!("{start}..."))
        }
        Json::Array(_) if depth == 0 => json!([]),
        Json::Object(_) if depth == 0 => json!({}),
        Json::Array(items) => items.iter().map(|item| cut(item, depth)).collect(),
        Json::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), cut(member, depth.saturating_sub(1))))
            .collect(),
        other => other.clone(),
    }
}

/// Returns the length as ASCII JSON, in which other characters are escaped.
fn ascii_len(value: &Json) -> usize {
    let escaped = |c: char| if c.is_ascii() { 1 } else { 6 * c.len_utf16() };
    value.to_string().chars().map(escaped).sum()
}

fn methods(method: Method) -> &'static [&'static str] {
    match method {
        Method::Get | Method::Delete => &["GET", "HEAD", "DELETE"],
        Method::Post => &["POST", "PUT", "PATCH"],
    }
}

/// The notice that callers of a private operation get before they pay.
const GIVEN_AGAIN: &str = "Random. Answers about your own wallet are sent again only with it.";

fn payment_identifier(privacy: Privacy) -> Json {
    let mut id = json!({"type": "string", "minLength": 16, "maxLength": 128});
    if privacy != Privacy::Public {
        merge(&mut id, json!({"description": GIVEN_AGAIN}));
    }
    json!({
        "info": {"required": false},
        "schema": {
            "$schema": JSON_SCHEMA,
            "type": "object",
            "properties": {
                "required": {"type": "boolean"},
                "id": id,
            },
            "required": ["required"],
        },
    })
}

fn merge(target: &mut Json, more: Json) {
    if let (Some(target), Json::Object(more)) = (target.as_object_mut(), more) {
        target.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_validates_its_own_info() {
        for operation in Operation::ALL {
            let bazaar = bazaar(operation.route());
            let validator = jsonschema::draft202012::new(&bazaar["schema"]).unwrap();
            let errors: Vec<_> = validator
                .iter_errors(&bazaar["info"])
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{operation}: {errors:?}");
            assert!(bazaar["schema"]["properties"]["output"]["properties"]["example"].is_object());
        }
    }

    #[test]
    fn every_example_call_is_a_valid_call() {
        for operation in Operation::ALL {
            let route = operation.route();
            let info = &bazaar(route)["info"]["input"];
            let query: Vec<_> = info["queryParams"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, value)| {
                    let text = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    format!("{name}={}", text.replace(' ', "+").replace('?', "%3F"))
                })
                .collect();
            let body = info["body"].to_string();
            let parsed = route.parse(Some(&query.join("&")), body.as_bytes());
            assert!(parsed.is_ok(), "{operation}: {query:?} {body} {parsed:?}");
        }
    }

    #[test]
    fn extensions_of_a_read_and_of_a_write() {
        insta::with_settings!({sort_maps => true}, {
            insta::assert_json_snapshot!("price", extensions(Operation::Price, None, true));
            insta::assert_json_snapshot!("swap", extensions(Operation::Swap, None, true));
        });
    }
}
