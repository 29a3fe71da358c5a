//! Tests of transfers and approvals in logs.

use alloy_primitives::{Bytes, address, b256, hex};

use super::*;

const ALICE: Address = address!("1111111111111111111111111111111111111111");
const BOB: Address = address!("2222222222222222222222222222222222222222");
const TOKEN: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const APPROVAL: B256 = b256!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925");

fn log(address: Address, topics: &[B256], data: &str) -> Log {
    Log {
        address,
        topics: topics.to_vec(),
        data: Bytes::from(hex::decode(data).unwrap()),
        index: 5,
    }
}

fn word(n: u64) -> String {
    format!("{n:064x}")
}

fn network(id: u64) -> &'static Network {
    Network::by_id(id).unwrap()
}

#[test]
fn topics_are_the_published_ones() {
    assert_eq!(declared::Transfer::SIGNATURE_HASH, TRANSFER);
    assert_eq!(declared::Approval::SIGNATURE_HASH, APPROVAL);
    assert_eq!(
        declared::Deposit::SIGNATURE_HASH,
        b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c")
    );
    assert_eq!(
        declared::TransferSingle::SIGNATURE_HASH,
        b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62")
    );
    assert_eq!(
        declared::permit2::Approval::SIGNATURE_HASH,
        b256!("da9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b")
    );
}

#[test]
fn one_topic_more_makes_an_nft() {
    let fungible = log(
        TOKEN,
        &[TRANSFER, ALICE.into_word(), BOB.into_word()],
        &word(10),
    );
    let id = B256::from(U256::from(77));
    let nft = log(
        TOKEN,
        &[TRANSFER, ALICE.into_word(), BOB.into_word(), id],
        "",
    );
    let events = read(network(196), &[fungible, nft]);
    let [first, second] = events.transfers.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(
        (first.standard, first.amount, first.token_id),
        (Standard::Erc20, U256::from(10), None)
    );
    assert_eq!(
        (second.standard, second.amount, second.token_id),
        (Standard::Erc721, U256::ONE, Some(U256::from(77)))
    );
    assert_eq!(
        (first.from, first.to, first.token),
        (ALICE, BOB, Some(TOKEN))
    );
}

#[test]
fn logs_of_another_form_are_counted_and_never_guessed() {
    let dirty = B256::repeat_byte(0x11);
    let logs = [
        log(TOKEN, &[TRANSFER], &word(1)),
        log(TOKEN, &[TRANSFER, ALICE.into_word(), BOB.into_word()], ""),
        log(TOKEN, &[TRANSFER, dirty, BOB.into_word()], &word(1)),
        log(
            TOKEN,
            &[TRANSFER, ALICE.into_word(), BOB.into_word(), dirty],
            &word(1),
        ),
        log(TOKEN, &[], &word(1)),
    ];
    let events = read(network(196), &logs);
    assert_eq!((events.transfers.len(), events.unreadable.len()), (0, 4));
}

#[test]
fn approvals_say_what_they_allow() {
    let unlimited = log(
        TOKEN,
        &[APPROVAL, ALICE.into_word(), BOB.into_word()],
        &"f".repeat(64),
    );
    let revoked = log(
        TOKEN,
        &[APPROVAL, ALICE.into_word(), BOB.into_word()],
        &word(0),
    );
    let all = log(
        TOKEN,
        &[
            declared::ApprovalForAll::SIGNATURE_HASH,
            ALICE.into_word(),
            BOB.into_word(),
        ],
        &word(1),
    );
    let permit2 = [ALICE.into_word(), TOKEN.into_word(), BOB.into_word()];
    let topics = [&[declared::permit2::Approval::SIGNATURE_HASH][..], &permit2].concat();
    let data = format!("{}{}", word(500), word(1_800_000_000));
    let granted = log(PERMIT2, &topics, &data);
    // Any other contract can log the same, and it does not count.
    let forged = log(BOB, &topics, &data);
    let events = read(network(1), &[unlimited, revoked, all, granted, forged]);
    let grants: Vec<&Grant> = events
        .approvals
        .iter()
        .map(|approval| &approval.grant)
        .collect();
    assert_eq!(
        grants,
        [
            &Grant::Allowance(U256::MAX),
            &Grant::Allowance(U256::ZERO),
            &Grant::All(true),
            &Grant::Permit2(U256::from(500), 1_800_000_000),
        ]
    );
    assert!(grants[0].is_unlimited() && grants[2].is_unlimited() && !grants[3].is_unlimited());
    let revoked = events.approvals.iter().map(Approval::is_revocation);
    assert_eq!(revoked.collect::<Vec<_>>(), [false, true, false, false]);
    assert_eq!(events.approvals[3].token, TOKEN);
}

