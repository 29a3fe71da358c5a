//! The life of an authorization, from its signature to its use or cancellation.

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use alloy_rpc_types_eth::TransactionReceipt;
use alloy_sol_types::{SolCall, SolEvent};
use dev_chain::{BUYER, MINTER, PAYEE, USDC, USDG, USDT0};

use crate::support::{
    CancelAuthorization, NOW, Token, TokenVrs, TransferWithAuthorization, builder, chain, payment,
    read, reverts, send, settle, sign_typed, signed, with_bytes,
};

/// Calldata of the signed example of the payment vectors, made by eth-account.
const VECTOR: &str = "0xe3ee160e000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb9226600000000000000000000000090f79bf6eb2c4f870365e785982e1f101e93b90600000000000000000000000000000000000000000000000000000000000007d00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b00e02c000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000000000000000000000000000000000000000000000000000000000000001c6163c08280416ad51eb412cbbcc311d50987a00bc5cd52b458c3b5b5f983a87d6609f83e41b486dafea449e2f2bc1e40a65e67fad272969418c3cdd35d637f55";

fn events<E: SolEvent>(receipt: &TransactionReceipt) -> Vec<E> {
    let logs = receipt.inner.logs().iter();
    logs.filter_map(|log| E::decode_log(&log.inner).ok())
        .map(|log| log.data)
        .collect()
}

#[test]
fn the_domains_are_those_of_chain_196() {
    let chain = chain();
    let check = |token, name: &str, version: &str, separator: B256| {
        assert_eq!(read(&chain, token, &Token::nameCall {}), name);
        assert_eq!(read(&chain, token, &Token::versionCall {}), version);
        assert_eq!(read(&chain, token, &Token::decimalsCall {}), 6);
        assert_eq!(
            read(&chain, token, &Token::DOMAIN_SEPARATORCall {}),
            separator
        );
    };
    check(
        USDT0,
        "USD₮0",
        "1",
        b256!("d591d9baf744328d9400b923cb02c9474d367d591ca1ab24d8c4068be527599d"),
    );
    check(
        USDC,
        "USD Coin",
        "2",
        b256!("3a24e8fd7fa4f83434fb2376284ea7ec53281203a78a6b525e8bb88a0df41538"),
    );
    check(
        USDG,
        "Global Dollar",
        "1",
        b256!("415f0706e345fcaf25d5be24c4fd7830d0054fc5742c51a0db9319c759bd3743"),
    );
}

#[test]
fn the_signed_example_settles_once() {
    let chain = chain();
    let data: Bytes = VECTOR.parse().unwrap();
    assert_eq!(signed(USDT0, &payment()), data);
    let receipt = settle(&chain, USDT0, data.clone());
    assert!(receipt.status());
    let transfer = &events::<Token::Transfer>(&receipt)[0];
    assert_eq!((transfer.from, transfer.to), (BUYER.address, PAYEE.address));
    assert_eq!(transfer.value, U256::from(2000));
    assert_eq!(
        events::<Token::AuthorizationUsed>(&receipt)[0].nonce,
        payment().nonce
    );
    assert_eq!(
        chain.balance_of(USDT0, PAYEE.address).unwrap(),
        U256::from(2000)
    );
    assert_eq!(
        chain.balance_of(USDT0, BUYER.address).unwrap(),
        U256::from(999_998_000)
    );
    assert!(
        chain
            .authorization_used(USDT0, BUYER.address, payment().nonce)
            .unwrap()
    );

    assert_eq!(
        reverts(&chain, USDT0, &data),
        "FiatTokenV2: authorization is used or canceled"
    );
    let replay = settle(&chain, USDT0, data);
    assert!(!replay.status());
    assert!(replay.inner.logs().is_empty());
    assert_eq!(
        chain.balance_of(USDT0, PAYEE.address).unwrap(),
        U256::from(2000)
    );
}

#[test]
fn a_replay_on_usdg_succeeds_and_moves_nothing() {
    let chain = chain();
    let data = signed(USDG, &payment());
    assert_eq!(
        events::<Token::Transfer>(&settle(&chain, USDG, data.clone())).len(),
        1
    );

    let replay = settle(&chain, USDG, data);
    assert!(replay.status());
    assert!(events::<Token::Transfer>(&replay).is_empty());
    assert_eq!(
        events::<Token::AuthorizationAlreadyUsed>(&replay)[0].nonce,
        payment().nonce
    );
    assert_eq!(
        chain.balance_of(USDG, PAYEE.address).unwrap(),
        U256::from(2000)
    );
}

#[test]
fn the_window_is_open_at_both_ends() {
    let chain = chain();
    let check = |after: u64, before: u64, expected: Option<&str>| {
        for token in [USDT0, USDG] {
            let p = TransferWithAuthorization {
                validAfter: U256::from(after),
                validBefore: U256::from(before),
                nonce: B256::from(U256::from(after ^ before)),
                ..payment()
            };
            let data = signed(token, &p);
            match expected {
                Some(reason) => assert_eq!(reverts(&chain, token, &data), reason),
                None => assert!(settle(&chain, token, data).status()),
            }
        }
    };
    check(NOW - 1, NOW + 1, None);
    check(
        NOW,
        NOW + 1,
        Some("FiatTokenV2: authorization is not yet valid"),
    );
    check(
        NOW + 600,
        NOW + 900,
        Some("FiatTokenV2: authorization is not yet valid"),
    );
    check(0, NOW, Some("FiatTokenV2: authorization is expired"));
    check(0, 0, Some("FiatTokenV2: authorization is expired"));
}

