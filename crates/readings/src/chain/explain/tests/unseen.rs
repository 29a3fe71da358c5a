//! Tests of failures that a success hides, and of movements that no log shows.

use alloy_sol_types::{SolCall, sol};

use super::*;

const POOL: Address = address!("3333333333333333333333333333333333333333");
const ETHER: u64 = 1_000_000_000_000_000_000;

sol! {
    struct Operation { address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees; bytes paymasterAndData; bytes signature; }
    function handleOps(Operation[] ops, address beneficiary) external;
    function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) external;
}

fn on(chain: u64, mut record: Record) -> Record {
    record.network = Network::by_id(chain).unwrap();
    record
}

/// A plain transfer of one coin.
fn sent(chain: u64, gas_used: u64) -> Record {
    let mut record = on(chain, record(BOB, "", Vec::new()));
    record.transaction.value = U256::from(ETHER);
    record.receipt.as_mut().unwrap().gas_used = U256::from(gas_used);
    record
}

fn event(contract: Address, declaration: &str, topics: usize, words: &[u64]) -> Log {
    let mut found = vec![alloy_primitives::keccak256(declaration)];
    found.extend(std::iter::repeat_n(B256::ZERO, topics));
    let data = words
        .iter()
        .flat_map(|word| U256::from(*word).to_be_bytes::<32>());
    Log {
        address: contract,
        topics: found,
        data: data.collect::<Vec<u8>>().into(),
        index: 3,
    }
}

fn native(explained: &Explanation, account: Address) -> Option<String> {
    let changes = explained.balance_changes.as_ref().unwrap();
    let account = account.to_checksum(None);
    let found = changes
        .iter()
        .find(|change| change.account == account && change.standard == "native")?;
    found.asset.amount.clone()
}

#[test]
fn failed_operations_are_not_reported_as_done() {
    let operation = |sender| Operation {
        sender,
        nonce: U256::ZERO,
        initCode: Bytes::new(),
        callData: hex::decode(CALLDATA).unwrap().into(),
        accountGasLimits: B256::ZERO,
        preVerificationGas: U256::ZERO,
        gasFees: B256::ZERO,
        paymasterAndData: Bytes::new(),
        signature: Bytes::new(),
    };
    let call = handleOpsCall {
        ops: vec![operation(BOB), operation(USDT0)],
        beneficiary: ALICE,
    };
    let entry_point = address!("0000000071727De22E5E9d8BAf0edAc6f37da032");
    let explained = |outcomes: &[u64]| {
        let logged = outcomes.iter().map(|success| {
            event(
                entry_point,
                "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)",
                3,
                &[7, *success, 5, 5],
            )
        });
        let input = hex::encode(call.abi_encode());
        explain(&record(entry_point, &input, logged.collect()), &usdt0())
    };
    let failed = explained(&[1, 0]);
    assert_eq!(failed.status, Status::Success);
    let summary = &failed.action.summary;
    assert!(
        summary.starts_with("Ran 2 operations") && summary.ends_with("), 1 of which failed."),
        "{summary}"
    );
    assert!(codes(&failed).contains(&"inner_call_failed"));
    let done = explained(&[1, 1]);
    assert!(done.action.summary.starts_with("Executed 2 operations"));
    assert!(!codes(&done).contains(&"inner_call_failed"));
    let silent = explained(&[1]);
    assert!(
        silent
            .action
            .summary
            .ends_with(": 1 are logged as done and 0 as failed."),
        "{}",
        silent.action.summary
    );
}

#[test]
fn a_failed_execution_of_a_safe_is_not_reported_as_done() {
    let exec = execTransactionCall {
        to: USDT0,
        value: U256::ZERO,
        data: hex::decode(CALLDATA).unwrap().into(),
        operation: 0,
        safeTxGas: U256::from(1),
        baseGas: U256::ZERO,
        gasPrice: U256::ZERO,
        gasToken: Address::ZERO,
        refundReceiver: Address::ZERO,
        signatures: Bytes::new(),
    };
    let input = hex::encode(exec.abi_encode());
    let failure = "ExecutionFailure(bytes32,uint256)";
    for log in [
        event(POOL, failure, 0, &[9, 0]),
        event(POOL, failure, 1, &[0]),
    ] {
        let told = explain(&record(POOL, &input, vec![log]), &usdt0());
        let summary = &told.action.summary;
        assert!(
            summary.starts_with("Ran transfer of") && summary.ends_with(", which failed."),
            "{summary}"
        );
        assert!(codes(&told).contains(&"inner_call_failed"));
    }
    // A log of another contract does not count for this one.
    let foreign = event(BOB, failure, 1, &[0]);
    let told = explain(&record(POOL, &input, vec![foreign]), &usdt0());
    assert!(told.action.summary.starts_with("Executed transfer of"));
    assert!(!codes(&told).contains(&"inner_call_failed"));
}

