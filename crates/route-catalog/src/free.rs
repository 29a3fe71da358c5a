//! The endpoints beside the paid routes, which cost nothing.

/// An unpaid endpoint of the server, answered to `GET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeRoute {
    /// The path.
    pub path: &'static str,
    /// The stable name, the `operationId` of OpenAPI.
    pub name: &'static str,
    /// A few words.
    pub summary: &'static str,
    /// The media type of its 200 answer.
    pub media_type: &'static str,
    /// Whether it also answers 503, with the reasons.
    pub may_be_unready: bool,
    /// The parameters in its path, in order.
    pub parameters: &'static [PathParameter],
    /// Why nothing may be found under its path.
    pub absent: Option<&'static str>,
}

/// A parameter in the path of a free route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParameter {
    /// Its name between the braces.
    pub name: &'static str,
    /// The regular expression that its values match.
    pub pattern: &'static str,
}

const ADDRESS_PATTERN: &str = "^0x[a-fA-F0-9]{40}$";

/// Every unpaid endpoint.
pub static FREE_ROUTES: [FreeRoute; 13] = [
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
        "/freshness",
        "freshness",
        "Age and verdict of every dataset, before paying",
        JSON,
    ),
    FreeRoute {
        parameters: &[PathParameter {
            name: "sha256",
            pattern: "^[0-9a-f]{64}$",
        }],
        absent: Some("There is no such artifact, or no longer"),
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
                pattern: "^0x[a-fA-F0-9]{64}$",
            },
        ],
        ..free(
            "/payments/{asset}/{payer}/{nonce}",
            "payment_state",
            "Where a payment stands: not_seen, in_flight, settled, released, unknown or undecidable",
            JSON,
        )
    },
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

const JSON: &str = "application/json";

const fn free(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    media_type: &'static str,
) -> FreeRoute {
    FreeRoute {
        path,
        name,
        summary,
        media_type,
        may_be_unready: false,
        parameters: &[],
        absent: None,
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
