//! The rail's answer in any saved wrapping: the envelope itself, the result of the tool, the
//! JSON-RPC response, or its event stream.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::Refused;

/// The `check` of a text that is no plan: the verifier's own name for it.
const MALFORMED: &str = "plan_malformed";

/// The members of every wrapping. Duplicate members are an error of the parser.
#[derive(Deserialize)]
struct Wrapping<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refused: Option<&'a RawValue>,
    #[serde(borrow, default)]
    rail: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "accountProfile")]
    account_profile: Option<&'a RawValue>,
    #[serde(borrow, default)]
    typed_data: Option<&'a RawValue>,
}

/// The envelope's text inside an answer.
///
/// # Errors
/// `plan_malformed` for a text without a plan, with a distinct message for each kind; the rail's
/// own refusal under its name.
pub(super) fn plan_of(text: &str) -> Result<Cow<'_, str>, Refused> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(malformed("the file is empty"));
    }
    if text.starts_with('<') {
        return Err(malformed(
            "a page (HTML or XML), not the JSON of a plan: the address that was asked is not the rail's",
        ));
    }
    match event(text) {
        Some(data) => inside(&data).map(|plan| Cow::Owned(plan.to_owned())),
        None => inside(text).map(Cow::Borrowed),
    }
}

/// Follows the wrappings inwards; there are at most two.
fn inside(text: &str) -> Result<&str, Refused> {
    let outer = wrapping(text)?;
    if let Some(error) = outer.error {
        return Err(rpc_error(error.get()));
    }
    match outer.result {
        Some(result) => of_result(result.get()),
        None => of_result(text),
    }
}

fn of_result(text: &str) -> Result<&str, Refused> {
    let result = wrapping(text)?;
    let Some(structured) = result.structured else {
        return of_envelope(text, &result);
    };
    if let Some(content) = result.content {
        require_same(content.get(), structured.get())?;
    }
    let plan = structured.get();
    of_envelope(plan, &wrapping(plan)?)
}

fn of_envelope<'a>(text: &'a str, members: &Wrapping<'_>) -> Result<&'a str, Refused> {
    if members.rail.is_some() {
        return Ok(text);
    }
    if let Some(refused) = members.refused {
        return Err(refusal(refused.get()));
    }
    Err(malformed(if members.account_profile.is_some() {
        "these are the arguments of a request, not a plan: are --plan and --request exchanged?"
    } else if members.typed_data.is_some() {
        "a signed grant or revocation, not a plan"
    } else if members.content.is_some() {
        "an answer of the rail without structuredContent: it holds no plan"
    } else {
        "JSON, but not a plan: no member `rail`"
    }))
}

fn wrapping(text: &str) -> Result<Wrapping<'_>, Refused> {
    if matches!(text.as_bytes().first(), Some(b'[' | b'"')) {
        return Err(malformed("JSON, but not an object: not a plan"));
    }
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        malformed(&match error.classify() {
            serde_json::error::Category::Eof => {
                format!("the file ends in the middle of the plan, at {place}: is it whole?")
            }
            serde_json::error::Category::Data => {
                format!("not an object of JSON, or with a member twice, at {place}")
            }
            _ => format!("not JSON, at {place}"),
        })
    })
}

