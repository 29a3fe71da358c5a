//! Contract audits and token vetting.

use x402_wire::MicroUsd;

use super::{CHAIN, READ_SECONDS};
use crate::{Method, Operation, Parameter, Route, Rule, WorkClass};

pub(crate) const TOKEN_SECURITY: Route = Route {
    operation: Operation::TokenSecurity,
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
            "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
            "Token contract.",
        ),
        CHAIN,
    ],
    body: &[],
    constraints: &[],
    core: &["security_scan"],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/token_security.json"),
};

pub(crate) const VET_TOKEN: Route = Route {
    operation: Operation::VetToken,
    method: Method::Get,
    path: "/vet-token",
    resource: "/vet-token",
    price: MicroUsd::dollars("0.01"),
    summary: "One-call token check",
    description: "Contract security, holder concentration, DEX tradeability both ways and price of \
                  a token on chain 196, verdict first.",
    refuses: "the security scan is empty",
    query: &[Parameter::required(
        "address",
        Rule::Address,
        "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        "Token contract on chain 196.",
    )],
    body: &[],
    constraints: &[],
    core: &["security_scan"],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/vet_token.json"),
};
