//! The table of the free endpoints beside the paid routes. Documents are rendered from it.

/// A free endpoint of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeRoute {
    /// The path.
    pub path: &'static str,
    /// Whether it answers `POST` with a JSON body; otherwise it answers `GET`.
    pub takes_body: bool,
    /// The stable name, which is the `operationId` of OpenAPI.
    pub name: &'static str,
    /// The summary in a few words.
    pub summary: &'static str,
    /// The media type of the 200 answer.
    pub media_type: &'static str,
    /// Whether the endpoint also answers 503 with the reasons.
    pub may_be_unready: bool,
    /// The parameters in the path, in their order.
    pub parameters: &'static [PathParameter],
    /// The reason of a 404. `None` when the endpoint never answers 404.
    pub absent: Option<&'static str>,
}

/// A parameter in the path of a free route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParameter {
    /// The name, as it stands between the braces.
    pub name: &'static str,
    /// The regular expression that every value matches.
    pub pattern: &'static str,
}

const ADDRESS_PATTERN: &str = "^0x[a-fA-F0-9]{40}$";

/// Every free endpoint.
pub static FREE_ROUTES: [FreeRoute; 24] = [
    free("/", "index", "A page for people", "text/html"),
    free(
        "/icon.svg",
        "icon",
        "The icon of the service",
        "image/svg+xml",
    ),
    free(
        "/favicon.ico",
        "favicon",
        "The icon of the service, small",
        "image/x-icon",
    ),
    free("/healthz", "healthz", "The process is up", JSON),
    FreeRoute {
        may_be_unready: true,
        ..free(
            "/readyz",
            "readyz",
            "Dependencies are usable; 503 with the reasons otherwise",
            JSON,
        )
    },
    free(
        "/status",
        "status",
        "State of every upstream and dataset",
        JSON,
    ),
    free(
        "/status/detail",
        "status_detail",
        "The same for operators, with the files of sub-wallets that cannot be used",
        JSON,
    ),
    free(
        "/freshness",
        "freshness",
        "Age and verdict of every dataset, before paying",
        JSON,
    ),
    FreeRoute {
        parameters: &[PathParameter {
            name: "id",
            pattern: "^[0-9a-f]{32}$",
        }],
        ..free(
            "/intents/{id}",
            "intent",
            "The progress of an action of a sub-wallet",
            JSON,
        )
    },
    FreeRoute {
        parameters: &[PathParameter {
            name: "sha256",
            pattern: "^[0-9a-f]{64}$",
        }],
        absent: Some("The artifact does not exist, or is no longer kept"),
        ..free(
            "/artifacts/{sha256}",
            "artifact",
            "An image that a paid answer refers to, kept for a day",
            "image/*",
        )
    },
    FreeRoute {
        parameters: &[
            PathParameter {
                name: "asset",
                pattern: ADDRESS_PATTERN,
            },
            PathParameter {
                name: "payer",
                pattern: ADDRESS_PATTERN,
            },
            PathParameter {
                name: "nonce",
                pattern: WORD_PATTERN,
            },
        ],
        ..free(
            "/payments/{asset}/{payer}/{nonce}",
            "payment_state",
            "The state of a payment: not_seen, in_flight, settled, released, unknown or undecidable",
            JSON,
        )
    },
    delegation(
        "/delegation/status",
        "delegation_status",
        "The public record of the delegation fence, read back now",
        &[],
    ),
    delegation(
        "/delegation/policy",
        "delegation_policy",
        "The fence's rules document in its canonical bytes, tagged with their digest",
        &[],
    ),
    written(delegation(
        "/delegation/grants",
        "delegation_grant",
        "Receives a signed grant; 201 when it is new",
        &[],
    )),
    delegation(
        "/delegation/grants/{account}/{grant_id}",
        "delegation_grant_state",
        "The state of a grant: not_yet_valid, active, expired, revoked or superseded",
        GRANT_PATH,
    ),
    delegation(
        "/delegation/grants/{account}/{grant_id}/log",
        "delegation_grant_log",
        "The log of a grant: hash-chained records, from the number in the query `cursor` on",
        GRANT_PATH,
    ),
    written(delegation(
        "/delegation/revocations",
        "delegation_revocation",
        "Receives a signed revocation, reads it back and gives its receipt",
        &[],
    )),
    written(delegation(
        "/delegation/limits",
        "delegation_limit",
        "Receives a signed limit, which tightens a grant at once",
        &[],
    )),
    written(delegation(
        "/delegation/submissions",
        "delegation_submission",
        "Receives a plan that a grant's delegate ordered; 202 when it is accepted; with `dry_run` it is only judged",
        &[],
    )),
    delegation(
        "/delegation/submissions/{payload_digest}",
        "delegation_submission_state",
        "The state of an accepted plan",
        &[PathParameter {
            name: "payload_digest",
            pattern: WORD_PATTERN,
        }],
    ),
    free("/metrics", "metrics", "Prometheus metrics", "text/plain"),
    free("/openapi.json", "openapi", "This document", JSON),
    free(
        "/.well-known/x402",
        "well_known_x402",
        "The paid resources",
        JSON,
    ),
    free(
        "/llms.txt",
        "llms_txt",
        "The routes for language models",
        "text/plain",
    ),
];

const WORD_PATTERN: &str = "^0x[a-fA-F0-9]{64}$";

/// The path parameter that names a grant.
const GRANT_PATH: &[PathParameter] = &[
    PathParameter {
        name: "account",
        pattern: ADDRESS_PATTERN,
    },
    PathParameter {
        name: "grant_id",
        pattern: WORD_PATTERN,
    },
];

const JSON: &str = "application/json";

const fn free(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    media_type: &'static str,
) -> FreeRoute {
    FreeRoute {
        path,
        takes_body: false,
        name,
        summary,
        media_type,
        may_be_unready: false,
        parameters: &[],
        absent: None,
    }
}

/// Makes an endpoint of the fence. A server without `[delegation]` does not have it.
const fn delegation(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    parameters: &'static [PathParameter],
) -> FreeRoute {
    FreeRoute {
        parameters,
        absent: Some("It is unknown, or this server takes no delegations"),
        ..free(path, name, summary, JSON)
    }
}

/// Makes the endpoint take a body.
const fn written(route: FreeRoute) -> FreeRoute {
    FreeRoute {
        takes_body: true,
        ..route
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Resolution, resolve};

    #[test]
    fn no_free_endpoint_is_a_paid_path() {
        for route in FREE_ROUTES {
            assert_eq!(
                resolve("GET", route.path),
                Resolution::NotFound,
                "{}",
                route.path
            );
        }
    }
}
