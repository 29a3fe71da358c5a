//! The rows of the routes that audit contracts and vet tokens.

use x402_wire::MicroUsd;

use super::{CHAIN, READ_SECONDS};
use crate::{Dataset, Method, Parameter, Route, Rule, WorkClass};

pub(crate) const TOKEN_SECURITY: Route = Route {
    method: Method::Get,
    path: "/token-security",
    resource: "/token-security",
    price: MicroUsd::dollars("0.001"),
    summary: "Contract audit",
    description: "Contract audit: honeypot, rug-pull risk, taxes, ownership, liquidity and \
                  holders. A check that could not be made is null, and the verdict is never `safe` \
                  while the honeypot check is null.",
    refuses: "every scan is empty",
    query: &[
        Parameter::required(
            "address",
            Rule::Address,
            "0x4200000000000000000000000000000000000006",
            "Token contract.",
        ),
        // The example is a chain that every scanner covers.
        Parameter {
            example: "8453",
            ..CHAIN
        },
    ],
    body: &[],
    constraints: &[],
    core: &["security_scan"],
    datasets: &[Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/token_security.json"),
};

pub(crate) const VET_TOKEN: Route = Route {
    method: Method::Get,
    path: "/vet-token",
    resource: "/vet-token",
    price: MicroUsd::dollars("0.01"),
    summary: "One-call token check",
    description: "Contract security, holder concentration, DEX tradeability both ways and price of \
                  a token on X Layer, verdict first, with its basis. The verdict is at best \
                  `caution` while a severe check was not made, the holders are not listed or a \
                  size was not quoted.",
    refuses: "the security scan is empty",
    query: &[Parameter::required(
        "address",
        Rule::Address,
        "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        "Token contract on X Layer.",
    )],
    body: &[],
    constraints: &[],
    core: &["security_scan"],
    datasets: &[Dataset::TokenList],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/vet_token.json"),
};
