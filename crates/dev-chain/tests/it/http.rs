//! The chain behind HTTP, asked by a foreign client.

use std::net::SocketAddr;

use alloy_primitives::{U256, utils::parse_ether};
use alloy_provider::{Provider, ProviderBuilder};
use alloy_rpc_types_eth::TransactionRequest;
use dev_chain::{BadAnswer, GAS_PAYER, InjectedFault, PAYEE, RpcServer, USDC};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{builder, chain, payment, signed, signer};

const ANYWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Sends bytes and reads until the server closes.
async fn exchange(server: &RpcServer, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

const CHAIN_ID: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;

#[tokio::test]
async fn alloy_settles_a_payment() {
    let chain = chain();
    let server = chain.serve(ANYWHERE).await.unwrap();
    let provider = ProviderBuilder::new()
        .wallet(signer(GAS_PAYER))
        .connect_reqwest(test_support::http_client(), server.url().parse().unwrap());
    assert_eq!(provider.get_chain_id().await.unwrap(), 196);
    let request = TransactionRequest::default()
        .to(USDC)
        .input(signed(USDC, &payment()).into());
    let sent = provider.send_transaction(request).await.unwrap();
    let receipt = sent.get_receipt().await.unwrap();
    assert!(receipt.status());
    assert_eq!(receipt.from, GAS_PAYER.address);
    assert_eq!(
        chain.balance_of(USDC, PAYEE.address).unwrap(),
        U256::from(2000)
    );
    let left = provider.get_balance(GAS_PAYER.address).await.unwrap();
    assert!(left < parse_ether("10000").unwrap());
}

#[tokio::test]
async fn a_fault_closes_the_connection() {
    let chain = builder().build().unwrap();
    let server = chain.serve(ANYWHERE).await.unwrap();
    chain.inject(InjectedFault::new("eth_chainId", BadAnswer::Close));
    assert_eq!(exchange(&server, &post(CHAIN_ID)).await, "");
    let answer = exchange(&server, &post(CHAIN_ID)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        answer.ends_with(r#"{"id":1,"jsonrpc":"2.0","result":"0xc4"}"#),
        "{answer}"
    );
}

#[tokio::test]
async fn only_posts_of_a_sane_size_are_read() {
    let server = chain().serve(ANYWHERE).await.unwrap();
    let get = exchange(
        &server,
        "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(get.starts_with("HTTP/1.1 405 "), "{get}");
    assert!(get.contains("allow: POST"), "{get}");
    let huge = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 6000000\r\n\r\n";
    assert!(exchange(&server, huge).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn dropping_the_server_ends_its_connections() {
    let chain = chain();
    let server = chain.serve(ANYWHERE).await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    chain.inject(InjectedFault::new("eth_chainId", BadAnswer::Never));
    stream.write_all(post(CHAIN_ID).as_bytes()).await.unwrap();
    drop(server);
    let mut answer = Vec::new();
    // Both a close and a reset end the read.
    let _ended = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
}
