//! Tests of transactions with more content than is shown. The explanation still states the full
//! counts.

use alloy_primitives::B256;
use alloy_sol_types::{SolCall, sol};

use super::*;

sol! {
    function multiSend(bytes transactions) external;
    function execute(bytes commands, bytes[] inputs) external;
}

#[test]
fn a_batch_of_hundreds_of_calls_says_how_many_they_are() {
    let mut packed = Vec::new();
    for _ in 0..300 {
        packed.push(0);
        packed.extend(BOB.as_slice());
        packed.extend(U256::ZERO.to_be_bytes::<32>());
        packed.extend(U256::from(4).to_be_bytes::<32>());
        packed.extend([0xde, 0xad, 0xbe, 0xef]);
    }
    let many = multiSendCall {
        transactions: packed.into(),
    };
    let record = record(BOB, &hex::encode(many.abi_encode()), Vec::new());
    let told = explain(&record, &usdt0());
    assert!(
        told.action.summary.contains("300 calls"),
        "{}",
        told.action.summary
    );
    let call = told.decoded_call.clone().unwrap();
    assert_eq!(call.calls.len() + call.calls_left_out, 300);
    assert!(codes(&told).contains(&"calls_left_out"));
}

#[test]
fn a_long_list_of_commands_says_how_many_are_not_named() {
    let call = executeCall {
        commands: vec![0x0b; 300].into(),
        inputs: Vec::new(),
    };
    let record = record(BOB, &hex::encode(call.abi_encode()), Vec::new());
    let call = explain(&record, &usdt0()).decoded_call.unwrap();
    assert_eq!((call.commands.len(), call.commands_left_out), (256, 44));
}

#[test]
fn approvals_of_everything_beyond_the_first_are_counted() {
    let word = |address: Address| address.into_word();
    let log = |spender: u8| Log {
        address: USDT0,
        topics: vec![
            alloy_primitives::keccak256("Approval(address,address,uint256)"),
            word(ALICE),
            word(Address::repeat_byte(spender)),
        ],
        data: B256::repeat_byte(0xff).to_vec().into(),
        index: u64::from(spender),
    };
    let record = record(USDT0, CALLDATA, (1..=5).map(log).collect());
    let told = explain(&record, &usdt0());
    let of_approvals = told
        .warnings
        .iter()
        .filter(|warning| warning.code == "unlimited_approval");
    let messages: Vec<_> = of_approvals.map(|warning| &warning.message).collect();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[3], "2 more approvals are unlimited.");
}

#[test]
fn many_logs_stay_bounded() {
    let logs: Vec<Log> = (0..4_000)
        .map(|index| {
            moved(
                Address::left_padding_from(&u16::to_be_bytes(index)),
                ALICE,
                BOB,
                1,
            )
        })
        .collect();
    let record = record(BOB, "12345678", logs);
    assert_eq!(Needs::of(&record, &Knowledge::default()).tokens.len(), 40);
    let told = explain(&record, &Knowledge::default());
    assert_eq!(told.transfers.as_ref().unwrap().len(), 100);
    assert!(codes(&told).contains(&"lists_cut") && told.contracts.len() <= 100);
    // The answer states how many contracts it shows.
    assert_eq!(told.contracts.len(), 100);
    for (list, least) in [
        ("contracts", 4_000),
        ("transfers", 4_000),
        ("balance_changes", 101),
    ] {
        let found = told.cut.iter().find(|(cut, _)| *cut == list);
        assert!(
            found.is_some_and(|(_, total)| *total >= least),
            "{list}: {:?}",
            told.cut
        );
    }
    assert!(told.action.summary.len() < 2_000, "{}", told.action.summary);
}