#[test]
fn a_deposit_makes_coins_for_its_sender_even_when_the_call_reverts() {
    let mut record = sent(8453, 21_000);
    record.transaction.kind = 0x7e;
    record.transaction.minted = Some(U256::from(ETHER));
    record.receipt.as_mut().unwrap().l1_fee = None;
    let told = explain(&record, &Knowledge::default());
    assert_eq!(
        (native(&told, ALICE), native(&told, BOB).as_deref()),
        (None, Some("1"))
    );
    assert_eq!(
        told.action.summary,
        "Sent 1 ETH to 0x2222222222222222222222222222222222222222. Layer 1 made 1 ETH for the sender."
    );
    let made = &told.transfers.as_ref().unwrap()[0];
    assert_eq!(made.from, Address::ZERO.to_checksum(None));
    record.receipt.as_mut().unwrap().outcome = ExecutionOutcome::Reverted;
    let told = explain(&record, &Knowledge::default());
    assert_eq!(
        (native(&told, ALICE).as_deref(), native(&told, BOB)),
        (Some("1"), None)
    );
    assert_eq!(told.transfers.as_ref().unwrap().len(), 1);
    assert!(
        told.action
            .summary
            .ends_with("and was reverted. Layer 1 made 1 ETH for the sender."),
        "{}",
        told.action.summary
    );
}

#[test]
fn balance_changes_of_other_deposits_are_not_stated() {
    for (chain, kind, reason) in [
        (42_161, 0x64, "rollup_deposit"),
        (42_161, 0x69, "rollup_deposit"),
        (324, 0xff, "rollup_deposit"),
        (137, 0x7f, "unknown_transaction_type"),
    ] {
        let mut record = sent(chain, 21_000);
        record.transaction.kind = kind;
        let told = explain(&record, &Knowledge::default());
        assert!(told.balance_changes.is_none());
        let field = ("balance_changes", reason.to_owned());
        assert!(told.missing.contains(&field), "{:?}", told.missing);
    }
}

#[test]
fn a_chain_that_logs_its_coin_counts_each_movement_once_and_the_fee_as_a_fee() {
    let ledger = Network::by_id(324).unwrap().native_ledger.unwrap();
    let bootloader = address!("0000000000000000000000000000000000008001");
    let fee = 50_675 * 20_000_001_u64;
    let logs = vec![
        moved(ledger, ALICE, bootloader, fee + 5),
        moved(ledger, ALICE, POOL, ETHER),
        moved(USDT0, POOL, ALICE, 10_000_000),
        moved(ledger, bootloader, ALICE, 5),
    ];
    let mut record = on(324, record(POOL, "12345678", logs));
    record.transaction.value = U256::from(ETHER);
    let told = explain(&record, &usdt0());
    assert_eq!(told.transfers.as_ref().unwrap().len(), 4);
    assert_eq!(
        native(&told, ALICE).as_deref(),
        Some("-1.000001013500050675")
    );
    assert!(
        told.action
            .summary
            .starts_with("Gave 1 ETH and got 10 USD₮0 by"),
        "{}",
        told.action.summary
    );
    assert!(!codes(&told).contains(&"native_moves_unseen"));
}

#[test]
fn a_payment_that_a_contract_may_have_returned_is_not_reported_as_paid() {
    let weth = Network::by_id(1).unwrap().wrapped_native;
    let mut call = on(
        1,
        record(POOL, "12345678", vec![moved(USDT0, BOB, ALICE, 10_000_000)]),
    );
    call.transaction.value = U256::from(ETHER);
    let told = explain(&call, &usdt0());
    assert!(
        told.action
            .summary
            .starts_with("Gave at most 1 ETH and got 10 USD₮0"),
        "{}",
        told.action.summary
    );
    // All of the coins were wrapped, so none can have come back.
    let mut deposit = event(weth, "Deposit(address,uint256)", 0, &[ETHER]);
    deposit.topics.push(POOL.into_word());
    call.receipt.as_mut().unwrap().logs.push(deposit);
    let told = explain(&call, &usdt0());
    assert!(
        told.action
            .summary
            .starts_with("Gave 1 ETH and got 10 USD₮0"),
        "{}",
        told.action.summary
    );
}

#[test]
fn code_that_may_move_coins_unseen_is_named() {
    let unseen = |record: &Record| {
        codes(&explain(record, &Knowledge::default())).contains(&"native_moves_unseen")
    };
    assert!(!unseen(&sent(1, 21_000)));
    assert!(unseen(&sent(1, 21_001)));
    // Arbitrum counts the data on layer 1 as gas.
    let mut arbitrum = sent(42_161, 26_000);
    assert!(unseen(&arbitrum));
    arbitrum.receipt.as_mut().unwrap().l1_gas = Some(U256::from(5_000));
    assert!(!unseen(&arbitrum));
    let mut created = sent(1, 90_000);
    created.transaction.to = None;
    assert!(unseen(&created));
    let unwrap = |chain: u64| {
        let weth = Network::by_id(chain).unwrap().wrapped_native;
        let input = format!("2e1a7d4d{:064x}", ETHER);
        on(chain, record(weth, &input, Vec::new()))
    };
    assert!(!unseen(&unwrap(1)));
    assert!(unseen(&unwrap(42_161)));
    // The function alone does not make a contract the wrapping one.
    assert!(unseen(&on(1, record(POOL, "d0e30db0", Vec::new()))));
}

