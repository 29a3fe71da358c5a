//! A burn on one chain, its attestation, and the mint on another.

mod refusals;

use alloy_primitives::{B256, Bytes, U256, fixed_bytes, hex};
use alloy_sol_types::SolEvent as _;
use dev_chain::abi::{MessageTransmitter, TokenMessenger, TokenMinter};
use dev_chain::cctp::{ATTESTER, FEE_RECIPIENT, MESSAGE_TRANSMITTER, TOKEN_MESSENGER};
use dev_chain::iris::Iris;
use dev_chain::{BUYER, DevChain, GAS_PAYER, arbitrum, base};
use serde_json::{Value, json};

use crate::plan::{HOLDER, Step, approve, balance, refusal, selector_of, submit};
use crate::support::{NOW, get};

/// 25 USDC; the fee of a fast transfer is 1.3 basis points of it.
const AMOUNT: u64 = 25_000_000;
const FEE: u64 = 3_250;

struct World {
    source: DevChain,
    destination: DevChain,
    iris: Iris,
}

fn world() -> World {
    let source = DevChain::builder()
        .base_stage()
        .clock(|| NOW)
        .build()
        .unwrap();
    let destination = DevChain::builder()
        .arbitrum_stage()
        .clock(|| NOW)
        .build()
        .unwrap();
    // The chain has reached block 1, so a message that expires there has expired.
    destination.mine();
    let iris = Iris::new(ATTESTER).unwrap();
    let iris = iris
        .watching(base::DOMAIN, &source)
        .watching(arbitrum::DOMAIN, &destination);
    World {
        source,
        destination,
        iris,
    }
}

fn burn_call(max_fee: u64, threshold: u32) -> TokenMessenger::depositForBurnCall {
    TokenMessenger::depositForBurnCall {
        amount: U256::from(AMOUNT),
        destinationDomain: arbitrum::DOMAIN,
        mintRecipient: BUYER.address.into_word(),
        burnToken: base::USDC,
        destinationCaller: B256::ZERO,
        maxFee: U256::from(max_fee),
        minFinalityThreshold: threshold,
    }
}

fn burn(world: &World, call: &TokenMessenger::depositForBurnCall) -> B256 {
    submit(
        &world.source,
        HOLDER,
        &approve(base::USDC, TOKEN_MESSENGER, AMOUNT),
    );
    let step = Step::new(TOKEN_MESSENGER, call);
    submit(&world.source, HOLDER, &step).transaction_hash
}

