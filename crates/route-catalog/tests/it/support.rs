//! The catalog that the tests use.

use std::sync::OnceLock;

use alloy_primitives::address;
use route_catalog::{Catalog, CatalogConfig};
use x402_wire::{Asset, Network, Terms};

pub(crate) fn config() -> CatalogConfig {
    CatalogConfig {
        public_url: "https://api.example.com/".into(),
        brand: "svc".into(),
        contact: None,
        terms: Terms {
            network: Network::evm(196),
            pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
            max_timeout_seconds: 300,
            assets: Asset::chain_196().to_vec(),
        },
        bazaar_in_header: false,
    }
}

pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::new(&config()).unwrap())
}