#[test]
fn a_cancelled_authorization_cannot_be_used() {
    let chain = chain();
    let p = payment();
    let cancel = CancelAuthorization {
        authorizer: p.from,
        nonce: p.nonce,
    };
    let signature = sign_typed(BUYER, USDC, &cancel);
    let by_vrs = TokenVrs::cancelAuthorizationCall {
        authorizer: p.from,
        nonce: p.nonce,
        v: 27 + u8::from(signature.v()),
        r: signature.r().into(),
        s: signature.s().into(),
    };
    let receipt = settle(&chain, USDC, by_vrs.abi_encode().into());
    assert_eq!(
        events::<Token::AuthorizationCanceled>(&receipt)[0].nonce,
        p.nonce
    );
    assert!(chain.authorization_used(USDC, p.from, p.nonce).unwrap());
    let used = "FiatTokenV2: authorization is used or canceled";
    assert_eq!(reverts(&chain, USDC, &signed(USDC, &p)), used);

    let by_bytes = Token::cancelAuthorizationCall {
        authorizer: p.from,
        nonce: p.nonce,
        signature: signature.as_bytes().into(),
    };
    assert_eq!(reverts(&chain, USDC, &by_bytes.abi_encode().into()), used);
    // USDG was not asked to cancel it; this signature is for the domain of USDC.
    let wrong = reverts(&chain, USDG, &by_bytes.abi_encode().into());
    assert_eq!(wrong, "FiatTokenV2: invalid signature");
}

#[test]
fn only_the_payee_receives() {
    let chain = chain();
    let p = payment();
    let data = Token::receiveWithAuthorizationCall {
        from: p.from,
        to: p.to,
        value: p.value,
        validAfter: p.validAfter,
        validBefore: p.validBefore,
        nonce: p.nonce,
        // The signature of a transfer does not make a receive valid.
        signature: sign_typed(BUYER, USDC, &p).as_bytes().into(),
    };
    let data: Bytes = data.abi_encode().into();
    assert_eq!(
        reverts(&chain, USDC, &data),
        "FiatTokenV2: caller must be the payee"
    );
    assert!(!send(&chain, PAYEE, USDC, data).status());
    assert_eq!(chain.balance_of(USDC, PAYEE.address).unwrap(), U256::ZERO);
}

#[test]
fn a_transfer_above_the_balance_reverts() {
    let chain = chain();
    let check = |p: TransferWithAuthorization, expected: &str| {
        assert_eq!(reverts(&chain, USDC, &signed(USDC, &p)), expected);
    };
    check(
        TransferWithAuthorization {
            value: U256::from(1_000_000_001),
            ..payment()
        },
        "ERC20: transfer amount exceeds balance",
    );
    check(
        TransferWithAuthorization {
            value: U256::MAX,
            ..payment()
        },
        "ERC20: transfer amount exceeds balance",
    );
    check(
        TransferWithAuthorization {
            to: Address::ZERO,
            ..payment()
        },
        "ERC20: transfer to the zero address",
    );
    assert!(
        !chain
            .authorization_used(USDC, BUYER.address, payment().nonce)
            .unwrap()
    );
}

#[test]
fn a_contract_wallet_pays_through_the_bytes_form() {
    let wallet = Address::repeat_byte(0x77);
    let chain = builder()
        .wallet(wallet, BUYER.address)
        .holder(USDC, wallet, U256::from(5000))
        .build()
        .unwrap();
    let p = TransferWithAuthorization {
        from: wallet,
        ..payment()
    };
    let signature = sign_typed(BUYER, USDC, &p).as_bytes();
    let longer: Bytes = [&signature[..], &[1, 2, 3]].concat().into();
    let by_another = sign_typed(PAYEE, USDC, &p).as_bytes().into();
    let refused = "FiatTokenV2: invalid signature";
    assert_eq!(reverts(&chain, USDC, &with_bytes(&p, by_another)), refused);
    assert_eq!(
        reverts(&chain, USDC, &with_bytes(&p, Bytes::new())),
        refused
    );
    assert!(settle(&chain, USDC, with_bytes(&p, longer)).status());
    assert_eq!(chain.balance_of(USDC, wallet).unwrap(), U256::from(3000));
}

#[test]
fn the_token_is_an_erc20_with_one_minter() {
    let chain = chain();
    let call = |account, call: Vec<u8>| send(&chain, account, USDC, call.into()).status();
    let (to, value) = (PAYEE.address, U256::from(7));
    assert!(call(BUYER, Token::transferCall { to, value }.abi_encode()));
    assert!(call(
        BUYER,
        Token::approveCall { spender: to, value }.abi_encode()
    ));
    let pull = Token::transferFromCall {
        from: BUYER.address,
        to,
        value,
    };
    assert!(call(PAYEE, pull.abi_encode()));
    assert!(!call(PAYEE, pull.abi_encode()));
    assert_eq!(chain.balance_of(USDC, to).unwrap(), U256::from(14));

    let mint = Token::mintCall { to, amount: value };
    assert_eq!(
        reverts(&chain, USDC, &mint.abi_encode().into()),
        "FiatToken: caller is not a minter"
    );
    assert!(call(MINTER, mint.abi_encode()));
    assert_eq!(
        read(&chain, USDC, &Token::totalSupplyCall {}),
        U256::from(1_000_000_007)
    );

    let again = Token::initializeCall {
        name: "x".to_owned(),
        symbol: "x".to_owned(),
        version: "1".to_owned(),
        minter: BUYER.address,
    };
    assert_eq!(
        reverts(&chain, USDC, &again.abi_encode().into()),
        "FiatToken: contract is already initialized"
    );
}