fn ask(world: &World, path: &str) -> (u16, Value) {
    let reply = world.iris.answer("GET", path).unwrap();
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn messages(world: &World, transaction: B256) -> (u16, Value) {
    ask(
        world,
        &format!("/v2/messages/6?transactionHash={transaction}"),
    )
}

/// The attested message of a burn as the call that mints it.
fn mint_of(world: &World, transaction: B256) -> MessageTransmitter::receiveMessageCall {
    let (status, answer) = messages(world, transaction);
    assert_eq!(status, 200);
    let bytes = |key: &str| -> Bytes {
        answer["messages"][0][key]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    MessageTransmitter::receiveMessageCall {
        message: bytes("message"),
        attestation: bytes("attestation"),
    }
}

fn minted(world: &World) -> U256 {
    balance(&world.destination, arbitrum::USDC, BUYER.address) - U256::from(base::USDC_FUNDS)
}

fn receive(world: &World, call: &MessageTransmitter::receiveMessageCall) -> String {
    refusal(&world.destination, MESSAGE_TRANSMITTER, call)
}

#[test]
fn the_interface_is_the_deployed_one() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(
        selector_of::<MessageTransmitter::receiveMessageCall>(),
        fixed_bytes!("57ecfd28"),
    );
    check(
        selector_of::<MessageTransmitter::usedNoncesCall>(),
        fixed_bytes!("feb61724"),
    );
    check(
        selector_of::<TokenMinter::getLocalTokenCall>(),
        fixed_bytes!("78a0565e"),
    );
    let topics = [
        MessageTransmitter::MessageReceived::SIGNATURE_HASH,
        TokenMessenger::MintAndWithdraw::SIGNATURE_HASH,
    ];
    assert_eq!(
        topics.map(|topic| topic.0),
        [
            hex!("ff48c13eda96b1cceacc6b9edeedc9e9db9d6226afbc30146b720c19d3addb1c"),
            hex!("50c55e915134d457debfa58eb6f4342956f8b0616d51a89a3659360178e1ab63"),
        ]
    );
}

#[test]
fn a_fast_burn_is_minted_less_the_fee_and_once() {
    let world = world();
    let call = mint_of(&world, burn(&world, &burn_call(FEE + 325, 1000)));
    let receipt = submit(
        &world.destination,
        GAS_PAYER,
        &Step::new(MESSAGE_TRANSMITTER, &call),
    );
    assert_eq!(minted(&world), U256::from(AMOUNT - FEE));
    let fees = balance(&world.destination, arbitrum::USDC, FEE_RECIPIENT);
    assert_eq!(fees, U256::from(FEE));
    let logs = receipt.inner.logs();
    let by = |address| logs.iter().find(|log| log.address() == address).unwrap();
    let received = MessageTransmitter::MessageReceived::decode_log(&by(MESSAGE_TRANSMITTER).inner);
    let received = received.unwrap();
    assert_eq!(
        (received.sourceDomain, received.finalityThresholdExecuted),
        (6, 1000)
    );
    assert_eq!(received.caller, GAS_PAYER.address);
    let mint = TokenMessenger::MintAndWithdraw::decode_log(&by(TOKEN_MESSENGER).inner).unwrap();
    assert_eq!(
        (mint.mintRecipient, mint.mintToken),
        (BUYER.address, arbitrum::USDC)
    );
    assert_eq!(
        (mint.amount, mint.feeCollected),
        (U256::from(AMOUNT - FEE), U256::from(FEE))
    );

    assert_eq!(receive(&world, &call), "Nonce already used");
    let nonce = received.nonce;
    let used = MessageTransmitter::usedNoncesCall { nonce };
    assert_eq!(
        world.destination.view(MESSAGE_TRANSMITTER, &used).unwrap(),
        U256::ONE
    );
    assert_eq!(
        world.source.view(MESSAGE_TRANSMITTER, &used).unwrap(),
        U256::ZERO
    );
}

#[test]
fn a_standard_burn_is_free_and_one_with_a_low_max_fee_becomes_standard() {
    let world = world();
    for (max_fee, threshold, reason) in [
        (0, 2000, Value::Null),
        (FEE - 1, 1000, "insufficient_fee".into()),
    ] {
        let before = balance(&world.destination, arbitrum::USDC, BUYER.address);
        let transaction = burn(&world, &burn_call(max_fee, threshold));
        let (_, answer) = messages(&world, transaction);
        let message = &answer["messages"][0];
        assert_eq!(message["delayReason"], reason);
        assert_eq!(message["status"], "complete");
        assert_eq!(
            message["decodedMessage"]["finalityThresholdExecuted"],
            "2000"
        );
        let body = &message["decodedMessage"]["decodedMessageBody"];
        assert_eq!(
            (&body["feeExecuted"], &body["amount"]),
            (&"0".into(), &"25000000".into())
        );
        let call = mint_of(&world, transaction);
        submit(
            &world.destination,
            HOLDER,
            &Step::new(MESSAGE_TRANSMITTER, &call),
        );
        let after = balance(&world.destination, arbitrum::USDC, BUYER.address);
        assert_eq!(after - before, U256::from(AMOUNT));
    }
}

#[test]
fn the_service_delays_its_answers_on_request() {
    let world = world();
    world.iris.miss_first(2);
    world.iris.pend_first(1);
    let transaction = burn(&world, &burn_call(0, 2000));
    let seen: Vec<_> = (0..4)
        .map(|_| {
            let (status, answer) = messages(&world, transaction);
            (status, answer["messages"][0]["status"].clone())
        })
        .collect();
    let of = |status: &str| (200, Value::from(status));
    let missing = (404, Value::Null);
    assert_eq!(
        seen,
        [
            missing.clone(),
            missing.clone(),
            of("pending_confirmations"),
            of("complete")
        ]
    );
    world.iris.fail_next(1, 429);
    assert_eq!(messages(&world, transaction).0, 429);
    assert_eq!(messages(&world, transaction).0, 200);
    // A transaction without a burn is never found, and the wrong domain does not know it.
    assert_eq!(messages(&world, B256::repeat_byte(1)).0, 404);
    assert_eq!(
        ask(
            &world,
            &format!("/v2/messages/3?transactionHash={transaction}")
        )
        .0,
        404
    );
    assert_eq!(ask(&world, "/v2/messages/6").0, 400);
    assert_eq!(world.iris.answer("POST", "/v2/messages/6"), None);
}

#[test]
fn fees_of_every_route_are_answered() {
    let world = world();
    let (_, fast) = ask(&world, "/v2/burn/USDC/fees/6/3");
    assert_eq!(fast[0]["minimumFee"].to_string(), "1.3");
    assert_eq!(fast[1]["finalityThreshold"], 2000);
    let (_, slow) = ask(&world, "/v2/burn/USDC/fees/1/0?forward=true");
    assert_eq!(
        (slow[0]["finalityThreshold"].clone(), slow[1].clone()),
        (2000.into(), Value::Null)
    );
    assert_eq!(slow[0]["forwardFee"]["high"], 3_503_729);
    for none in ["/v2/burn/USDC/fees/6/6", "/v2/burn/USDC/fees/37/6"] {
        assert_eq!(ask(&world, none).0, 404);
    }
    assert_eq!(ask(&world, "/v2/fastBurn/USDC/allowance").0, 200);
}

#[test]
fn a_burn_that_another_node_logged_is_attested_too() {
    let world = world();
    let transaction = burn(&world, &burn_call(FEE, 1000));
    let watched = mint_of(&world, transaction);
    let elsewhere = World {
        iris: Iris::new(ATTESTER).unwrap(),
        ..world
    };
    assert_eq!(messages(&elsewhere, transaction).0, 404);
    let receipt: Value = get(
        &elsewhere.source,
        "eth_getTransactionReceipt",
        json!([transaction]),
    );
    let logs = receipt["logs"].as_array().unwrap().iter();
    let topic = MessageTransmitter::MessageSent::SIGNATURE_HASH.to_string();
    let log = logs
        .clone()
        .find(|log| log["topics"][0] == topic.as_str())
        .unwrap();
    let data: Bytes = log["data"].as_str().unwrap().parse().unwrap();
    let message = MessageTransmitter::MessageSent::abi_decode_data(&data)
        .unwrap()
        .0;
    let index = log["logIndex"].as_str().unwrap().trim_start_matches("0x");
    let index = u64::from_str_radix(index, 16).unwrap();
    elsewhere
        .iris
        .record(base::DOMAIN, transaction, index, message);
    let recorded = mint_of(&elsewhere, transaction);
    assert_eq!(
        (recorded.message, recorded.attestation),
        (watched.message, watched.attestation)
    );
}
