//! Reads and explains real transactions on a foreign chain: our explanation matches the chain.

mod stage;

use alloy_primitives::{B256, U256};
use alloy_sol_types::SolCall;
use judges::{Account, PAYEE, TestToken, Token};
use readings::chain::{Status, events::Grant};

use self::stage::{MULTICALL3, NOBODY, Stage, calls};

#[tokio::test]
async fn transfers_and_approvals_are_explained_as_the_balances_show_them() {
    let stage = Stage::open().await;
    for token in Token::ALL {
        let call = calls::transferCall {
            to: NOBODY,
            amount: U256::from(1_500_000),
        };
        let before = token.balance_of(stage.anvil.rpc(), NOBODY).await.unwrap();
        let receipt = stage
            .send(Account::BUYER, token.address, call.abi_encode())
            .await;
        let after = token.balance_of(stage.anvil.rpc(), NOBODY).await.unwrap();
        let told = stage.explain(receipt.transaction_hash).await;
        assert_eq!(told.status, Status::Success);
        assert_eq!(after - before, U256::from(1_500_000));
        assert_eq!(stage.balance(token.address, NOBODY).await, Some(after));
        let transfers = told.transfers.as_deref().unwrap();
        assert_eq!(
            (transfers.len(), transfers[0].asset.raw.as_str()),
            (1, "1500000")
        );
        assert!(
            told.action.summary.starts_with("Transferred 1.5 "),
            "{}",
            told.action.summary
        );
        assert_eq!(told.fee.unwrap().gas_used, receipt.gas_used.to_string());

        let call = calls::approveCall {
            spender: NOBODY,
            amount: U256::MAX,
        };
        let receipt = stage
            .send(Account::BUYER, token.address, call.abi_encode())
            .await;
        let record = stage.record(receipt.transaction_hash).await;
        let logs = record.receipt.unwrap().logs;
        let events = readings::chain::events::read(record.network, &logs);
        assert_eq!(events.approvals[0].grant, Grant::Allowance(U256::MAX));
        let told = stage.explain(receipt.transaction_hash).await;
        assert!(
            told.warnings
                .iter()
                .any(|warning| warning.code == "unlimited_approval")
        );
    }
}

#[tokio::test]
async fn a_revert_has_the_reason_that_the_chain_gives() {
    let stage = Stage::open().await;
    let token = Token::ALL[0];
    let call = calls::transferCall {
        to: NOBODY,
        amount: U256::from(u128::MAX),
    };
    let receipt = stage
        .send(Account::BUYER, token.address, call.abi_encode())
        .await;
    assert!(receipt.status.is_zero());
    let told = stage.explain(receipt.transaction_hash).await;
    assert_eq!(told.status, Status::Reverted);
    let said = stage.refusal(token.address, &call.abi_encode()).await;
    let reason = told.revert_reason.unwrap();
    assert!(said.contains(&reason), "{said} / {reason}");
    assert_eq!(told.transfers.as_deref(), Some(&[][..]));
    assert_eq!(told.balance_changes.unwrap().len(), 1);
}

#[tokio::test]
async fn a_signed_authorization_moves_tokens_once_and_its_second_use_moves_nothing() {
    let stage = Stage::open().await;
    for token in Token::ALL {
        let data = stage
            .authorization(token, U256::from(250_000), B256::repeat_byte(9))
            .await;
        let receipt = stage
            .send(Account::SETTLER, token.address, data.clone())
            .await;
        let told = stage.explain(receipt.transaction_hash).await;
        assert_eq!(
            told.action.kind, "authorized_transfer",
            "{}",
            told.action.summary
        );
        assert!(
            told.action
                .summary
                .contains(&Account::BUYER.address.to_checksum(None))
        );
        assert!(
            told.action.summary.starts_with("Transferred 0.25 "),
            "{}",
            told.action.summary
        );
        assert_eq!(told.from, Account::SETTLER.address.to_checksum(None));

        let payee = stage.balance(token.address, PAYEE).await;
        let again = stage.send(Account::SETTLER, token.address, data).await;
        assert_eq!(stage.balance(token.address, PAYEE).await, payee);
        let told = stage.explain(again.transaction_hash).await;
        assert!(
            !told.action.summary.starts_with("Transferred"),
            "{}",
            told.action.summary
        );
        if again.status.is_zero() {
            assert!(told.revert_reason.is_some());
        } else {
            // One of the tokens returns without an error when an authorization was used before.
            assert!(
                told.warnings
                    .iter()
                    .any(|warning| warning.code == "no_transfer_logged")
            );
        }
    }
}

#[tokio::test]
async fn a_batch_of_calls_reads_what_single_calls_read() {
    let stage = Stage::open().await;
    for token in Token::ALL {
        for account in [Account::BUYER.address, PAYEE, Account::MINTER.address] {
            let call = TestToken::balanceOfCall { account };
            let single = stage.anvil.rpc().view(token.address, &call).await.unwrap();
            assert_eq!(stage.balance(token.address, account).await, Some(single));
        }
    }
    // Without a contract, or without such a function, the value is unknown and not zero.
    assert_eq!(stage.balance(NOBODY, NOBODY).await, None);
    assert_eq!(stage.balance(MULTICALL3, NOBODY).await, None);
}
