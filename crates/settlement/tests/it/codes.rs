//! Tests of the codes on which logs, metrics and scripts rely.

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use settlement::{AssetFault, Cause, Malformation, Mode, RemoteCall, SettlementError};
use x402_wire::Network;

fn faults() -> Vec<AssetFault> {
    let (asset, name) = (Address::repeat_byte(1), "Some Dollar".to_owned());
    vec![
        AssetFault::AssetMismatch {
            asset,
            name: name.clone(),
            version: "1".to_owned(),
            expected: B256::repeat_byte(2),
            observed: B256::repeat_byte(3),
        },
        AssetFault::NoCode {
            asset,
            name: name.clone(),
            network: Network::evm(196),
        },
        AssetFault::NoSeparator { asset, name },
    ]
}

#[test]
fn configuration_errors() {
    let key = "settlement.some_key";
    let mut errors = vec![
        SettlementError::Missing {
            key,
            mode: Mode::Onchain,
        },
        SettlementError::Url { key },
        SettlementError::PrivateKey { key },
        SettlementError::Records(Box::new(tx_sender::SenderError::Store(
            tx_sender::StoreError::Unavailable { code: "busy" },
        ))),
        SettlementError::Credential { key },
        SettlementError::Client {
            detail: "no certificates".to_owned(),
        },
        SettlementError::Chain {
            expected: 196,
            observed: 1,
        },
    ];
    errors.extend(faults().into_iter().map(SettlementError::from));
    let lines: Vec<_> = errors
        .iter()
        .map(|e| format!("{}: {e}", e.code()))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn causes() {
    let call = RemoteCall::Settle;
    let detail = Malformation::Json;
    let text = || "text".to_owned();
    let mut causes = vec![
        Cause::Timeout {
            call,
            after: Duration::from_secs(35),
        },
        Cause::Unreachable { call },
        Cause::Interrupted {
            call: RemoteCall::Verify,
        },
        Cause::Oversize {
            call: RemoteCall::Supported,
            limit: 262_144,
        },
        Cause::Status { call, status: 502 },
        Cause::Contradiction {
            call,
            member: "payer",
            expected: text(),
            observed: text(),
        },
        Cause::Pending {
            call: RemoteCall::SettleStatus,
            state: text(),
        },
        Cause::Broker {
            call,
            code: "50011".to_owned(),
        },
        Cause::Rpc {
            call: RemoteCall::Rpc("eth_call"),
            code: -32000,
            message: text(),
        },
        Cause::Chain {
            expected: 196,
            observed: 1,
        },
        Cause::UnknownAsset {
            asset: Address::repeat_byte(1),
        },
        Cause::UsedElsewhere,
        Cause::NotLocated,
        Cause::Inconclusive {
            call,
            reason: text(),
        },
        Cause::NoGas {
            account: Address::repeat_byte(1),
            balance: U256::from(7),
        },
        Cause::QueueTooLong { waiting: 9 },
        Cause::Held(Box::new(tx_sender::Hold::FeesAboveCap {
            needed: 200,
            cap: 100,
        })),
        Cause::Records(Box::new(tx_sender::SenderError::Store(
            tx_sender::StoreError::Unavailable { code: "busy" },
        ))),
        Cause::Clock {
            machine: 1_000,
            block: 1_031,
        },
        Cause::ExactUnsupported {
            network: Network::evm(196),
        },
        Cause::Malformed { call, detail },
        Cause::Malformed {
            call,
            detail: Malformation::NoTransaction,
        },
        Cause::Malformed {
            call,
            detail: Malformation::TransactionHash,
        },
        Cause::Malformed {
            call,
            detail: Malformation::SuccessWithErrorStatus,
        },
        Cause::Malformed {
            call,
            detail: Malformation::NoTransfer,
        },
        Cause::Malformed {
            call,
            detail: Malformation::RpcResult,
        },
    ];
    causes.extend(faults().into_iter().map(Cause::from));
    let lines: Vec<_> = causes
        .iter()
        .map(|c| format!("{}: {c}", c.code()))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
