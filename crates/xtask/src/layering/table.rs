//! The rows of the layers: every crate of this workspace, its layer and what it may use.
//!
//! The file `table/packages.rs` has the rules about packages. `docs/ARCHITECTURE.md` explains the
//! place of each crate.

mod packages;

use packages::{EFFECTS, IMPURE, NETWORK, RUNTIMES, STORAGE};
pub use packages::{NOT_SHIPPED, ORACLES, REFUSED, RESERVED, Reserved, SINGLE};

/// One crate of this workspace.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Its layer. An arrow leads to a lower layer, or to a neighbour that the table names.
    pub layer: u8,
    /// The members that it may use outside its tests, and no others of this workspace.
    pub may_use: &'static [&'static str],
    /// Packages that it must not reach outside its tests, by any path.
    pub must_not_reach: &'static [&'static [&'static str]],
}

impl Member {
    /// Whether it has no clock, no I/O, no randomness and no runtime.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.must_not_reach == IMPURE
    }
}

/// Every crate of the workspace. A crate without a row is refused, and so is a row without a crate.
pub const MEMBERS: &[Member] = &[
    Member {
        name: "exact",
        layer: 0,
        may_use: &[],
        must_not_reach: IMPURE,
    },
    Member {
        name: "x402-wire",
        layer: 1,
        may_use: &["exact"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "credit",
        layer: 0,
        may_use: &[],
        must_not_reach: IMPURE,
    },
    Member {
        name: "calldata-checks",
        layer: 1,
        may_use: &["exact"],
        must_not_reach: IMPURE,
    },
    // It asks the machine for randomness only.
    Member {
        name: "keystore",
        layer: 0,
        may_use: &[],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS],
    },
    // It reads the certificates of the system, and opens no connection.
    Member {
        name: "outbound-tls",
        layer: 0,
        may_use: &[],
        must_not_reach: &[STORAGE, &["tokio", "hyper", "reqwest"]],
    },
    Member {
        name: "plan-builder",
        layer: 2,
        may_use: &["calldata-checks", "exact"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "route-catalog",
        layer: 2,
        may_use: &["exact", "x402-wire"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "readings",
        layer: 1,
        may_use: &["exact"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "storage",
        layer: 2,
        may_use: &["credit", "outbound-tls"],
        must_not_reach: &[&["hyper", "reqwest", "axum", "revm"]],
    },
    Member {
        name: "delegation-fence",
        layer: 3,
        may_use: &["calldata-checks", "exact", "plan-builder"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "yield-watch",
        layer: 2,
        may_use: &["readings"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "http-edge",
        layer: 3,
        may_use: &[],
        must_not_reach: &[STORAGE, &["reqwest", "alloy-primitives"]],
    },
    Member {
        name: "tx-sender",
        layer: 3,
        may_use: &["keystore", "outbound-tls", "storage"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It signs the sender's transactions, and sends nothing itself.
    Member {
        name: "custody",
        layer: 4,
        may_use: &["exact", "keystore", "storage", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // A provider of custody, with keys behind a service.
    Member {
        name: "custody-turnkey",
        layer: 5,
        may_use: &["custody", "outbound-tls"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // The sender sends and records its transactions.
    Member {
        name: "settlement",
        layer: 4,
        may_use: &["exact", "outbound-tls", "tx-sender", "x402-wire"],
        must_not_reach: &[&["revm"]],
    },
    // It has a server's records and its work for the fence. Sending is a port.
    Member {
        name: "fence-server",
        layer: 4,
        may_use: &[
            "calldata-checks",
            "delegation-fence",
            "plan-builder",
            "storage",
        ],
        must_not_reach: &[&["hyper", "reqwest", "axum", "revm", "x402-wire"]],
    },
    // It has a server's records of mandates. Moving money is a port.
    Member {
        name: "watch-server",
        layer: 3,
        may_use: &["readings", "storage", "yield-watch"],
        must_not_reach: &[&["hyper", "reqwest", "axum", "revm", "x402-wire"]],
    },
    Member {
        name: "ledger",
        layer: 3,
        may_use: &["storage", "x402-wire"],
        must_not_reach: &[&["hyper", "reqwest", "axum", "revm"]],
    },
    Member {
        name: "data-sources",
        layer: 3,
        may_use: &[
            "calldata-checks",
            "credit",
            "exact",
            "outbound-tls",
            "plan-builder",
            "readings",
        ],
        must_not_reach: &[
            STORAGE,
            &["revm"],
            // Other projects may embed its adapters, so they link nothing about payments.
            &[
                "alloy-signer",
                "alloy-signer-local",
                "ledger",
                "route-catalog",
                "settlement",
                "x402-wire",
            ],
        ],
    },
    Member {
        name: "server-config",
        layer: 3,
        may_use: &["readings"],
        must_not_reach: &[STORAGE, &["hyper", "reqwest"]],
    },
    Member {
        name: "server-process",
        layer: 4,
        may_use: &["http-edge", "server-config"],
        must_not_reach: &[STORAGE, &["reqwest"]],
    },
    Member {
        name: "dev-chain",
        layer: 4,
        may_use: &[],
        must_not_reach: &[STORAGE, &["reqwest"]],
    },
    Member {
        name: "replay",
        layer: 4,
        may_use: &["exact", "http-edge"],
        must_not_reach: &[STORAGE, &["reqwest", "revm"]],
    },
    // It reads through the sender's transports, and sends nothing.
    Member {
        name: "chain-reader",
        layer: 4,
        may_use: &["calldata-checks", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It knows neither plans nor actions. The caller gives it the keys of transfers and the owners.
    Member {
        name: "gas-funding",
        layer: 5,
        may_use: &["chain-reader", "custody", "storage", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It has effects only through ports and lower crates, and holds no key.
    Member {
        name: "fence-sending",
        layer: 6,
        may_use: &[
            "calldata-checks",
            "chain-reader",
            "custody",
            "delegation-fence",
            "fence-server",
            "gas-funding",
            "plan-builder",
            "tx-sender",
        ],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It builds no route and reads no upstream. Plans, prices and payments are ports.
    Member {
        name: "wallet-actions",
        layer: 6,
        may_use: &[
            "calldata-checks",
            "chain-reader",
            "custody",
            "exact",
            "gas-funding",
            "storage",
            "tx-sender",
        ],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    Member {
        name: "api-server",
        layer: 7,
        may_use: &[
            "calldata-checks",
            "chain-reader",
            "credit",
            "custody",
            "custody-turnkey",
            "data-sources",
            "delegation-fence",
            "dev-chain",
            "exact",
            "fence-sending",
            "fence-server",
            "gas-funding",
            "http-edge",
            "ledger",
            "plan-builder",
            "readings",
            "recorder",
            "replay",
            "route-catalog",
            "server-config",
            "server-process",
            "settlement",
            "storage",
            "tx-sender",
            "wallet-actions",
            "watch-server",
            "x402-wire",
            "yield-watch",
        ],
        must_not_reach: &[],
    },
    Member {
        name: "mcp-server",
        layer: 5,
        may_use: &[
            "calldata-checks",
            "credit",
            "data-sources",
            "dev-chain",
            "exact",
            "http-edge",
            "plan-builder",
            "recorder",
            "replay",
            "server-config",
            "server-process",
            "storage",
        ],
        must_not_reach: &[&[
            "ledger",
            "x402-wire",
            "settlement",
            "route-catalog",
            "alloy-signer",
            "alloy-signer-local",
        ]],
    },
    // The signing tool opens no socket. The commands that ask a server are in a separate crate.
    Member {
        name: "fence-offline",
        layer: 4,
        may_use: &[
            "calldata-checks",
            "delegation-fence",
            "exact",
            "keystore",
            "plan-builder",
        ],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    Member {
        name: "fence-online",
        layer: 5,
        may_use: &["delegation-fence", "exact", "fence-offline"],
        must_not_reach: &[RUNTIMES, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    Member {
        name: "fence-cli",
        layer: 6,
        may_use: &["fence-offline", "fence-online"],
        must_not_reach: &[RUNTIMES, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    // It is not shipped.
    Member {
        name: "bench",
        layer: 8,
        may_use: &[
            "api-server",
            "calldata-checks",
            "custody",
            "data-sources",
            "dev-chain",
            "http-edge",
            "ledger",
            "mcp-server",
            "plan-builder",
            "postgres-cluster",
            "replay",
            "route-catalog",
            "settlement",
            "storage",
            "tx-sender",
            "x402-wire",
        ],
        must_not_reach: &[],
    },
    Member {
        name: "judges",
        layer: 7,
        may_use: &["test-support"],
        must_not_reach: &[],
    },
    Member {
        name: "siege",
        layer: 9,
        may_use: &[
            "api-server",
            "bench",
            "custody",
            "data-sources",
            "delegation-fence",
            "dev-chain",
            "postgres-cluster",
            "replay",
            "x402-wire",
        ],
        must_not_reach: &[],
    },
    Member {
        name: "recorder",
        layer: 4,
        may_use: &["data-sources", "http-edge", "outbound-tls"],
        must_not_reach: &[STORAGE, &["revm"]],
    },
    // It starts installed programs, and connects to nothing.
    Member {
        name: "postgres-cluster",
        layer: 0,
        may_use: &[],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS],
    },
    // Only tests and the judges depend on it. The judges are tests, too.
    Member {
        name: "test-support",
        layer: 6,
        may_use: &[
            "data-sources",
            "gas-funding",
            "outbound-tls",
            "postgres-cluster",
            "storage",
            "tx-sender",
        ],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    Member {
        name: "xtask",
        layer: 7,
        may_use: &["postgres-cluster"],
        must_not_reach: &[NETWORK, STORAGE],
    },
];

/// The programs that are shipped. They are built without default features.
pub const SHIPPED: &[&str] = &["api-server", "fence-cli", "mcp-server"];

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str) -> Option<u8> {
        MEMBERS
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.layer)
    }

    #[test]
    fn allowed_arrows_go_down() {
        for member in MEMBERS {
            for used in member.may_use {
                let below = layer(used).unwrap_or_else(|| panic!("{used} has no row"));
                assert!(below < member.layer, "{} → {used}", member.name);
            }
        }
    }
}
