//! Tests of the network commands of `fence-cli` against the chain: what they read is true, and the
//! transactions that they print do what they say.

use std::fs;

use alloy_primitives::{Address, Bytes, U256};
use delegation_fence::Signed;
use delegation_fence::onchain::{GrantFile, Level};
use dev_chain::base::USDC;
use fence_offline::{CommandOutcome, Exit, Failure, policy::PolicyArguments};
use fence_online::{Endpoint, OnChain, clear_allowance, read_back};
use serde_json::Value;
use tempfile::TempDir;

use crate::onchain::stage::{ENFORCER, HOLDER, REDEEMER, Stage, sign};

/// Writes the holder's grant file into a new folder.
fn file(stage: &Stage) -> TempDir {
    let signature = sign(HOLDER, stage.grant.digest());
    let delegations = stage.delegations.delegations().iter();
    let file = GrantFile {
        signed: Signed::new(stage.grant.clone(), signature),
        delegations: delegations.map(|(_, signed)| signed.clone()).collect(),
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("signed.json"), file.to_json()).unwrap();
    folder
}

async fn run(
    stage: &Stage,
    folder: &TempDir,
    command: fn(&OnChain) -> Result<CommandOutcome, Failure>,
) -> (Exit, Value) {
    let arguments = OnChain {
        grant: folder.path().join("signed.json"),
        policy: PolicyArguments {
            policy_file: None,
            policy_digest: None,
        },
        endpoint: Endpoint {
            url: Some(stage.chain.rpc().url().to_owned()),
            confirmations: 1,
        },
        timeout: 0,
        json: true,
    };
    let outcome = tokio::task::spawn_blocking(move || command(&arguments).unwrap())
        .await
        .unwrap();
    (outcome.exit, serde_json::from_str(&outcome.stdout).unwrap())
}

/// Sends the transaction that the tool printed, as the account.
async fn send(stage: &Stage, transaction: &Value) {
    let to: Address = transaction["to"].as_str().unwrap().parse().unwrap();
    let data: Bytes = transaction["data"].as_str().unwrap().parse().unwrap();
    assert_eq!(transaction["from"], HOLDER.address.to_string());
    stage.send(HOLDER, to, &data).await.unwrap();
}

#[tokio::test]
async fn the_tools_readings_and_transactions_match_the_chain() {
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let stage = Stage::open(level).await;
        let folder = file(&stage);
        let (exit, said) = run(&stage, &folder, read_back).await;
        assert_eq!(
            (exit, &said["gone"]),
            (Exit::Unconfirmed, &Value::Bool(false))
        );
        assert_eq!(said["chain"]["code"], true);
        send(&stage, &said["disable_transaction"]).await;
        // The transaction is in a block, but in no sealed one.
        let (exit, _) = run(&stage, &folder, read_back).await;
        assert_eq!(exit, Exit::Unconfirmed);
        stage.pass_time(1).await;
        let (exit, said) = run(&stage, &folder, read_back).await;
        assert_eq!((exit, &said["gone"]), (Exit::Ok, &Value::Bool(true)));
        assert_eq!(said["disable_transaction"], Value::Null);

        stage.approve(USDC, U256::from(7)).await;
        stage.pass_time(1).await;
        let (exit, said) = run(&stage, &folder, clear_allowance).await;
        assert_eq!((exit, &said["allowance"]), (Exit::Unconfirmed, &"7".into()));
        send(&stage, &said["clear_transaction"]).await;
        stage.pass_time(1).await;
        let (exit, said) = run(&stage, &folder, clear_allowance).await;
        assert_eq!((exit, &said["allowance"]), (Exit::Ok, &"0".into()));
        assert_eq!(stage.delegations.redeemer(), REDEEMER.address);
    }
}
