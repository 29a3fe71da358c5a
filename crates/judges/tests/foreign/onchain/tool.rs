//! Tests of the on-chain commands of `fence-cli` against chains: what they read is true, and the
//! transactions that they print do what they say.

use std::fs;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall as _;
use delegation_fence::Signed;
use delegation_fence::onchain::{GrantFile, Level, UnsentTransaction};
use dev_chain::base::USDC;
use fence_offline::{
    CommandOutcome, Exit, Failure,
    onchain::{Disable, disable},
    policy::PolicyArguments,
};
use fence_online::{Endpoint, OnChain, clear_allowance, read_back};
use judges::Rpc;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::base_chain::balance;
use crate::onchain::install::{embedded, reason};
use crate::onchain::stage::{ENFORCER, HOLDER, REDEEMER, Stage, USD, output, sign, steps, swap};

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

/// The policy that the tool pins.
const fn pinned() -> PolicyArguments {
    PolicyArguments {
        policy_file: None,
        policy_digest: None,
    }
}

async fn run(
    rpc: &Rpc,
    folder: &TempDir,
    command: fn(&OnChain) -> Result<CommandOutcome, Failure>,
) -> (Exit, Value) {
    let arguments = OnChain {
        grant: folder.path().join("signed.json"),
        policy: pinned(),
        endpoint: Endpoint {
            url: Some(rpc.url().to_owned()),
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
        let (exit, said) = run(stage.chain.rpc(), &folder, read_back).await;
        assert_eq!(
            (exit, &said["gone"]),
            (Exit::Unconfirmed, &Value::Bool(false))
        );
        assert_eq!(said["chain"]["code"], true);
        send(&stage, &said["disable_transaction"]).await;
        // The transaction is in a block, but in no sealed one.
        let (exit, _) = run(stage.chain.rpc(), &folder, read_back).await;
        assert_eq!(exit, Exit::Unconfirmed);
        stage.pass_time(1).await;
        let (exit, said) = run(stage.chain.rpc(), &folder, read_back).await;
        assert_eq!((exit, &said["gone"]), (Exit::Ok, &Value::Bool(true)));
        assert_eq!(said["disable_transaction"], Value::Null);

        stage.approve(USDC, U256::from(7)).await;
        stage.pass_time(1).await;
        let (exit, said) = run(stage.chain.rpc(), &folder, clear_allowance).await;
        assert_eq!((exit, &said["allowance"]), (Exit::Unconfirmed, &"7".into()));
        send(&stage, &said["clear_transaction"]).await;
        stage.pass_time(1).await;
        let (exit, said) = run(stage.chain.rpc(), &folder, clear_allowance).await;
        assert_eq!((exit, &said["allowance"]), (Exit::Ok, &"0".into()));
        assert_eq!(stage.delegations.redeemer(), REDEEMER.address);
    }
}

/// Sends a transaction on the embedded chain. Returns the reason when it reverts.
async fn send_embedded(rpc: &Rpc, call: &UnsentTransaction) -> Result<(), String> {
    let transaction =
        json!({"from": call.from, "to": call.to, "data": call.data, "gas": "0x4c4b40"});
    let foreseen: Result<Bytes, _> = rpc.call("eth_call", json!([transaction, "latest"])).await;
    foreseen.map_err(reason)?;
    let hash: Value = rpc
        .call("eth_sendTransaction", json!([transaction]))
        .await
        .unwrap();
    let receipt: Value = rpc
        .call("eth_getTransactionReceipt", json!([hash]))
        .await
        .unwrap();
    assert_eq!(receipt["status"], "0x1");
    Ok(())
}

/// Sends what the service would send for a plan.
async fn swap_embedded(stage: &Stage, rpc: &Rpc, amount: u64) -> Result<(), String> {
    let call = swap(amount).abi_encode().into();
    let order = stage.sign_order(&stage.order(&call, output(amount)).await);
    let plan = steps(amount, &call);
    for redemption in stage.delegations.redemptions(&plan, &order).unwrap() {
        send_embedded(rpc, &redemption.call).await?;
    }
    Ok(())
}

/// No service runs, and none is asked: the file of the grant is enough to end it. The redeemer's
/// key, which signs whatever it likes, moves nothing any more.
#[tokio::test]
async fn a_holder_ends_a_grant_without_the_service() {
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let stage = Stage::open(level).await;
        let folder = file(&stage);
        let chain = embedded(&stage.chain, HOLDER).await;
        let server = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let rpc = Rpc::new(server.url());
        let before = balance(&rpc, USDC, HOLDER.address).await;
        swap_embedded(&stage, &rpc, 1_000 * USD).await.unwrap();
        let after = balance(&rpc, USDC, HOLDER.address).await;
        assert_eq!(before - after, U256::from(1_000 * USD));

        let printed = disable(&Disable {
            grant: folder.path().join("signed.json"),
            policy: pinned(),
            already: Vec::new(),
            each: false,
            json: false,
        });
        let transaction: Value = serde_json::from_str(&printed.unwrap().stdout).unwrap();
        let member = |name: &str| transaction[name].as_str().unwrap();
        let disabling = UnsentTransaction {
            chain_id: transaction["chain_id"].as_u64().unwrap(),
            from: member("from").parse().unwrap(),
            to: member("to").parse().unwrap(),
            data: member("data").parse().unwrap(),
        };
        assert_eq!(disabling.from, HOLDER.address);
        send_embedded(&rpc, &disabling).await.unwrap();

        for amount in [1, 1_000 * USD] {
            let refused = swap_embedded(&stage, &rpc, amount).await.unwrap_err();
            assert_eq!(refused, "CannotUseADisabledDelegation()");
        }
        assert_eq!(balance(&rpc, USDC, HOLDER.address).await, after);
        chain.mine();
        let (exit, said) = run(&rpc, &folder, read_back).await;
        assert_eq!((exit, &said["gone"]), (Exit::Ok, &Value::Bool(true)));
    }
}
