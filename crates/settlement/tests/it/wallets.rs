//! Tests with payers that have code: contract wallets, and accounts of keys that have delegated
//! (EIP-7702).

use alloy_primitives::{Address, Bytes, U256, address, hex};
use dev_chain::{
    BUYER, BadAnswer, DEV_ACCOUNTS, DevChain, DevChainBuilder, InjectedFault, USDC as USDC_ADDRESS,
};
use settlement::{ChainReader, Facilitator, Settlement, Settler, Verification, WithChain};
use x402_wire::{Network, Reason};

use crate::chain::{builder, invalid, options, reader, serve};
use crate::onchain::{paid, settler};
use crate::payments::{Draft, NOW, PRICE, USDC, USDG, USDT0, payment, terms, timeouts};
use crate::stage::{Stage, json};

const WALLET: Address = address!("0x00000000000000000000000000000000000a11e7");

/// Code that accepts every signature: `return EIP1271_MAGIC`.
const CREDULOUS: [u8; 16] = hex!("631626ba7e60e01b60005260206000f3");

fn with_wallet(asset: Address) -> DevChainBuilder {
    builder()
        .wallet(WALLET, BUYER.address)
        .holder(asset, WALLET, U256::from(10 * PRICE))
}

/// Makes the code of an account that has delegated to the code at this address.
fn delegated_to(code: Address) -> Bytes {
    [&[0xef, 0x01, 0x00], code.as_slice()].concat().into()
}

