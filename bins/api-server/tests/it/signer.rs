//! Tests of a program that is built on this crate and brings its own signer for the gas account.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use alloy_primitives::{U64, U128, hex};
use api_server::config::SettlementMode;
use api_server::{ApiServer, ServeError};
use dev_chain::{DEV_ACCOUNTS, DevAccount, GAS_PAYER};
use serde_json::{Value, json};
use test_support::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tx_sender::{Fees, LocalKey, TransactionSigner, Unsigned};

use crate::support::World;

fn signer(account: &DevAccount) -> Arc<dyn TransactionSigner> {
    Arc::new(LocalKey::from_hex(&hex::encode(account.key).into()).unwrap())
}

#[tokio::test]
async fn the_signer_is_the_configured_account_and_the_only_one() {
    let world = Box::pin(World::onchain()).await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = world.config.clone();
    let url = format!("sqlite://{}", folder.path().join("ledger.db").display());
    config.storage.url = Some(url.into());
    let key = config.settlement.private_key.take();
    let refused = async |config: &api_server::Config, account: &DevAccount| {
        let opened = Box::pin(ApiServer::open_signed_by(config, signer(account))).await;
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
    let without = Box::pin(ApiServer::open(&config)).await.err().unwrap();
    assert!(matches!(without, ServeError::NoSigner { account } if account == GAS_PAYER.address));
    let opened = Box::pin(ApiServer::open_signed_by(&config, signer(&GAS_PAYER))).await;
    assert!(opened.is_ok());
}

/// Answers one `eth_signTransaction` as Web3Signer does, or fails with this status.
async fn sign(mut stream: TcpStream, status: u16) -> std::io::Result<()> {
    let (mut head, mut body) = (Vec::new(), Vec::new());
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    body.resize(length.split("\r\n").next().unwrap().parse().unwrap(), 0);
    stream.read_exact(&mut body).await?;
    let request: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(request["method"], "eth_signTransaction");
    let call = &request["params"][0];
    let word = |name: &str| call[name].as_str().unwrap();
    let number = |name: &str| word(name).parse::<U64>().unwrap().to::<u64>();
    let fee = |name: &str| word(name).parse::<U128>().unwrap().to::<u128>();
    let unsigned = Unsigned {
        chain_id: number("chainId"),
        nonce: number("nonce"),
        to: word("to").parse().unwrap(),
        value: word("value").parse().unwrap(),
        input: word("data").parse().unwrap(),
        gas_limit: number("gas"),
        fees: Fees::Dynamic {
            max: fee("maxFeePerGas"),
            tip: fee("maxPriorityFeePerGas"),
        },
    };
    let text = if status == 200 {
        let raw = signer(&GAS_PAYER).sign(&unsigned).await.unwrap();
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": raw }).to_string()
    } else {
        "busy".to_owned()
    };
    let length = text.len();
    let reply = format!(
        "HTTP/1.1 {status} -\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
    stream.write_all(reply.as_bytes()).await
}

/// Tests the whole way from the configuration to a block. A busy instance costs the caller nothing.
#[tokio::test]
async fn an_instance_of_web3signer_signs_the_settlements() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let status = Arc::new(AtomicU16::new(200));
    let now = Arc::clone(&status);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(sign(stream, now.load(Ordering::Relaxed)));
        }
    });
    let world = Box::pin(World::start(move |config, _rpc| {
        config.settlement.private_key = None;
        config.settlement.web3signer_url = Some(url.into());
        config.settlement.gas_account = Some(GAS_PAYER.address);
        config.settlement.timeout_ms = 3_000;
    }))
    .await;
    let payment = world.buyer.payment(&world.price()).await;
    let paid = world.buyer.get_paid(&world.price(), &payment).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(world.paid(), 2_000);
    let sent = world.chain.transactions();
    assert_eq!(sent[0].from, GAS_PAYER.address);

    status.store(429, Ordering::Relaxed);
    let payment = world.buyer.payment(&world.price()).await;
    let unpaid = world.buyer.get_paid(&world.price(), &payment).await;
    assert_ne!(unpaid.status, 200, "{}", unpaid.text);
    assert_eq!(world.paid(), 2_000);
    // The same payment is settled once the instance answers.
    status.store(200, Ordering::Relaxed);
    let paid = async || {
        let answer = world.buyer.get_paid(&world.price(), &payment).await;
        (answer.status == 200).then_some(())
    };
    eventually("the payment is settled", paid).await;
    assert_eq!(world.paid(), 4_000);
    assert_eq!(world.chain.transactions().len(), 2);
}
