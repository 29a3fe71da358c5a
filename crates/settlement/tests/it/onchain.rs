//! Tests of our own settlement, on an EVM in this process.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256, address, hex};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, GAS_PAYER, PAYEE, RpcServer, USDC as USDC_ADDRESS};
use settlement::{
    AnySettler, ChainReader, GasPolicy, OnchainSettler, Readiness, Settlement, SettlementConfig,
    SettlementError, Settler, Timeouts, Verification,
};
use test_support::wait;
use tx_sender::{LocalKey, MemoryStore, Options, Store, Takeover};
use x402_wire::{Payment, Reason};

use crate::chain::{builder, invalid, reader_with, serve, waiting, wrap_6492};
use crate::facilitator::unknown;
use crate::payments::{Draft, NOW, PRICE, USDC, USDG, USDT0, deferred, payment, terms, timeouts};

/// The highest price of a unit of gas on the chain of these tests: twice its base fee, and its tip.
pub(crate) const FEE: u128 = 41_000_000;

const WALLET: Address = address!("0x00000000000000000000000000000000000a11e7");

pub(crate) fn settler_with(server: &RpcServer, timeouts: Timeouts) -> OnchainSettler {
    let chain = reader_with(server, timeouts, &terms());
    alone(chain, GAS_PAYER.key, timeouts, GasPolicy::default())
}

/// Makes a settler that pays its gas with `key`, and records its transactions in memory.
pub(crate) fn alone(
    chain: ChainReader,
    key: B256,
    timeouts: Timeouts,
    policy: GasPolicy,
) -> OnchainSettler {
    let records = Arc::new(MemoryStore::default());
    wait(recorded(chain, key, timeouts, policy, records))
}

/// Like [`alone`], with records that the test keeps. Nothing else uses them at the same time.
pub(crate) async fn recorded(
    chain: ChainReader,
    key: B256,
    timeouts: Timeouts,
    policy: GasPolicy,
    records: Arc<dyn Store>,
) -> OnchainSettler {
    let signer = LocalKey::from_hex(&hex::encode(key).into()).unwrap();
    let options = Options {
        takeover: Takeover::AtOnce,
        ..Options::default()
    };
    let settler = OnchainSettler::shared(
        chain,
        Arc::new(signer),
        timeouts,
        policy,
        (records, options),
    );
    settler.await.unwrap()
}

pub(crate) fn settler(server: &RpcServer) -> OnchainSettler {
    settler_with(server, timeouts())
}

pub(crate) fn rejection(settlement: Settlement) -> Reason {
    match settlement {
        Settlement::Rejected { reason, .. } => reason,
        other => panic!("expected a rejection, observed {other:?}"),
    }
}

pub(crate) fn paid(chain: &DevChain, payment: &Payment) -> U256 {
    chain
        .balance_of(payment.requirements().asset, PAYEE.address)
        .unwrap()
}

#[tokio::test]
async fn a_payment_is_verified_and_settled_in_every_asset() {
    for asset in [USDT0, USDC, USDG] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let settler = settler(&server);
        let payment = payment(asset);
        assert_eq!(
            settler.verify(&payment, U256::ZERO, NOW).await,
            Verification::Valid
        );
        let outcome = settler.settle(&payment).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{outcome:?}")
        };
        let [sent] = &chain.transactions()[..] else {
            panic!()
        };
        assert_eq!(receipt.transaction, sent.hash.to_string());
        assert_eq!(
            (sent.from, sent.to),
            (GAS_PAYER.address, Some(payment.requirements().asset))
        );
        assert_eq!(sent.input[..4], hex!("e3ee160e"));
        assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    }
}

/// A used authorization of USDG does not revert, so only its state shows that it is used.
#[tokio::test]
async fn a_used_authorization_is_refused_in_every_asset() {
    for asset in [USDT0, USDC, USDG] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let payment = payment(asset);
        let first = settler(&server).settle(&payment).await;
        let Settlement::Settled(receipt) = first else {
            panic!("{first:?}")
        };

        let settler = settler(&server);
        let verification = settler.verify(&payment, U256::ZERO, NOW).await;
        assert_eq!(
            verification,
            invalid(Reason::InvalidExactEvmNonceAlreadyUsed)
        );
        // The payment was settled before. This settler must not claim it, and the caller must not
        // pay again.
        let second = settler.settle(&payment).await;
        let (hash, cause) = unknown(&second);
        assert_eq!(hash, Some(receipt.transaction.as_str()));
        assert_eq!(cause.code(), "authorization_used_elsewhere");
        assert_eq!(chain.transactions().len(), 1);
        assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    }
}