/// The owner of the wallet signs with 65 bytes, as wallets with one owner do.
#[tokio::test]
async fn a_wallet_judges_a_signature_of_65_bytes_which_is_sent_as_bytes() {
    let chain = with_wallet(USDC_ADDRESS).build().unwrap();
    let server = serve(&chain).await;
    let settler = settler(&server);
    let draft = Draft {
        from: WALLET,
        ..Draft::new(USDC)
    };
    let payment = draft.sign();
    assert!(payment.check_signature().is_err());
    assert_eq!(
        reader(&server).verify(&payment, U256::ZERO).await,
        Verification::Valid
    );
    assert_eq!(
        settler.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    let outcome = settler.settle(&payment).await;
    assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    assert_eq!(chain.transactions()[0].input[..4], hex!("cf092995"));
    assert_eq!(paid(&chain, &payment), U256::from(PRICE));

    let forged = Draft {
        key: DEV_ACCOUNTS[5].key,
        from: WALLET,
        ..Draft::new(USDC).nonce(2)
    };
    let refused = invalid(Reason::InvalidExactEvmPayloadSignature);
    assert_eq!(
        settler.verify(&forged.sign(), U256::ZERO, NOW).await,
        refused
    );
    assert_eq!(
        reader(&server).verify(&forged.sign(), U256::ZERO).await,
        refused
    );
}

/// Any number of forged signatures in the name of one key's account costs one look-up.
#[tokio::test]
async fn forgeries_in_one_name_cost_one_look_up() {
    let chain = with_wallet(USDC_ADDRESS).build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let composed = WithChain::new(backend, Some(reader(&server)), timeouts());
    assert_eq!(composed.accepts_wallet(WALLET).await, Ok(true));
    assert_eq!(composed.accepts_wallet(BUYER.address).await, Ok(false));

    // From here on the node answers no such request.
    chain.inject(InjectedFault::new("eth_getCode", BadAnswer::Close).times(1_000));
    for _ in 0..100 {
        assert_eq!(composed.accepts_wallet(BUYER.address).await, Ok(false));
    }
    let down = composed.accepts_wallet(PAYER_UNSEEN).await.unwrap_err();
    chain.clear_faults();
    // A failure is also kept for a moment.
    assert_eq!(composed.accepts_wallet(PAYER_UNSEEN).await, Err(down));
    // A forgery that comes this far is refused by the signature alone.
    let forged = Draft {
        key: DEV_ACCOUNTS[5].key,
        ..Draft::new(USDC)
    };
    stage.plays("/verify", [json(r#"{"isValid":true}"#)]);
    assert_eq!(
        composed.verify(&forged.sign(), U256::ZERO, NOW).await,
        invalid(Reason::InvalidExactEvmPayloadSignature)
    );
    assert!(stage.seen().is_empty());
}

const PAYER_UNSEEN: Address = address!("0x00000000000000000000000000000000000000aa");

/// These tokens ask the code of an account that has code, even if the account has a key. So the
/// delegate decides whether a signature that recovers to the payer is valid.
#[tokio::test]
async fn a_delegated_account_pays_as_the_token_will_judge() {
    let code = DEV_ACCOUNTS[8].address;
    for (asset, runs, accepted) in [
        (USDT0, Bytes::new(), false),
        (USDC, Bytes::new(), false),
        (USDC, CREDULOUS.to_vec().into(), true),
        (USDG, CREDULOUS.to_vec().into(), true),
    ] {
        let mut chain = builder().code(BUYER.address, delegated_to(WALLET));
        if !runs.is_empty() {
            chain = chain.code(WALLET, runs);
        }
        let chain: DevChain = chain.account(code, U256::ZERO).build().unwrap();
        let server = serve(&chain).await;
        let (settler, payment) = (settler(&server), payment(asset));
        let expected = if accepted {
            Verification::Valid
        } else {
            invalid(Reason::InvalidExactEvmPayloadSignature)
        };
        let judged = reader(&server).verify(&payment, U256::ZERO).await;
        assert_eq!(judged, expected);
        let judged = settler.verify(&payment, U256::ZERO, NOW).await;
        assert_eq!(judged, expected);
        // The token decides as the check has predicted.
        let outcome = settler.settle(&payment).await;
        assert_eq!(outcome.outcome() == "settled", accepted, "{outcome:?}");
        assert_eq!(chain.transactions().len(), usize::from(accepted));
    }
}

/// A payer cannot spend money twice that is committed to its other payments in progress.
#[tokio::test]
async fn funds_committed_elsewhere_cover_no_second_payment() {
    let chain = with_wallet(USDC_ADDRESS).build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let backend = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let composed = WithChain::new(backend, Some(reader(&server)), timeouts());
    let onchain = settler(&server);
    // A thousand of the token less the price of this payment.
    let rest = U256::from(1_000_000_000 - PRICE);
    stage.plays("/verify", vec![json(r#"{"isValid":true}"#); 4]);
    for (committed, covered) in [
        (U256::ZERO, true),
        (rest, true),
        (rest + U256::ONE, false),
        (U256::MAX, false),
    ] {
        let expected = if covered {
            Verification::Valid
        } else {
            invalid(Reason::InsufficientFunds)
        };
        let payment = payment(USDC);
        assert_eq!(composed.verify(&payment, committed, NOW).await, expected);
        assert_eq!(onchain.verify(&payment, committed, NOW).await, expected);
    }
    assert!(composed.reads_chain() && onchain.reads_chain());
    let blind = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    assert!(!WithChain::new(blind, None, timeouts()).reads_chain());
}

/// A signature that only code accepts is proven by two nodes when there are two. One of them alone
/// could lie about the code.
#[tokio::test]
async fn two_nodes_prove_the_signature_of_a_contract_when_there_are_two() {
    let with_code = |code: Option<Bytes>| {
        let chain = match code {
            Some(code) => builder().code(WALLET, code),
            None => builder(),
        };
        chain.build().unwrap()
    };
    let credulous = || Some(Bytes::from(CREDULOUS));
    // `revert(0, 0)`
    let refuses = Some(Bytes::from(hex!("60006000fd")));
    let chains = [with_code(credulous()), with_code(credulous())];
    let others = [with_code(refuses), with_code(None)];
    let mut servers = Vec::new();
    for chain in chains.iter().chain(&others) {
        servers.push(serve(chain).await);
    }
    let over = |of: &[usize]| {
        let urls: Vec<_> = of.iter().map(|at| servers[*at].url().into()).collect();
        ChainReader::over(&urls, &terms(), timeouts(), options()).unwrap()
    };
    let draft = Draft {
        from: WALLET,
        ..Draft::new(USDC)
    };
    let payment = draft.sign();
    for (nodes, proven) in [
        (vec![0], true),
        (vec![0, 1], true),
        (vec![0, 2], false),
        (vec![2, 0], false),
        (vec![0, 3], false),
        (vec![0, 1, 2], false),
    ] {
        let proves = over(&nodes).proves_signer(&payment).await;
        assert_eq!(proves, Ok(proven), "{nodes:?}");
    }
    // A node that does not answer is no witness, and nothing is known then.
    let reader = over(&[0, 1]);
    assert_eq!(reader.proves_signer(&payment).await, Ok(true));
    chains[1].inject(InjectedFault::new("eth_call", BadAnswer::Close).times(1_000));
    assert!(reader.proves_signer(&payment).await.is_err());
    chains[1].clear_faults();
    // A key needs no node.
    chains[0].inject(InjectedFault::new("eth_call", BadAnswer::Close).times(1_000));
    let by_key = Draft::new(USDC).sign();
    assert_eq!(over(&[0]).proves_signer(&by_key).await, Ok(true));
}

/// The word of a facilitator is no proof.
#[tokio::test]
async fn without_a_node_only_a_key_proves_who_signed() {
    let stage = Stage::open().await;
    let blind = Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap();
    let blind = WithChain::new(blind, None, timeouts());
    assert_eq!(blind.proves_signer(&payment(USDC)).await, Ok(true));
    let by_contract = Draft {
        from: WALLET,
        ..Draft::new(USDC)
    };
    assert_eq!(blind.proves_signer(&by_contract.sign()).await, Ok(false));
    assert!(stage.seen().is_empty());
}
