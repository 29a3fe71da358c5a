//! The rules as data. `docs/ARCHITECTURE.md` explains the place of each crate.

/// One crate of this workspace.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Its layer: an arrow goes to a lower layer, or to a neighbour that the table names.
    pub layer: u8,
    /// The members that it may use outside its tests, and no others of this workspace.
    pub may_use: &'static [&'static str],
    /// Packages that it must not reach outside its tests, by any path.
    pub must_not_reach: &'static [&'static [&'static str]],
}

/// Runtimes and everything that opens a socket.
const NETWORK: &[&str] = &[
    "async-io",
    "async-std",
    "axum",
    "curl",
    "h2",
    "hyper",
    "hyper-util",
    "isahc",
    "mio",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tokio-rustls",
    "tonic",
    "tower-http",
    "ureq",
];

/// Runtimes, which a blocking client does not need.
const RUNTIMES: &[&str] = &[
    "async-io",
    "async-std",
    "axum",
    "h2",
    "hyper",
    "hyper-util",
    "mio",
    "native-tls",
    "openssl",
    "reqwest",
    "smol",
    "tokio",
];

/// Databases.
const STORAGE: &[&str] = &[
    "deadpool-postgres",
    "libsqlite3-sys",
    "postgres",
    "redb",
    "rocksdb",
    "rusqlite",
    "sled",
    "sqlx",
    "sqlx-core",
    "tokio-postgres",
];

/// Files, clocks and the environment of the process.
const MACHINE: &[&str] = &[
    "chrono", "dirs", "dotenvy", "fs-err", "instant", "jiff", "memmap2", "notify", "quanta",
    "tempfile", "time", "walkdir", "web-time",
];

/// Servers, clients and stores that this workspace has itself.
const EFFECTS: &[&str] = &[
    "data-sources",
    "dev-chain",
    "fence-server",
    "http-edge",
    "ledger",
    "replay",
    "settlement",
    "storage",
    "tx-sender",
];

/// Packages that no pure crate may reach.
const IMPURE: &[&[&str]] = &[NETWORK, STORAGE, MACHINE, EFFECTS];

