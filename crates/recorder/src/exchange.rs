//! One request to an upstream and its answer. What this module writes contains no key.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The query parameters whose values are keys.
const SECRET_PARAMETERS: [&str; 8] = [
    "access_key",
    "api_key",
    "apikey",
    "auth_token",
    "key",
    "secret",
    "token",
    "x_cg_demo_api_key",
];
/// Headers whose names contain one of these words carry keys.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "key",
    "passphrase",
    "secret",
    "sign",
    "token",
];
/// A value with fewer bytes is no key.
const SHORTEST_KEY: usize = 8;
const LONGEST_STEM: usize = 48;

/// A request, with its keys, and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) sent_headers: HeaderMap,
    pub(crate) sent: Bytes,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

impl Exchange {
    /// Returns the request in the form in which `replay` matches requests. Keys are replaced by
    /// `*`.
    pub(crate) fn matcher(&self) -> Value {
        let mut request = json!({ "method": self.method, "host": self.host, "path": self.path });
        if let Some(members) = request.as_object_mut() {
            if !self.query.is_empty() {
                let query: BTreeMap<&str, &str> = self
                    .query
                    .iter()
                    .map(|(name, value)| (name.as_str(), redacted(name, value)))
                    .collect();
                members.insert("query".to_owned(), json!(query));
            }
            if let Ok(body) = serde_json::from_slice::<Value>(&self.sent) {
                members.insert("body".to_owned(), body);
            }
        }
        request
    }

    /// Makes a file name that describes the request. Different requests get different names.
    pub(crate) fn file_name(&self) -> String {
        let tail = self.path.rsplit('/').find(|part| !part.is_empty());
        let mut stem = String::new();
        for c in tail.unwrap_or("root").chars() {
            match c {
                c if c.is_ascii_alphanumeric() => stem.push(c.to_ascii_lowercase()),
                _ if stem.ends_with('_') => {}
                _ => stem.push('_'),
            }
        }
        stem.truncate(LONGEST_STEM);
        let digest = Sha256::digest(self.matcher().to_string());
        let mark: String = digest
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let extension = match self
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
        {
            kind if kind.ends_with("json") => "json",
            kind if kind.ends_with("csv") => "csv",
            kind if kind.ends_with("xml") => "xml",
            kind if kind.ends_with("html") => "html",
            _ => "txt",
        };
        format!("{}_{mark}.{extension}", stem.trim_matches('_'))
    }

    /// Whether the answer contains a key of the request.
    pub(crate) fn repeats_a_key(&self) -> bool {
        let headers = self.sent_headers.iter().filter_map(|(name, value)| {
            let secret = SECRET_HEADERS
                .iter()
                .any(|part| name.as_str().contains(part));
            let text = value.to_str().ok().filter(|_| secret)?;
            Some(text.trim_start_matches("Bearer "))
        });
        let parameters = self
            .query
            .iter()
            .filter(|(name, _)| is_secret(name))
            .map(|(_, value)| value.as_str());
        headers
            .chain(parameters)
            .any(|key| key.len() >= SHORTEST_KEY && self.body.contains(key))
    }
}

fn redacted<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret(name) { "*" } else { value }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARAMETERS.contains(&name.as_str())
}
