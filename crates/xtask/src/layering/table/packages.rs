//! The rules about packages: which packages crates must not reach, which only some crates may use,
//! which are never linked, and which are linked once.

/// Runtimes and everything that opens a socket.
pub(super) const NETWORK: &[&str] = &[
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

/// Runtimes. A blocking client does not need them.
pub(super) const RUNTIMES: &[&str] = &[
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
pub(super) const STORAGE: &[&str] = &[
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

/// Packages with files, clocks and the environment of the process. `jiff` has a clock only with its
/// feature `std`, and a pure crate does not enable it.
pub(super) const MACHINE: &[&str] = &[
    "chrono", "dirs", "dotenvy", "fs-err", "instant", "memmap2", "notify", "quanta", "tempfile",
    "time", "walkdir", "web-time",
];

/// Servers, clients and stores of this workspace.
pub(super) const EFFECTS: &[&str] = &[
    "data-sources",
    "dev-chain",
    "fence-server",
    "http-edge",
    "ledger",
    "outbound-tls",
    "replay",
    "settlement",
    "storage",
    "tx-sender",
];

/// The packages that no pure crate may reach. Pure means no clock, no I/O, no randomness and no
/// runtime.
pub(super) const IMPURE: &[&[&str]] = &[NETWORK, STORAGE, MACHINE, EFFECTS];

/// A package that only the named members may use directly outside their tests.
#[derive(Debug, Clone, Copy)]
pub struct Reserved {
    /// The package.
    pub package: &'static str,
    /// The members that may use it. Empty means none.
    pub members: &'static [&'static str],
}

/// The reserved packages. `deny.toml` names the same ones.
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
            "test-support",
        ],
    },
    Reserved {
        package: "ureq",
        members: &["fence-online"],
    },
    Reserved {
        package: "rusqlite",
        members: &[
            "storage",
            "ledger",
            "tx-sender",
            "custody",
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
    Reserved {
        package: "tokio-postgres",
        members: &["storage"],
    },
    Reserved {
        package: "deadpool-postgres",
        members: &["storage"],
    },
    Reserved {
        package: "tokio-postgres-rustls",
        members: &["storage"],
    },
    Reserved {
        package: "rustls",
        members: &["fence-online", "outbound-tls"],
    },
    Reserved {
        package: "rustls-platform-verifier",
        members: &["outbound-tls"],
    },
];

/// Packages that are never linked. One group is a second TLS stack. The other is a second user of
/// the SQLite library, which could not share a lock file with the first.
pub const REFUSED: &[&str] = &["native-tls", "openssl", "openssl-sys", "sqlx"];

/// Packages that are never linked, and the members whose tests may use them directly. The tests
/// verify our own results with them.
pub const ORACLES: &[Reserved] = &[
    Reserved {
        package: "ethers-core",
        members: &["judges"],
    },
    Reserved {
        package: "alloy-provider",
        members: &["dev-chain"],
    },
];

/// The stand-ins of demos and tests, which no shipped program contains. The default feature `demo`
/// of the servers links them.
pub const NOT_SHIPPED: &[&str] = &["dev-chain", "replay", "revm"];

/// Packages that are linked in one version only: hashes and curves whose results must agree, and
/// types that several crates exchange.
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
    use super::super::MEMBERS;
    use super::*;

    #[test]
    fn reserved_packages_name_members() {
        for rule in RESERVED.iter().chain(ORACLES) {
            for member in rule.members {
                assert!(
                    MEMBERS.iter().any(|row| row.name == *member),
                    "{}: {member} has no row",
                    rule.package
                );
            }
        }
    }
}
