//! One request or notification.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Fault, Id, MAX_DEPTH, Member, Members, MembersError, is_shallow};

/// The most messages of a batch.
pub(crate) const MAX_BATCH: usize = 32;

/// A request (with an id) or a notification (without one).
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    /// The request's id; none for a notification.
    pub(crate) id: Option<Id<'a>>,
    /// The method.
    pub(crate) method: Cow<'a, str>,
    /// The parameters by name.
    pub(crate) params: Members<'a>,
    /// `params._meta`, when it is there.
    pub(crate) meta: Option<Members<'a>>,
}

impl<'a> Message<'a> {
    /// Reads one message.
    ///
    /// # Errors
    /// A fault, with the request's id when the text has a readable one.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, (Fault, Option<Id<'a>>)> {
        let text = text_of(body).map_err(|fault| (fault, None))?;
        let members = Members::parse(text).map_err(|error| (not_a_message(text, error), None))?;
        let id = members.find("id");
        let known = id.and_then(Id::read);
        let refuse = |fault: Fault| (fault, known);
        if id.is_some() && known.is_none() {
            let message = "expected id to be a string or an integer";
            return Err(refuse(Fault::invalid_request(message)));
        }
        if members.find("jsonrpc").and_then(string).as_deref() != Some("2.0") {
            return Err(refuse(Fault::invalid_request(
                "expected jsonrpc to be \"2.0\"",
            )));
        }
        let Some(method) = members.find("method") else {
            let message = "expected a request or a notification: there is no method";
            return Err(refuse(Fault::invalid_request(message)));
        };
        let method = string(method)
            .ok_or_else(|| refuse(Fault::invalid_request("expected method to be a string")))?;
        let params = object(members.find("params"), "params").map_err(refuse)?;
        let params = params.unwrap_or_default();
        let meta = object(params.find("_meta"), "params._meta").map_err(refuse)?;
        Ok(Self {
            id: known,
            method,
            params,
            meta,
        })
    }
}

/// The text without a byte-order mark, which a parser may ignore (RFC 8259, 8.1).
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The messages of a batch as JSON texts; `None` for a body that is no array.
///
/// # Errors
/// A fault about the batch as a whole.
pub(crate) fn batch(body: &[u8]) -> Option<Result<Vec<&RawValue>, Fault>> {
    if body.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    Some(read_batch(body))
}

fn read_batch(body: &[u8]) -> Result<Vec<&RawValue>, Fault> {
    let text = text_of(body)?;
    let messages: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|_| Fault::parse_error("the body is not JSON"))?;
    if messages.is_empty() || messages.len() > MAX_BATCH {
        return Err(Fault::invalid_request(format!(
            "expected a batch of 1 to {MAX_BATCH} messages, observed {}",
            messages.len()
        )));
    }
    Ok(messages)
}

/// A body as text that does not nest too deep.
fn text_of(body: &[u8]) -> Result<&str, Fault> {
    let text =
        std::str::from_utf8(body).map_err(|_| Fault::parse_error("the body is not UTF-8"))?;
    if !is_shallow(body) {
        let message = format!("the body nests deeper than {MAX_DEPTH} levels");
        return Err(Fault::parse_error(message));
    }
    Ok(text)
}

/// The text of a JSON string.
pub(crate) fn string(value: Member<'_>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let text: Text<'_> = serde_json::from_str(value.get()).ok()?;
    Some(text.0)
}

fn object<'a>(value: Option<Member<'a>>, name: &str) -> Result<Option<Members<'a>>, Fault> {
    let Some(value) = value.filter(|value| value.get() != "null") else {
        return Ok(None);
    };
    Members::parse(value.get())
        .map(Some)
        .map_err(|error| Fault::invalid_params(format!("{name}: {error}")))
}

fn not_a_message(text: &str, error: MembersError) -> Fault {
    match error {
        MembersError::Syntax { .. } => Fault::parse_error(format!("the body is {error}")),
        // A type error leaves the rest of the text unread.
        MembersError::NotAnObject
            if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() =>
        {
            Fault::parse_error("the body is not JSON")
        }
        MembersError::NotAnObject if text.trim_start().starts_with('[') => {
            Fault::invalid_request("expected one message, observed a batch")
        }
        MembersError::NotAnObject | MembersError::Duplicate { .. } => {
            Fault::invalid_request(format!("the body is no message: {error}"))
        }
    }
}