#[test]
fn batches_are_split_and_uneven_ones_are_not_read() {
    let topics = [
        declared::TransferBatch::SIGNATURE_HASH,
        ALICE.into_word(),
        ALICE.into_word(),
        BOB.into_word(),
    ];
    let even = [64, 160, 2, 1, 2, 2, 10, 20].map(word).concat();
    let uneven = [64, 160, 2, 1, 2, 1, 10].map(word).concat();
    let events = read(
        network(137),
        &[log(TOKEN, &topics, &even), log(TOKEN, &topics, &uneven)],
    );
    let moved: Vec<(u64, u64)> = events
        .transfers
        .iter()
        .map(|transfer| (transfer.token_id.unwrap().to(), transfer.amount.to()))
        .collect();
    assert_eq!(
        (moved, events.unreadable.len()),
        (vec![(1, 10), (2, 20)], 1)
    );
}

#[test]
fn only_the_wrapping_contract_wraps() {
    let weth = network(1).wrapped_native;
    let deposit = [declared::Deposit::SIGNATURE_HASH, ALICE.into_word()];
    let events = read(
        network(1),
        &[
            log(weth, &deposit, &word(9)),
            log(TOKEN, &deposit, &word(9)),
        ],
    );
    assert_eq!((events.transfers.len(), events.native.len()), (1, 1));
    assert_eq!((events.native[0].from, events.native[0].to), (ALICE, weth));
    assert_eq!(events.transfers[0].from, Address::ZERO);
}

#[test]
fn a_deposit_that_is_also_logged_as_a_transfer_counts_once() {
    let wokb = network(196).wrapped_native;
    let minted = log(wokb, &[TRANSFER, B256::ZERO, ALICE.into_word()], &word(9));
    let deposit = Log {
        index: 6,
        ..log(
            wokb,
            &[declared::Deposit::SIGNATURE_HASH, ALICE.into_word()],
            &word(9),
        )
    };
    let events = read(network(196), &[minted, deposit]);
    assert_eq!((events.transfers.len(), events.native.len()), (1, 1));
}

#[test]
fn a_chain_may_log_its_own_coin() {
    let ledger = network(324).native_ledger.unwrap();
    let logs = [log(
        ledger,
        &[TRANSFER, ALICE.into_word(), BOB.into_word()],
        &word(9),
    )];
    let events = read(network(324), &logs);
    assert_eq!(
        (events.transfers[0].standard, events.transfers[0].token),
        (Standard::Native, None)
    );
    assert_eq!(
        read(network(1), &logs).transfers[0].standard,
        Standard::Erc20
    );
}

#[test]
fn an_nft_approval_of_the_zero_address_is_a_revocation() {
    let id = B256::from(U256::from(77));
    let approved = |spender: Address| {
        log(
            TOKEN,
            &[APPROVAL, ALICE.into_word(), spender.into_word(), id],
            "",
        )
    };
    let events = read(network(1), &[approved(BOB), approved(Address::ZERO)]);
    let revoked = events.approvals.iter().map(Approval::is_revocation);
    assert_eq!(revoked.collect::<Vec<_>>(), [false, true]);
}