/// Every crate of the workspace. A missing crate is refused, and so is a row without a crate.
pub const MEMBERS: &[Member] = &[
    Member {
        name: "x402-wire",
        layer: 0,
        may_use: &[],
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
        layer: 0,
        may_use: &[],
        must_not_reach: IMPURE,
    },
    Member {
        name: "addresses",
        layer: 0,
        may_use: &[],
        must_not_reach: IMPURE,
    },
    // It asks the machine for randomness only.
    Member {
        name: "keystore",
        layer: 0,
        may_use: &[],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS],
    },
    Member {
        name: "plan-builder",
        layer: 1,
        may_use: &["addresses", "calldata-checks"],
        must_not_reach: IMPURE,
    },
    Member {
        name: "route-catalog",
        layer: 1,
        may_use: &["x402-wire"],
        must_not_reach: IMPURE,
    },
    // It computes with times from its caller, in `jiff`'s types.
    Member {
        name: "readings",
        layer: 1,
        may_use: &[],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS],
    },
    Member {
        name: "storage",
        layer: 2,
        may_use: &["credit"],
        must_not_reach: &[&["hyper", "reqwest", "axum", "revm"]],
    },
    Member {
        name: "delegation-fence",
        layer: 2,
        may_use: &["addresses", "calldata-checks", "plan-builder"],
        must_not_reach: IMPURE,
    },
    // Like `readings`, it computes with times from its caller.
    Member {
        name: "yield-watch",
        layer: 2,
        may_use: &["readings"],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS],
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
        may_use: &["keystore", "storage"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It signs the sender's transactions, and sends nothing itself.
    Member {
        name: "custody",
        layer: 4,
        may_use: &["addresses", "keystore", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // A provider of custody, with keys behind a service.
    Member {
        name: "custody-turnkey",
        layer: 5,
        may_use: &["custody"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // The sender sends and records its transactions.
    Member {
        name: "settlement",
        layer: 4,
        may_use: &["tx-sender", "x402-wire"],
        must_not_reach: &[&["revm"]],
    },
    // A server's records and work for the fence. Sending is a port.
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
    // A server's records of mandates. Moving money is a port.
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
            "addresses",
            "calldata-checks",
            "credit",
            "plan-builder",
            "readings",
        ],
        must_not_reach: &[
            STORAGE,
            &["revm"],
            // Its adapters are for embedders, too: they bring nothing about payments.
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
        may_use: &["addresses"],
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
        may_use: &["http-edge"],
        must_not_reach: &[STORAGE, &["reqwest"]],
    },
    Member {
        name: "replay",
        layer: 4,
        may_use: &["http-edge"],
        must_not_reach: &[STORAGE, &["reqwest", "revm"]],
    },
    // It reads through the sender's transports, and sends nothing.
    Member {
        name: "chain-reader",
        layer: 4,
        may_use: &["calldata-checks", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It knows neither plans nor actions: keys of transfers and owners are given to it.
    Member {
        name: "gas-funding",
        layer: 5,
        may_use: &["chain-reader", "custody", "storage", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    // It has effects through ports and crates below, and holds no key.
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
    // It builds no route and reads no upstream: plans, prices and payments are ports.
    Member {
        name: "wallet-actions",
        layer: 6,
        may_use: &[
            "calldata-checks",
            "chain-reader",
            "custody",
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
    // The signing tool opens no socket; the commands that ask a server are in a separate crate.
    Member {
        name: "fence-offline",
        layer: 3,
        may_use: &[
            "addresses",
            "calldata-checks",
            "delegation-fence",
            "keystore",
            "plan-builder",
        ],
        must_not_reach: &[NETWORK, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    Member {
        name: "fence-online",
        layer: 4,
        may_use: &["addresses", "delegation-fence", "fence-offline"],
        must_not_reach: &[RUNTIMES, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    Member {
        name: "fence-cli",
        layer: 5,
        may_use: &["fence-offline", "fence-online"],
        must_not_reach: &[RUNTIMES, STORAGE, EFFECTS, &["x402-wire", "route-catalog"]],
    },
    // Not shipped.
    Member {
        name: "bench",
        layer: 8,
        may_use: &[
            "api-server",
            "calldata-checks",
            "data-sources",
            "dev-chain",
            "http-edge",
            "ledger",
            "mcp-server",
            "plan-builder",
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
        may_use: &[],
        must_not_reach: &[],
    },
    Member {
        name: "siege",
        layer: 9,
        may_use: &[
            "api-server",
            "bench",
            "data-sources",
            "dev-chain",
            "replay",
            "x402-wire",
        ],
        must_not_reach: &[],
    },
    Member {
        name: "recorder",
        layer: 4,
        may_use: &["data-sources", "http-edge"],
        must_not_reach: &[STORAGE, &["revm"]],
    },
    // Only tests depend on it: no other row names it.
    Member {
        name: "test-support",
        layer: 6,
        may_use: &["gas-funding", "tx-sender"],
        must_not_reach: &[&["revm", "x402-wire"]],
    },
    Member {
        name: "xtask",
        layer: 7,
        may_use: &[],
        must_not_reach: &[NETWORK, STORAGE],
    },
];

/// A package that only the named members may use directly outside their tests.
#[derive(Debug, Clone, Copy)]
pub struct Reserved {
    /// The package.
    pub package: &'static str,
    /// The allowed users; empty means none.
    pub members: &'static [&'static str],
}

/// Packages with one home. `deny.toml` names the same ones.
pub const RESERVED: &[Reserved] = &[
    Reserved {
        package: "reqwest",
        members: &[
            "data-sources",
            "settlement",
            "tx-sender",
            "custody-turnkey",
            "judges",
            "recorder",
        ],
    },
    Reserved {
        package: "ureq",
        members: &["fence-online"],
    },
    Reserved {
        package: "alloy-provider",
        members: &["settlement"],
    },
    Reserved {
        package: "rusqlite",
        members: &[
            "storage",
            "ledger",
            "tx-sender",
            "fence-server",
            "gas-funding",
            "wallet-actions",
            "watch-server",
            "bench",
        ],
    },
    Reserved {
        package: "revm",
        members: &["dev-chain"],
    },
];

/// Packages that are never linked: a second TLS stack, and a second user of the SQLite library,
/// which could not share a lock file with the first.
pub const REFUSED: &[&str] = &["native-tls", "openssl", "openssl-sys", "sqlx"];

/// Packages that are never linked, and the members whose tests may use them directly: they verify
/// our own results.
pub const ORACLES: &[Reserved] = &[Reserved {
    package: "ethers-core",
    members: &["judges"],
}];

/// Packages with a single linked copy: hashes and curves whose results must agree, and types that
/// cross crate borders.
pub const SINGLE: &[&str] = &[
    "alloy-consensus",
    "alloy-primitives",
    "alloy-sol-types",
    "http",
    "hyper",
    "k256",
    "keccak",
    "libsqlite3-sys",
    "reqwest",
    "ring",
    "rusqlite",
    "rustls",
    "secp256k1",
    "secp256k1-sys",
    "serde_json",
    "sha3",
    "tokio",
];

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

    #[test]
    fn reserved_packages_name_members() {
        for rule in RESERVED.iter().chain(ORACLES) {
            for member in rule.members {
                assert!(
                    layer(member).is_some(),
                    "{}: {member} has no row",
                    rule.package
                );
            }
        }
    }
}
