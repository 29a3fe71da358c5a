//! The documents by which registries and language models find the routes.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::{Catalog, Operation, Presence, render::sorted};

/// How to pay, in one paragraph; also `info.x-guidance` of OpenAPI.
pub(crate) const GUIDANCE: &str = "Call a route without payment: the 402 answer carries the \
     accepted payments and the exact price, in the PAYMENT-REQUIRED header and in the body. Sign \
     one of them (x402 version 2) and repeat the same request with the PAYMENT-SIGNATURE header. \
     There are no keys and no accounts. Parameters are checked before anything is charged; every \
     refusal and every error is free and says so. The same payment for the same request returns \
     the stored answer again without a second charge. Every 402, 409, 429 and 503 about a \
     payment carries `next`: send_same_again (the same header, after `after_seconds`), look_up or \
     wait (GET /payments/{asset}/{payer}/{nonce} says for free where a payment stands), or \
     sign_new. Sign a new payment only when told to: an earlier one may still be charged. GET \
     /freshness says for free how old the \
     data is; max_age refuses older data uncharged.";

impl Catalog {
    /// The document at `/.well-known/x402`: every resource's URL, once.
    pub fn well_known(&self) -> Json {
        let mut resources: Vec<String> = Vec::new();
        for operation in Operation::ALL {
            let url = self.resource_url(operation, None);
            if !resources.contains(&url) {
                resources.push(url);
            }
        }
        sorted(json!({"version": 1, "resources": resources, "instructions": GUIDANCE}))
    }

    /// The document at `/llms.txt`.
    pub fn llms_txt(&self) -> String {
        let base = self.base_url();
        let mut text = format!(
            "# {}\n\n> Market, token, DeFi, news, derivatives and macro data, AI generation and \
             wallet actions, paid per call on {} with x402.\n\n{GUIDANCE}\n\n\
             - [OpenAPI]({base}/openapi.json): every parameter and answer\n\
             - [Freshness]({base}/freshness): the age of every dataset, free\n\
             - [Status]({base}/status): the state of every source, free\n\n## Routes\n\n",
            self.brand(),
            self.network()
        );
        for operation in Operation::ALL {
            let route = operation.route();
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "- {} {base}{} (${}): {}",
                route.method, route.path, route.price, route.description
            );
            for parameter in route.query.iter().chain(route.body) {
                let presence = match parameter.presence {
                    Presence::Required => "required".to_owned(),
                    Presence::Optional => "optional".to_owned(),
                    Presence::Default(text) => format!("default {text}"),
                };
                let _ = writeln!(
                    text,
                    "  - `{}` ({presence}): {} {}.",
                    parameter.name,
                    parameter.description,
                    capitalised(&parameter.rule.expected())
                );
            }
        }
        text
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
