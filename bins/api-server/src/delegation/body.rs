//! Reads the bodies of writing requests.

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use delegation_fence::{Order, Refusal, Rule, Signed};
use fence_server::{DelegationError, Ordered};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::refused::Refused;

/// A submission as it was requested.
pub(super) struct Submission {
    pub(super) ordered: Ordered,
    /// Judge the plan but write nothing.
    pub(super) dry_run: bool,
}

/// The body. The fence reads the documents in it from their original bytes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    account: Address,
    grant_id: B256,
    #[serde(borrow)]
    request: &'a RawValue,
    #[serde(borrow)]
    envelope: &'a RawValue,
    #[serde(borrow)]
    order: &'a RawValue,
    #[serde(borrow)]
    signature: &'a RawValue,
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn text(body: &Bytes) -> Result<&str, Refused> {
    std::str::from_utf8(body)
        .map_err(|_| malformed("the body is not UTF-8", "UTF-8", "other bytes"))
}

pub(super) fn submission(body: &Bytes) -> Result<Submission, Refused> {
    let text = text(body)?;
    if !text.trim_start().starts_with('{') {
        // serde would also accept a list of the right length.
        return Err(malformed(
            "the body is not an object",
            EXPECTED,
            "another value",
        ));
    }
    let written: Written<'_> = serde_json::from_str(text)
        .map_err(|error| malformed("the body is not a submission", EXPECTED, error.to_string()))?;
    let signed = format!(
        r#"{{"typed_data":{},"signature":{}}}"#,
        written.order, written.signature
    );
    let order = Signed::<Order>::parse(&signed).map_err(DelegationError::from)?;
    Ok(Submission {
        ordered: Ordered {
            account: written.account,
            grant_id: written.grant_id,
            request: written.request.get().to_owned(),
            envelope: written.envelope.get().to_owned(),
            order,
        },
        dry_run: written.dry_run,
    })
}

const EXPECTED: &str =
    "an object of account, grant_id, request, envelope, order, signature and, optionally, dry_run";

fn malformed(message: &'static str, expected: &str, observed: impl Into<String>) -> Refused {
    // The observed text is cut and restricted to printable ASCII.
    let observed = observed.into();
    let printable = observed.chars().map(|c| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    });
    DelegationError::from(Refusal {
        rule: Rule::TypedDataMalformed,
        message: message.into(),
        expected: expected.to_owned(),
        observed: printable.take(200).collect(),
        check: None,
    })
    .into()
}
