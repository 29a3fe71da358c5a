//! The example call of each route. Every document shows this call and no other. The tests of
//! `api-server` pay for it as each document writes it.

use serde_json::Value as Json;

use crate::{Parameter, Route, schema};

/// The example call of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleCall {
    /// The query as pairs that are not encoded.
    pub query: Vec<(&'static str, &'static str)>,
    /// The JSON body. It is an empty object when the route takes none.
    pub body: Json,
    /// The path and the query, encoded.
    pub target: String,
}

impl Route {
    /// Returns the smallest call that shows the route's function and that a server serves.
    ///
    /// It has the required parameters, the first parameter of each group of alternatives, the
    /// parameters whose example differs from their default, and `address`. Without `address` the
    /// call would be about the payer's own sub-wallet: not every server has sub-wallets, and a new
    /// payer has none.
    #[must_use]
    pub fn example_call(&self) -> ExampleCall {
        let shown = self.query.iter().filter(|known| self.shows(known));
        let query: Vec<_> = shown.map(|known| (known.name, known.example)).collect();
        let mut target = self.path.to_owned();
        for (index, (name, value)) in query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            push_encoded(&mut target, value);
        }
        let body = schema::examples(self.body.iter().filter(|known| self.shows(known)));
        ExampleCall {
            query,
            body,
            target,
        }
    }

    /// Whether the example call has this parameter.
    pub(crate) fn shows(&self, parameter: &Parameter) -> bool {
        let alternatives = || {
            self.constraints
                .iter()
                .filter_map(|rule| rule.alternatives())
        };
        let mut grouped = alternatives().filter(|names| names.contains(&parameter.name));
        match grouped.next() {
            Some(names) => names.first() == Some(&parameter.name),
            None => {
                let chosen = parameter
                    .default()
                    .is_some_and(|text| text != parameter.example);
                parameter.is_required() || parameter.name == "address" || chosen
            }
        }
    }
}

/// Percent-encodes every character except those that RFC 3986 calls unreserved.
fn push_encoded(target: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                target.push(char::from(byte));
            }
            _ => target.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn an_example_is_a_complete_call() {
        for operation in Operation::ALL {
            let route = operation.route();
            let ExampleCall { target, body, .. } = route.example_call();
            let query = target.split_once('?').map(|(_, query)| query);
            let parsed = route.parse(query, body.to_string().as_bytes());
            assert!(parsed.is_ok(), "{target} {body}: {parsed:?}");
        }
    }

    #[test]
    fn an_example_names_addresses_and_one_of_its_alternatives() {
        let target = |operation: Operation| operation.route().example_call().target;
        assert!(target(Operation::Portfolio).starts_with("/portfolio?address=0x"));
        assert!(!target(Operation::YieldFarmingHistorical).contains("address"));
        assert_eq!(target(Operation::CryptoNews), "/crypto-news");
        let research = target(Operation::LlmResearch);
        assert!(
            research.contains("%20") && research.is_ascii(),
            "{research}"
        );
    }
}