#[tokio::test]
async fn an_authorization_that_is_used_in_between_moves_nothing_twice() {
    for asset in [USDT0, USDG] {
        let chain = builder().mining(dev_chain::Mining::Manual).build().unwrap();
        let server = serve(&chain).await;
        let payment = payment(asset);
        let reader = reader_with(&server, timeouts(), &terms());
        let policy = GasPolicy::default();
        let other = alone(reader, DEV_ACCOUNTS[2].key, timeouts(), policy);
        let ours = settler(&server);
        let mine = async {
            waiting(&chain, 2).await;
            chain.mine();
        };
        let (first, second, ()) = tokio::join!(ours.settle(&payment), other.settle(&payment), mine);
        let settled = [&first, &second]
            .iter()
            .filter(|o| o.outcome() == "settled")
            .count();
        assert_eq!(settled, 1, "{first:?} {second:?}");
        let lost = if first.outcome() == "settled" {
            &second
        } else {
            &first
        };
        assert_eq!(unknown(lost).1.code(), "authorization_used_elsewhere");
        assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    }
}

#[tokio::test]
async fn a_reverting_payment_is_refused_with_its_reason_and_not_sent() {
    let poor = DEV_ACCOUNTS[4];
    let expired = Draft {
        valid_before: NOW,
        ..Draft::new(USDT0)
    }
    .sign();
    let early = Draft {
        valid_after: NOW,
        ..Draft::new(USDC)
    }
    .sign();
    let unfunded = Draft {
        key: poor.key,
        from: poor.address,
        ..Draft::new(USDG)
    }
    .sign();
    for (payment, reason) in [
        (
            expired,
            Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
        ),
        (early, Reason::InvalidExactEvmPayloadAuthorizationValidAfter),
        (unfunded, Reason::InsufficientFunds),
        (deferred(USDT0), Reason::UnsupportedScheme),
    ] {
        let chain = builder().build().unwrap();
        let server = serve(&chain).await;
        let settler = settler(&server);
        assert_eq!(
            settler.verify(&payment, U256::ZERO, NOW).await,
            invalid(reason.clone())
        );
        assert_eq!(rejection(settler.settle(&payment).await), reason);
        assert!(chain.transactions().is_empty());
    }
}

#[tokio::test]
async fn concurrent_settlements_of_one_key_leave_no_gap() {
    let chain = builder().receipt_delay(2).build().unwrap();
    let server = serve(&chain).await;
    let settler = Arc::new(settler(&server));
    let tasks: Vec<_> = (1..=20)
        .map(|nonce| {
            let settler = settler.clone();
            let payment = Draft::new(USDC).nonce(nonce).sign();
            tokio::spawn(async move { settler.settle(&payment).await })
        })
        .collect();
    for task in tasks {
        let outcome = task.await.unwrap();
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    }
    assert_eq!(chain.transactions().len(), 20);
    assert_eq!(
        chain.balance_of(USDC_ADDRESS, PAYEE.address).unwrap(),
        U256::from(20 * PRICE)
    );
}

#[tokio::test]
async fn a_contract_wallet_pays_with_its_own_kind_of_signature() {
    let draft = Draft {
        from: WALLET,
        ..Draft::new(USDC)
    };
    let long = [draft.signature().as_ref(), &[0xcc; 20]].concat();
    for (signature, selector) in [
        (long.clone(), hex!("cf092995")),
        (wrap_6492(&long), hex!("cf092995")),
        (wrap_6492(&draft.signature()), hex!("cf092995")),
        // The wallet's owner signs like a key.
        (draft.signature().to_vec(), hex!("cf092995")),
    ] {
        let chain = builder()
            .wallet(WALLET, BUYER.address)
            .holder(USDC_ADDRESS, WALLET, U256::from(PRICE))
            .build()
            .unwrap();
        let server = serve(&chain).await;
        let settler = settler(&server);
        let payment = draft.with_signature(&signature);
        assert_eq!(
            settler.verify(&payment, U256::ZERO, NOW).await,
            Verification::Valid
        );
        let outcome = settler.settle(&payment).await;
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
        assert_eq!(chain.transactions()[0].input[..4], selector);
        assert_eq!(paid(&chain, &payment), U256::from(PRICE));
    }
}