/// The data of the last event of a stream (`text/event-stream`).
fn event(text: &str) -> Option<String> {
    let is_stream = ["data:", "event:", "id:", ":"]
        .iter()
        .any(|field| text.starts_with(field));
    let last = text
        .split("\n\n")
        .filter(|event| event.lines().any(|line| line.starts_with("data:")))
        .last()?;
    is_stream.then(|| {
        last.lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.strip_prefix(' ').unwrap_or(data))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// Checks that the text for people beside a plan contains the same plan.
fn require_same(content: &str, structured: &str) -> Result<(), Refused> {
    #[derive(Deserialize)]
    struct Part {
        text: Option<String>,
    }
    let parts: Vec<Part> = serde_json::from_str(content).unwrap_or_default();
    let plan: Option<Value> = serde_json::from_str(structured).ok();
    let differs = parts
        .iter()
        .filter_map(|part| serde_json::from_str(part.text.as_deref()?).ok())
        .any(|other: Value| plan.as_ref() != Some(&other));
    if differs {
        return Err(malformed(
            "the answer holds two different plans: its text is not its structuredContent",
        ));
    }
    Ok(())
}

/// The rail's refusal, under the rail's name.
fn refusal(text: &str) -> Refused {
    #[derive(Deserialize)]
    struct Members {
        check: String,
        message: String,
        expected: Option<String>,
        observed: Option<String>,
    }
    serde_json::from_str::<Members>(text).map_or_else(
        |_| malformed("a refusal of the rail that cannot be read"),
        |members| Refused {
            expected: members.expected,
            observed: members.observed,
            ..Refused::new(
                members.check,
                format!("the rail refused and gave no plan: {}", members.message),
            )
        },
    )
}

fn rpc_error(text: &str) -> Refused {
    #[derive(Deserialize)]
    struct Members {
        code: i64,
        message: String,
    }
    serde_json::from_str::<Members>(text).map_or_else(
        |_| malformed("an error of JSON-RPC that cannot be read"),
        |members| {
            malformed(&format!(
                "the rail answered with an error and no plan: {} {}",
                members.code, members.message
            ))
        },
    )
}

fn malformed(message: &str) -> Refused {
    Refused::new(MALFORMED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"rail":"swap","n":1.50}"#;

    #[test]
    fn a_plan_is_found_in_each_wrapping_byte_for_byte() {
        let quoted = Value::from(PLAN).to_string();
        let result = format!(
            r#"{{"content":[{{"type":"text","text":{quoted}}}],"structuredContent":{PLAN},"isError":false}}"#
        );
        let response = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        for text in [
            PLAN.to_owned(),
            format!("\u{feff}\n{PLAN}\n"),
            result.clone(),
            response.clone(),
            format!("event: message\ndata: {response}\n\n"),
            format!(": hello\n\nid: 1\ndata: {response}\n\n"),
        ] {
            assert_eq!(plan_of(&text).unwrap(), PLAN, "{text}");
        }
    }

    #[test]
    fn an_answer_without_a_plan_is_described() {
        let other = r#"{"content":[{"type":"text","text":"{\"rail\":\"bridge\"}"}],"structuredContent":{"rail":"swap"}}"#;
        let refused = r#"{"result":{"isError":true,"structuredContent":{"refused":{"check":"agg_receiver_account_bound","message":"m"}}}}"#;
        for (text, check, part) in [
            ("", MALFORMED, "empty"),
            ("<html>", MALFORMED, "page"),
            ("{\"rail\":\"swap\",", MALFORMED, "ends in the middle"),
            ("rail = swap", MALFORMED, "not JSON, at line 1"),
            ("[]", MALFORMED, "JSON, but not an object"),
            ("{\"rail\":1,\"rail\":2}", MALFORMED, "twice"),
            ("{}", MALFORMED, "no member `rail`"),
            ("{\"accountProfile\":{}}", MALFORMED, "exchanged"),
            ("{\"typed_data\":{}}", MALFORMED, "signed grant"),
            (
                "{\"result\":{\"content\":[]}}",
                MALFORMED,
                "without structuredContent",
            ),
            (
                r#"{"error":{"code":-32602,"message":"unknown tool"}}"#,
                MALFORMED,
                "-32602 unknown tool",
            ),
            (other, MALFORMED, "two different plans"),
            (refused, "agg_receiver_account_bound", "the rail refused"),
        ] {
            let refusal = plan_of(text).unwrap_err();
            assert_eq!(refusal.check, check, "{text}");
            assert!(refusal.message.contains(part), "{text}: {refusal:?}");
        }
    }
}
