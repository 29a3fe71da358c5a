//! The settler of a configuration, and the key that it needs. This module chooses and checks; the
//! crate `settlement` settles.

use std::time::Duration;

use alloy_primitives::Address;
use settlement::{ChainOptions, GasPolicy, OkxCredentials, SettlementConfig, Timeouts};
use tx_sender::Options;

use crate::config::{Config, SettlementMode, SettlementSection};
use crate::error::ServeError;

/// The settler that the section describes.
pub(crate) fn settlement_config(config: &Config) -> SettlementConfig {
    let section = &config.settlement;
    let chain_id = config.payment.terms().map(|terms| terms.network.chain_id());
    let of_chain = chain_id.and_then(|id| config.chains.confirmations(id));
    let okx = match (
        &section.okx_api_key,
        &section.okx_secret_key,
        &section.okx_passphrase,
    ) {
        (Some(api_key), Some(secret_key), Some(passphrase)) => Some(OkxCredentials {
            api_key: api_key.clone(),
            secret_key: secret_key.clone(),
            passphrase: passphrase.clone(),
        }),
        _ => None,
    };
    let mut endpoints = config.settlement_endpoints().into_iter();
    let limit = Duration::from_millis(section.timeout_ms);
    let usual = Timeouts::default();
    SettlementConfig {
        mode: match section.mode {
            SettlementMode::Facilitator => settlement::Mode::Facilitator,
            SettlementMode::Okx => settlement::Mode::Okx,
            SettlementMode::Onchain => settlement::Mode::Onchain,
        },
        facilitator_url: section.facilitator_url.clone(),
        okx_base_url: Some(section.okx_base_url.clone()),
        okx,
        rpc_url: endpoints.next().map(Into::into),
        more_rpc_urls: endpoints.map(Into::into).collect(),
        private_key: section.private_key.clone(),
        signer: section.signer(),
        timeouts: Timeouts {
            connect: usual.connect.min(limit),
            verify: usual.verify.min(limit),
            settle: limit,
            rpc: usual.rpc.min(limit),
            receipt: limit,
            ..usual
        },
        gas: GasPolicy {
            gas_cap: section.gas_cap,
            contract_wallets: section.contract_wallets,
            max_fee_per_gas: u128::from(section.max_fee_gwei).saturating_mul(1_000_000_000),
        },
        records: None,
        sender: Options::default(),
        chain: ChainOptions {
            // The section's number takes precedence over the chain's.
            confirmations: section.confirmations.or(of_chain).unwrap_or(0),
            block_time: chain_id.and_then(|id| config.chains.block_time(id)),
            ..ChainOptions::default()
        },
    }
}

/// Checks that the gas account has a key.
pub(super) fn check_key(section: &SettlementSection) -> Result<(), ServeError> {
    match section.gas_account {
        Some(account) if section.mode == SettlementMode::Onchain && !section.has_key() => {
            Err(ServeError::NoSigner { account })
        }
        _ => Ok(()),
    }
}

/// Checks that the configuration needs a signer for this account.
pub(super) fn check_signer(
    section: &SettlementSection,
    observed: Address,
) -> Result<(), ServeError> {
    let wrong = |key, message: String| Err(ServeError::Signer { key, message });
    if section.mode != SettlementMode::Onchain {
        let mode = section.mode;
        return wrong(
            "mode",
            format!("expected \"onchain\", observed \"{mode}\": this program brings a signer"),
        );
    }
    if section.has_key() {
        return wrong(
            "private_key",
            "a key beside the signer that this program brings".to_owned(),
        );
    }
    match section.gas_account {
        Some(expected) if expected == observed => Ok(()),
        Some(expected) => wrong(
            "gas_account",
            format!("the signer signs for {observed}, expected {expected}"),
        ),
        None => wrong(
            "gas_account",
            format!("is missing; the signer signs for {observed}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use server_config::{ChainTable, UpstreamMode};

    use super::*;

    #[test]
    fn the_confirmations_of_the_purpose_win_over_those_of_the_chain() {
        let mut config = Config::default();
        config.payment.pay_to = Some(Address::repeat_byte(7).into());
        assert_eq!(settlement_config(&config).chain.confirmations, 0);
        let table = |confirmations| ChainTable {
            confirmations,
            ..ChainTable::default()
        };
        config.chains.0.insert("196".to_owned(), table(Some(5)));
        config.chains.0.insert("8453".to_owned(), table(Some(9)));
        assert_eq!(settlement_config(&config).chain.confirmations, 5);
        config.settlement.confirmations = Some(0);
        assert_eq!(settlement_config(&config).chain.confirmations, 0);
    }

    /// In the order of asking, without duplicates.
    #[test]
    fn a_settler_asks_the_nodes_of_its_chain_after_its_own() {
        let urls = |config: &Config| {
            let config = settlement_config(config);
            let all = config.rpc_url.iter().chain(&config.more_rpc_urls);
            all.map(|url| url.expose_secret().to_owned())
                .collect::<Vec<_>>()
        };
        let mut config = Config::default();
        config.payment.pay_to = Some(Address::repeat_byte(7).into());
        let table = |rpc_urls: &[&str]| ChainTable {
            rpc_urls: rpc_urls.iter().map(|&url| url.to_owned()).collect(),
            ..ChainTable::default()
        };
        let nodes = table(&["https://b", "https://a", "https://c"]);
        config.chains.0.insert("196".to_owned(), nodes);
        let elsewhere = table(&["https://d"]);
        config.chains.0.insert("8453".to_owned(), elsewhere);
        // In facilitator mode the chain is read only when it is needed.
        assert_eq!(urls(&config), [""; 0]);
        config.settlement.rpc_url = Some("https://a".to_owned());
        assert_eq!(urls(&config), ["https://a", "https://b", "https://c"]);
        config.settlement.mode = SettlementMode::Onchain;
        config.settlement.rpc_url = None;
        assert_eq!(urls(&config), ["https://b", "https://a", "https://c"]);
        if let Some(table) = config.chains.0.get_mut("196") {
            table.mode = Some(UpstreamMode::Replay);
        }
        assert_eq!(urls(&config), [""; 0]);
    }
}
