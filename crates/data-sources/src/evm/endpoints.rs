//! Public nodes, and the source ids of the chains in an answer.

/// Two public nodes of each chain, for a configuration that names none. Everybody shares them: an
/// operator who depends on nodes configures their own.
pub const PUBLIC_ENDPOINTS: [(u64, [&str; 2]); 11] = [
    (
        1,
        [
            "https://ethereum.reth.rs/rpc",
            "https://ethereum-rpc.publicnode.com",
        ],
    ),
    (
        10,
        [
            "https://mainnet.optimism.io",
            "https://optimism-rpc.publicnode.com",
        ],
    ),
    (
        56,
        [
            "https://56.rpc.thirdweb.com",
            "https://bsc-rpc.publicnode.com",
        ],
    ),
    (
        137,
        [
            "https://polygon.drpc.org",
            "https://polygon-bor-rpc.publicnode.com",
        ],
    ),
    (
        196,
        ["https://rpc.xlayer.tech", "https://xlayerrpc.okx.com"],
    ),
    (
        324,
        ["https://mainnet.era.zksync.io", "https://zksync.drpc.org"],
    ),
    (
        8453,
        [
            "https://mainnet.base.org",
            "https://base-rpc.publicnode.com",
        ],
    ),
    (
        42_161,
        [
            "https://arb1.arbitrum.io/rpc",
            "https://arbitrum-one-rpc.publicnode.com",
        ],
    ),
    (
        43_114,
        [
            "https://api.avax.network/ext/bc/C/rpc",
            "https://avalanche-c-chain-rpc.publicnode.com",
        ],
    ),
    (
        59_144,
        [
            "https://rpc.linea.build",
            "https://linea-rpc.publicnode.com",
        ],
    ),
    (
        534_352,
        ["https://rpc.scroll.io", "https://scroll-rpc.publicnode.com"],
    ),
];

/// The source id of the nodes of a chain, in `meta.sources`.
#[must_use]
pub fn source(chain_id: u64) -> &'static str {
    match chain_id {
        1 => "rpc.ethereum",
        10 => "rpc.optimism",
        56 => "rpc.bsc",
        137 => "rpc.polygon",
        196 => "rpc.xlayer",
        324 => "rpc.zksync",
        8453 => "rpc.base",
        42_161 => "rpc.arbitrum",
        43_114 => "rpc.avalanche",
        59_144 => "rpc.linea",
        534_352 => "rpc.scroll",
        _ => "rpc.other",
    }
}

#[cfg(test)]
mod tests {
    use readings::chain::NETWORKS;

    use super::*;

    #[test]
    fn every_chain_has_nodes_and_a_name() {
        for (network, (id, nodes)) in NETWORKS.iter().zip(PUBLIC_ENDPOINTS) {
            assert_eq!(network.id, id);
            assert_eq!(source(id), format!("rpc.{}", network.name));
            assert_ne!(nodes[0], nodes[1]);
            assert!(nodes.iter().all(|url| url.starts_with("https://")));
        }
    }
}