#[tokio::test]
async fn a_recovery_value_of_zero_or_one_becomes_27_or_28() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let draft = Draft::new(USDC);
    let mut signature = draft.signature().to_vec();
    signature[64] -= 27;
    let outcome = settler(&server)
        .settle(&draft.with_signature(&signature))
        .await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
}

#[tokio::test]
async fn readiness_needs_the_right_chain_and_gas() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let ready = settler(&server).readiness().await;
    let Readiness::Ready {
        aggr_deferred: false,
        settlements_left: Some(left),
    } = ready
    else {
        panic!("{ready:?}")
    };
    // The account's balance, divided by the cap times the highest fee: twice the base fee, and the
    // tip.
    let each = U256::from(200_000_u64) * U256::from(FEE);
    let expected = chain.native_balance(GAS_PAYER.address) / each;
    assert_eq!(U256::from(left), expected);

    let reader = reader_with(&server, timeouts(), &terms());
    let penniless = alone(reader, [0x42; 32].into(), timeouts(), GasPolicy::default());
    let Readiness::NotReady { reason } = penniless.readiness().await else {
        panic!()
    };
    assert_eq!(reason.code(), "no_gas");
}

#[tokio::test]
async fn the_mode_needs_its_endpoint_and_its_key() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let mode = settlement::Mode::Onchain;
    let empty = SettlementConfig {
        mode,
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    let error = AnySettler::connect(empty.clone(), &terms())
        .await
        .unwrap_err();
    assert_eq!(
        error,
        SettlementError::Missing {
            key: "settlement.rpc_url",
            mode
        }
    );

    let keyless = SettlementConfig {
        rpc_url: Some(server.url().into()),
        ..empty
    };
    let error = AnySettler::connect(keyless.clone(), &terms())
        .await
        .unwrap_err();
    assert_eq!(
        error,
        SettlementError::Missing {
            key: "settlement.private_key",
            mode
        }
    );

    let wrong = SettlementConfig {
        private_key: Some("0xs3cret".into()),
        ..keyless.clone()
    };
    let error = AnySettler::connect(wrong.clone(), &terms())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "settlement_private_key_invalid");
    assert!(!format!("{error} {error:?} {wrong:?}").contains("s3cret"));

    let key = hex::encode_prefixed(GAS_PAYER.key);
    let right = SettlementConfig {
        private_key: Some(format!("{key}\n").into()),
        ..keyless.clone()
    };
    let settler = AnySettler::connect(right, &terms()).await.unwrap();
    assert_eq!(
        settler.verify(&payment(USDT0), U256::ZERO, NOW).await,
        Verification::Valid
    );
    assert!(matches!(
        settler.settle(&payment(USDT0)).await,
        Settlement::Settled(_)
    ));
    assert!(!format!("{settler:?}").contains(&key[2..]), "{settler:?}");
}

/// The account belongs to the signer, whoever holds its key, and the sent transactions have its
/// signatures.
#[tokio::test]
async fn a_signer_that_is_no_key_in_the_configuration_pays_the_gas() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let other = &DEV_ACCOUNTS[4];
    let key = LocalKey::from_hex(&hex::encode(other.key).into()).unwrap();
    let config = SettlementConfig {
        mode: settlement::Mode::Onchain,
        rpc_url: Some(server.url().into()),
        signer: Some(Arc::new(key)),
        timeouts: timeouts(),
        ..SettlementConfig::default()
    };
    let settler = AnySettler::connect(config, &terms()).await.unwrap();
    let Settlement::Settled(receipt) = settler.settle(&payment(USDT0)).await else {
        panic!("not settled")
    };
    let AnySettler::Onchain(onchain) = &settler else {
        panic!("another settler")
    };
    assert_eq!(onchain.address(), other.address);
    let sent = chain.transactions();
    let sent = sent
        .iter()
        .find(|sent| sent.hash.to_string() == receipt.transaction);
    assert_eq!(sent.unwrap().from, other.address);
}