#[test]
fn an_unknown_fee_is_left_out_of_the_changes_with_a_warning() {
    let mut record = sent(8453, 21_000);
    record.receipt.as_mut().unwrap().l1_fee = None;
    let told = explain(&record, &Knowledge::default());
    assert_eq!(native(&told, ALICE).as_deref(), Some("-1"));
    assert!(codes(&told).contains(&"fee_not_in_changes"));
    let whole = explain(&sent(8453, 21_000), &Knowledge::default());
    assert!(!codes(&whole).contains(&"fee_not_in_changes"));
}

#[test]
fn an_approval_of_the_zero_address_is_a_revocation() {
    let input = format!("095ea7b3{:064x}{:064x}", 0, 77);
    let mut log = event(POOL, "Approval(address,address,uint256)", 0, &[]);
    log.topics
        .extend([ALICE.into_word(), B256::ZERO, B256::from(U256::from(77))]);
    let told = explain(&record(POOL, &input, vec![log]), &Knowledge::default());
    assert_eq!(told.action.kind, "revoke");
    assert_eq!(
        told.action.summary,
        "Took back the right of others to move number 77 of the token 0x3333333333333333333333333333333333333333."
    );
    assert!(told.approvals.unwrap()[0].revoked);
}

#[test]
fn a_failed_look_up_is_not_reported_as_unverified() {
    let verified = ContractFacts::verified("[]").unwrap();
    let mut proxy = ContractFacts::default();
    proxy.delegates_to(BOB, None);
    assert_eq!(proxy.implementation_verified, None);
    proxy.delegates_to(POOL, Some(&ContractFacts::default()));
    assert_eq!(proxy.implementation_verified, None);
    proxy.delegates_to(USDT0, Some(&verified));
    assert_eq!(proxy.implementation_verified, Some(true));
    let mut plain = ContractFacts::default();
    plain.delegates_to(BOB, Some(&ContractFacts::default()));
    assert_eq!(plain.implementation_verified, Some(false));
}

#[test]
fn a_signature_about_code_names_the_account_and_the_contract() {
    let authorization = |delegate: Address, chain_id: u64| CodeAuthorization {
        authority: Some(BOB),
        delegate,
        chain_id: U256::from(chain_id),
        nonce: 5,
    };
    let mut record = sent(196, 60_000);
    record.transaction.kind = 4;
    record.transaction.authorizations = vec![
        authorization(POOL, 196),
        authorization(Address::ZERO, 0),
        authorization(POOL, 1),
        CodeAuthorization {
            authority: None,
            ..authorization(POOL, 196)
        },
    ];
    let explained = explain(&record, &Knowledge::default());
    let shown = serde_json::to_value(&explained.delegations).unwrap();
    assert_eq!(
        shown[0],
        serde_json::json!({
            "authority": BOB.to_checksum(None), "delegate": POOL.to_checksum(None), "chain_id": 196,
            "nonce": 5, "revoked": false, "for_this_chain": true,
        })
    );
    assert_eq!(
        (&shown[1]["revoked"], &shown[1]["for_this_chain"]),
        (&true.into(), &true.into())
    );
    for without_effect in [2, 3] {
        assert_eq!(shown[without_effect]["for_this_chain"], false);
    }
    let codes = codes(&explained);
    let count = |code: &str| codes.iter().filter(|of| **of == code).count();
    // Three signatures have a warning each, and one warning counts the rest.
    assert_eq!(
        (count("code_delegated"), count("code_delegation_revoked")),
        (3, 1)
    );
    let summary = &explained.action.summary;
    let (lets, revokes) = (
        format!("{BOB} lets {POOL} act as its code"),
        format!("{BOB} revokes the delegation of its code"),
    );
    assert!(
        summary.contains(&lets) && summary.contains(&revokes),
        "{summary}"
    );
    let reason = (
        "delegations[].authority",
        "signature_of_no_account".to_owned(),
    );
    assert!(explained.missing.contains(&reason));
    record.transaction.authorizations = vec![authorization(POOL, 196); 6];
    let summary = explain(&record, &Knowledge::default()).action.summary;
    assert_eq!(summary.matches(&lets).count(), 4, "{summary}");
    assert!(
        summary.ends_with(" 2 more signatures about code."),
        "{summary}"
    );
}

#[test]
fn an_unreadable_transfer_is_not_told_as_none() {
    // The addresses are in the data, as early tokens logged them.
    let log = event(
        USDT0,
        "Transfer(address,address,uint256)",
        0,
        &[1, 2, 10_000_000],
    );
    let explained = explain(&record(USDT0, CALLDATA, vec![log]), &usdt0());
    let shown = serde_json::to_string(&explained).unwrap();
    assert!(codes(&explained).contains(&"no_transfer_logged"));
    assert!(codes(&explained).contains(&"unreadable_transfer_logs"));
    assert!(!shown.contains("nothing moved"), "{shown}");
    assert_eq!(explained.action.kind, "call");
}
