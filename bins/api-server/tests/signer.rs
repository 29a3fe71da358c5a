//! A program that brings the signer of the gas account itself.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::sync::Arc;

use alloy_primitives::hex;
use api_server::config::SettlementMode;
use api_server::{ServeError, Service};
use dev_chain::{DEV_ACCOUNTS, DevAccount, GAS_PAYER};
use tx_sender::{LocalKey, TransactionSigner};

use self::support::World;

fn signer(account: &DevAccount) -> Arc<dyn TransactionSigner> {
    Arc::new(LocalKey::from_hex(&hex::encode(account.key).into()).unwrap())
}

#[tokio::test]
async fn the_signer_is_the_configured_account_and_the_only_one() {
    let world = World::onchain().await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = world.config.clone();
    config.storage.url = format!("sqlite://{}", folder.path().join("ledger.db").display());
    let key = config.settlement.private_key.take();
    let refused = async |config: &api_server::Config, account: &DevAccount| {
        let opened = Service::open_signed_by(config, signer(account)).await;
        let error = opened.err().unwrap();
        assert!(matches!(error, ServeError::Signer { .. }), "{error}");
        error.to_string()
    };
    let said = refused(&config, &GAS_PAYER).await;
    assert!(said.starts_with("settlement.gas_account: is missing; the signer signs for 0x7099"));
    config.settlement.gas_account = Some(GAS_PAYER.address);
    let said = refused(&config, &DEV_ACCOUNTS[4]).await;
    assert!(
        said.starts_with("settlement.gas_account: the signer signs for 0x"),
        "{said}"
    );

    config.settlement.private_key = key;
    let said = refused(&config, &GAS_PAYER).await;
    assert!(
        said.starts_with("settlement.private_key: a key beside the signer"),
        "{said}"
    );
    config.settlement.private_key = None;
    config.settlement.mode = SettlementMode::Facilitator;
    let said = refused(&config, &GAS_PAYER).await;
    assert!(
        said.starts_with("settlement.mode: expected \"onchain\""),
        "{said}"
    );

    config.settlement.mode = SettlementMode::Onchain;
    let without = Service::open(&config).await.err().unwrap();
    assert!(matches!(without, ServeError::NoSigner { account } if account == GAS_PAYER.address));
    assert!(
        Service::open_signed_by(&config, signer(&GAS_PAYER))
            .await
            .is_ok()
    );
}
