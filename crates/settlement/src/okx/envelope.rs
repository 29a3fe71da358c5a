//! Opens the envelope in which the broker wraps every answer.

use serde::Deserialize;
use serde_json::value::RawValue;
use x402_wire::Reason;

use crate::http::Reply;
use crate::reason::{Weight, weight};
use crate::text::{clip, clip_message};
use crate::{Cause, Malformation, RemoteCall};

/// The broker's codes for a message with an empty or a wrong parameter.
const PARAMETER_CODES: [&str; 2] = ["50014", "51000"];

/// The content of the broker's answer.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The protocol message.
    Data(Box<RawValue>),
    /// The broker refuses the payment itself and has done nothing with it.
    Refused {
        reason: Reason,
        message: Option<String>,
    },
}

#[derive(Debug, Deserialize)]
struct Envelope {
    code: Option<Code>,
    msg: Option<String>,
    data: Option<Box<RawValue>>,
    error_code: Option<Code>,
    error_message: Option<String>,
}

/// A code is a string in the documentation, and an integer in the broker's own SDK.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Code {
    Text(String),
    Number(i64),
}

impl Code {
    fn text(self) -> String {
        match self {
            Self::Text(text) => clip(text.trim()),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Opens an answer. Anything except a protocol message or a named refusal of the payment is a
/// cause: the call failed, and the state of the payment is unknown.
pub(crate) fn open(call: RemoteCall, reply: &Reply) -> Result<Opened, Cause> {
    let Ok(envelope) = serde_json::from_slice::<Envelope>(&reply.body) else {
        return Err(crate::answer::not_protocol(call, reply));
    };
    let Some(code) = envelope.code.map(Code::text) else {
        return Err(crate::answer::not_protocol(call, reply));
    };
    if code == "0" {
        let missing = Cause::Malformed {
            call,
            detail: Malformation::Json,
        };
        return envelope.data.map(Opened::Data).ok_or(missing);
    }
    let named = envelope
        .error_code
        .map(Code::text)
        .filter(|text| !text.is_empty());
    let message = envelope
        .error_message
        .or(envelope.msg)
        .filter(|text| !text.is_empty());
    let refusal = [named.as_deref(), Some(code.as_str())]
        .into_iter()
        .flatten()
        .find_map(|code| {
            if reply.status < 500 {
                refusal(code)
            } else {
                None
            }
        });
    match refusal {
        Some(reason) => Ok(Opened::Refused {
            reason,
            message: message.map(clip_message),
        }),
        None => Err(Cause::Broker {
            call,
            code: named.unwrap_or(code),
        }),
    }
}

/// Returns the reason for an error code that is about the payment. `None` for a code that is about
/// the call.
fn refusal(code: &str) -> Option<Reason> {
    if PARAMETER_CODES.contains(&code) {
        return Some(Reason::InvalidPayload);
    }
    let reason = Reason::from(code);
    (weight(&reason) != Weight::Vague).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(status: u16, body: &'static str) -> Result<Opened, Cause> {
        open(
            RemoteCall::Settle,
            &Reply {
                status,
                body: body.into(),
            },
        )
    }

    #[test]
    fn code_zero_is_a_string_or_an_integer() {
        for body in [
            r#"{"code":"0","msg":"success","data":{"a":1}}"#,
            r#"{"code":0,"data":{"a":1}}"#,
        ] {
            let Ok(Opened::Data(data)) = opened(200, body) else {
                panic!("{body}")
            };
            assert_eq!(data.get(), r#"{"a":1}"#);
        }
    }

    #[test]
    fn failures_of_the_call_say_nothing_about_the_payment() {
        for (status, body, code) in [
            (
                429,
                r#"{"code":"50011","msg":"Too Many Requests","data":null}"#,
                "50011",
            ),
            (
                500,
                r#"{"code":50026,"msg":"System error","data":null}"#,
                "50026",
            ),
            (
                401,
                r#"{"code":"50113","msg":"Invalid Sign","data":null}"#,
                "50113",
            ),
            (500, r#"{"code":"51000","data":null}"#, "51000"),
            (
                200,
                r#"{"code":"1","error_code":"onchain_error","data":null}"#,
                "onchain_error",
            ),
        ] {
            let expected = Cause::Broker {
                call: RemoteCall::Settle,
                code: code.to_owned(),
            };
            assert_eq!(opened(status, body).unwrap_err(), expected, "{body}");
        }
    }

    #[test]
    fn refusals_of_the_payment_carry_their_reason() {
        for (body, expected) in [
            (
                r#"{"code":"51000","msg":"Parameter error","data":null}"#,
                "invalid_payload",
            ),
            (
                r#"{"code":"1","error_code":"nonce_used","error_message":"m"}"#,
                "nonce_used",
            ),
            (
                r#"{"code":1,"error_code":50014,"data":null}"#,
                "invalid_payload",
            ),
        ] {
            let Ok(Opened::Refused { reason, .. }) = opened(400, body) else {
                panic!("{body}")
            };
            assert_eq!(reason.as_str(), expected);
        }
    }

    #[test]
    fn an_answer_without_an_envelope_is_reported_by_its_status() {
        let status = Cause::Status {
            call: RemoteCall::Settle,
            status: 502,
        };
        assert_eq!(opened(502, "<html>").unwrap_err(), status);
        let malformed = Cause::Malformed {
            call: RemoteCall::Settle,
            detail: Malformation::Json,
        };
        for body in [
            "",
            "[]",
            r#"{"success":true}"#,
            r#"{"code":"0"}"#,
            r#"{"code":"0","data":null}"#,
        ] {
            assert_eq!(opened(200, body).unwrap_err(), malformed, "{body}");
        }
    }
}
