//! The documents by which registries and language models find the routes: `/.well-known/x402` and
//! `/llms.txt`.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use x402_wire::Scheme;

use crate::{
    Catalog, Group, Operation, Presence,
    render::{dollars, sorted, sorted_ascii_json},
};

/// One paragraph about how to pay. It is also `info.x-guidance` of OpenAPI.
pub(crate) const GUIDANCE: &str = "Call a route without payment: the 402 answer carries the \
     accepted payments and the exact price, in the PAYMENT-REQUIRED header and in the body. Sign \
     one of them (x402 version 2) and repeat the same request with the PAYMENT-SIGNATURE header. \
     There are no keys and no accounts. Parameters are checked before anything is charged; every \
     refusal and every error is free and says so. The same payment for the same request returns \
     the stored answer again without a second charge. Every 402, 409, 429 and 503 about a payment \
     carries `next`: send_same_again (the same header, after `after_seconds`), look_up or wait \
     (GET /payments/{asset}/{payer}/{nonce} gives the state of a payment for free), or sign_new. \
     Sign a new payment only when `next` says so: an earlier one may still be charged. GET \
     /freshness states the age of the data for free; max_age refuses older data uncharged.";

impl Catalog {
    /// Makes the document at `/.well-known/x402`. It has the URL of every resource once, and the
    /// operations that are not served.
    pub fn well_known(&self) -> Json {
        let mut resources: Vec<String> = Vec::new();
        for operation in Operation::ALL {
            let url = self.resource_url(operation, None);
            if !resources.contains(&url) {
                resources.push(url);
            }
        }
        let unavailable = self.offered().unserved.iter().map(|(operation, unserved)| {
            json!({
                "url": self.resource_url(*operation, None),
                "method": operation.route().method.as_str(),
                "reason": unserved.reason,
                "needs": unserved.needs,
            })
        });
        sorted(json!({
            "version": 1,
            "resources": resources,
            "unavailable": unavailable.collect::<Json>(),
            "instructions": GUIDANCE,
        }))
    }

    /// Makes the document at `/llms.txt`.
    pub fn llms_txt(&self) -> String {
        let base = self.base_url();
        let mut text = format!(
            "# {}\n\n> Market, token, DeFi, news, derivatives and macro data, AI generation and \
             wallet actions, paid per call on {} with x402.\n\n{GUIDANCE}\n\n\
             - [OpenAPI]({base}/openapi.json): every parameter and answer\n\
             - [Freshness]({base}/freshness): the age of every dataset, free\n\
             - [Status]({base}/status): the state of every source and route, free\n",
            self.brand(),
            self.network_name()
        );
        if let Some(contact) = self.contact() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "- Contact: {contact}");
        }
        text.push_str(
            "\n## Assets\n\nAll have six decimals: 1000 of the smallest unit are $0.001.\n\n",
        );
        for asset in self.assets() {
            let _ = writeln!(
                text,
                "- {} on {}: {} (EIP-712 name `{}`, version `{}`)",
                asset.name,
                self.network_name(),
                asset.address,
                asset.name,
                asset.version
            );
        }
        for scheme in &self.offered().unpayable {
            let _ = writeln!(
                text,
                "- Options with scheme `{}` cannot be paid here; pay with another one.",
                scheme.as_str()
            );
        }
        let deferred = Scheme::AggrDeferred;
        if !self.offered().unpayable.contains(&deferred) {
            let _ = writeln!(
                text,
                "- Options with scheme `{}` never pay for an answer about the payer's own wallet \
                 (`payment_not_proven`); pay with another one.",
                deferred.as_str()
            );
        }
        for group in Group::ALL {
            let _ = writeln!(text, "\n## {}\n", group.title());
            for operation in group.operations() {
                self.push_llms_route(&mut text, operation);
            }
        }
        text
    }

    /// Appends one route to `/llms.txt`, with a call that works as it is written.
    fn push_llms_route(&self, text: &mut String, operation: Operation) {
        let (route, base) = (operation.route(), self.base_url());
        let unserved = self.offered().of(operation);
        let said = unserved.map_or_else(String::new, |unserved| {
            format!("[{}] ", capitalised(&unserved.sentence()))
        });
        let _ = writeln!(
            text,
            "- {} {base}{} ({}): {said}{}{}",
            route.method,
            route.path,
            dollars(route.price),
            route.description,
            route
                .slowness()
                .map_or_else(String::new, |slowness| format!(" {slowness}"))
        );
        let call = route.example_call();
        let body = match route.takes_body() {
            true => format!(" with the body `{}`", sorted_ascii_json(&call.body)),
            false => String::new(),
        };
        let _ = writeln!(
            text,
            "  - Example: {} {base}{}{body}",
            route.method, call.target
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
}

/// Returns `text` with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
