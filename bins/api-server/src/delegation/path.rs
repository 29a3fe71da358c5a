//! The paths of the delegation endpoints: reads the endpoint and its parameters, and judges their
//! form only.

use alloy_primitives::{Address, B256};
use exact::parse_hex_array;
use http::Method;
use serde_json::{Value, json};

use super::PREFIX;
use super::refused::Refused;

/// An endpoint and the parameters in its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Status,
    Policy,
    Grants,
    Grant(Address, B256),
    Log(Address, B256),
    Revocations,
    Limits,
    Submissions,
    Submission(B256),
}

/// The reason why a path leads to no endpoint.
#[derive(Debug, PartialEq)]
pub(super) enum Unroutable {
    Path,
    /// Parts of the path are invalid; one problem for each.
    Parts(Vec<Value>),
}

impl Route {
    /// The name in metrics.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Policy => "policy",
            Self::Grants => "grants",
            Self::Grant(..) => "grant",
            Self::Log(..) => "log",
            Self::Revocations => "revocations",
            Self::Limits => "limits",
            Self::Submissions => "submissions",
            Self::Submission(_) => "submission",
        }
    }

    /// Whether the endpoint takes a body.
    pub(super) const fn writes(&self) -> bool {
        matches!(
            self,
            Self::Grants | Self::Revocations | Self::Limits | Self::Submissions
        )
    }

    pub(super) fn takes(&self, method: &Method) -> bool {
        if self.writes() {
            method == Method::POST
        } else {
            method == Method::GET || method == Method::HEAD
        }
    }

    pub(super) const fn allow(&self) -> &'static str {
        if self.writes() {
            "POST, OPTIONS"
        } else {
            "GET, HEAD, OPTIONS"
        }
    }
}

pub(super) fn read(path: &str) -> Result<Route, Unroutable> {
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["status"] => Ok(Route::Status),
        ["policy"] => Ok(Route::Policy),
        ["grants"] => Ok(Route::Grants),
        ["revocations"] => Ok(Route::Revocations),
        ["limits"] => Ok(Route::Limits),
        ["submissions"] => Ok(Route::Submissions),
        ["submissions", plan] => match parse_hex_array::<32>(plan) {
            Some(plan) => Ok(Route::Submission(plan.into())),
            None => Err(Unroutable::Parts(vec![problem(
                "payload_digest",
                WORD,
                plan,
            )])),
        },
        ["grants", account, grant_id] => {
            grant(account, grant_id).map(|(account, grant_id)| Route::Grant(account, grant_id))
        }
        ["grants", account, grant_id, "log"] => {
            grant(account, grant_id).map(|(account, grant_id)| Route::Log(account, grant_id))
        }
        _ => Err(Unroutable::Path),
    }
}

/// Reads the number of the first requested record.
pub(super) fn cursor(query: Option<&str>) -> Result<u64, Refused> {
    let Some(query) = query.filter(|query| !query.is_empty()) else {
        return Ok(0);
    };
    let number = query.strip_prefix("cursor=").filter(|text| {
        !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit())
    });
    let number = number.and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let expected = "cursor= and the number of a record, nothing else";
        Refused::invalid(vec![problem_at("query", expected, query)])
    })
}

const ADDRESS: &str = "0x and 40 hexadecimal digits";
const WORD: &str = "0x and 64 hexadecimal digits";

fn grant(account: &str, grant_id: &str) -> Result<(Address, B256), Unroutable> {
    match (
        parse_hex_array::<20>(account),
        parse_hex_array::<32>(grant_id),
    ) {
        (Some(account), Some(grant_id)) => Ok((account.into(), grant_id.into())),
        (read_account, read_id) => {
            let account = read_account
                .is_none()
                .then(|| problem("account", ADDRESS, account));
            let grant_id = read_id
                .is_none()
                .then(|| problem("grant_id", WORD, grant_id));
            Err(Unroutable::Parts(
                account.into_iter().chain(grant_id).collect(),
            ))
        }
    }
}

fn problem(name: &str, expected: &str, observed: &str) -> Value {
    problem_at(&format!("path.{name}"), expected, observed)
}

fn problem_at(path: &str, expected: &str, observed: &str) -> Value {
    json!({
        "path": path,
        "code": "invalid",
        "message": format!("expected {expected}"),
        "expected": expected,
        "observed": observed.chars().take(80).collect::<String>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::DELEGATION_ENDPOINTS;

    #[test]
    fn a_path_leads_to_its_endpoint() {
        let account = format!("0x{}", "aB".repeat(20));
        let word = format!("0x{}", "22".repeat(32));
        let (a, w) = (Address::repeat_byte(0xab), B256::repeat_byte(0x22));
        for (path, route) in [
            ("/delegation/status".to_owned(), Route::Status),
            (
                format!("/delegation/grants/{account}/{word}"),
                Route::Grant(a, w),
            ),
            (
                format!("/delegation/grants/{account}/{word}/log"),
                Route::Log(a, w),
            ),
            (
                format!("/delegation/submissions/{word}"),
                Route::Submission(w),
            ),
        ] {
            assert_eq!(read(&path), Ok(route), "{path}");
            assert!(DELEGATION_ENDPOINTS.contains(&route.name()), "{path}");
        }
        for path in [
            "/delegation/".to_owned(),
            "/delegation/statuses".to_owned(),
            "/delegation/status/".to_owned(),
            format!("/delegation/grants/{account}"),
            format!("/delegation/grants/{account}/{word}/logs"),
            format!("/delegation/grants/{account}/{word}/log/"),
        ] {
            assert_eq!(read(&path), Err(Unroutable::Path), "{path}");
        }
        for (path, problems) in [
            (format!("/delegation/grants/{word}/{account}"), 2),
            (format!("/delegation/grants/{account}/{}", &word[..65]), 1),
            (format!("/delegation/grants/{}/{word}", &account[2..]), 1),
            ("/delegation/submissions/0x".to_owned(), 1),
        ] {
            match read(&path) {
                Err(Unroutable::Parts(found)) => assert_eq!(found.len(), problems, "{path}"),
                other => panic!("{path}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_cursor_is_the_number_of_a_record() {
        for (query, from) in [
            (None, 0),
            (Some(""), 0),
            (Some("cursor=0"), 0),
            (Some("cursor=200"), 200),
        ] {
            assert_eq!(cursor(query).ok(), Some(from));
        }
        for query in [
            "cursor=",
            "cursor=-1",
            "cursor=1&cursor=2",
            "page=1",
            "cursor=9999999999999999999",
        ] {
            assert!(cursor(Some(query)).is_err(), "{query}");
        }
    }
}
