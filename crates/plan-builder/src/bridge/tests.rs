//! Tests of the bridge constructor. Each test chooses the answers of the upstreams.

mod arguments;
mod forgeries;
mod key;
mod plans;
mod refusals;
mod safe;
mod tampering;

use std::{
    collections::HashMap,
    pin::pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::SolCall;
use calldata_checks::{UtcSeconds, bridge::chains::TOKEN_MESSENGER};
use serde_json::{Value, json};

use super::{BridgeRail, BridgeRequest, build, min_fee::getMinFeeAmountCall};
use crate::{
    FeeDocument, Moment, OwnReadings, Policy, Refusal, Sealed, Verified,
    ports::{Accounts, BridgeFeeReading, BridgeFees, NoSimulator, PortError, PortErrorReason},
};

const ACCOUNT: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");

/// Fees as the protocol's service states them.
#[derive(Debug)]
struct Fees {
    reading: Result<BridgeFeeReading, PortError>,
    allowance: Result<U256, PortError>,
    asked: Mutex<Vec<(u32, u32, bool)>>,
}

impl Default for Fees {
    fn default() -> Self {
        Self {
            reading: Ok(BridgeFeeReading {
                fast_bps: Some("1.3".parse().unwrap()),
                standard_bps: "0".parse().unwrap(),
                forward_fee: None,
                read_at: UtcSeconds::from_unix(1_800_000_000),
            }),
            allowance: Ok(U256::from(52_455_615_650_179u64)),
            asked: Mutex::default(),
        }
    }
}

impl BridgeFees for Fees {
    async fn fees(
        &self,
        source: u32,
        to: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        self.asked.lock().unwrap().push((source, to, forward));
        let mut reading = self.reading.clone()?;
        if forward && reading.forward_fee.is_none() {
            reading.forward_fee = Some(U256::from(250_000));
        }
        Ok(reading)
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        self.allowance.clone()
    }
}

/// Accounts on chains. A chain without an entry has no endpoint.
#[derive(Debug, Default)]
struct Chains(HashMap<u64, Account>);

#[derive(Debug, Clone, Default)]
struct Account {
    code: Bytes,
    /// The answers, by the whole calldata or by its selector.
    answers: HashMap<Bytes, Option<Bytes>>,
}

/// The code of the other contracts, on every chain. Two of them have the same code, each of the
/// others its own.
fn code_beside(address: Address) -> Bytes {
    match address {
        safe::SINGLETON | safe::LAYER_2_SINGLETON => Bytes::from_static(&[0x60, 0x80, 0x52]),
        other => Bytes::copy_from_slice(other.as_slice()),
    }
}

impl Chains {
    fn with(mut self, chain_id: u64, account: Account) -> Self {
        self.0.insert(chain_id, account);
        self
    }

    fn account(&self, chain_id: u64) -> Result<&Account, PortError> {
        self.0.get(&chain_id).ok_or_else(|| PortError {
            source_name: "rpc".into(),
            reason: PortErrorReason::NotConfigured {
                detail: "no endpoint".to_owned(),
            },
        })
    }
}

impl Account {
    fn of_code(code: &[u8]) -> Self {
        Self {
            code: Bytes::copy_from_slice(code),
            answers: HashMap::new(),
        }
    }

    fn answering<C: SolCall>(mut self, answer: Option<Vec<u8>>) -> Self {
        self.answers
            .insert(Bytes::from(C::SELECTOR), answer.map(Bytes::from));
        self
    }

    fn answering_to<C: SolCall>(mut self, call: &C, answer: Option<Vec<u8>>) -> Self {
        self.answers
            .insert(call.abi_encode().into(), answer.map(Bytes::from));
        self
    }
}

impl Accounts for Chains {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        let account = self.account(chain_id)?;
        Ok(match address {
            ACCOUNT => account.code.clone(),
            other => code_beside(other),
        })
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        let account = self.account(chain_id)?;
        let asks_the_messenger = data.starts_with(&getMinFeeAmountCall::SELECTOR);
        assert_eq!(to == TOKEN_MESSENGER, asks_the_messenger);
        assert!(to == TOKEN_MESSENGER || to == ACCOUNT);
        let selector = data.slice(..4);
        let answer = account
            .answers
            .get(&data)
            .or_else(|| account.answers.get(&selector));
        Ok(answer.cloned().flatten())
    }
}

fn unavailable(source_name: &'static str) -> PortError {
    PortError {
        source_name: source_name.into(),
        reason: PortErrorReason::Unavailable {
            detail: "no answer within 2 s".to_owned(),
        },
    }
}

/// A policy that allows bridges without a node, which most of these tests need.
fn policy() -> Policy {
    Policy {
        allow_unread_accounts: true,
        ..strict_policy()
    }
}

fn strict_policy() -> Policy {
    let document: FeeDocument = toml::from_str(include_str!("../../tests/data/fees.toml")).unwrap();
    Policy::new(document.review().unwrap())
}

fn verify(
    request: &BridgeRequest,
    text: &str,
    now: UtcSeconds,
    policy: &Policy,
) -> Result<Verified, Refusal> {
    crate::verify::verify::<BridgeRail>(request, text, now, policy, &OwnReadings::NONE)
}

fn moment() -> Moment {
    Moment {
        now_millis: 1_800_000_000_123,
        entropy: [7; 32],
    }
}

/// The arguments for 1234.56789 USDC from Base to Arbitrum at standard speed. `changes` sets
/// members, and removes them by `null`.
fn arguments(changes: Value) -> Value {
    let mut arguments = json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT.to_string(), "chainId": 8453},
        "fromChainId": 8453,
        "toChainId": 42161,
        "token": "USDC",
        "amount": "1234567890",
    });
    let Value::Object(changes) = changes else {
        panic!("members to change")
    };
    for (name, value) in changes {
        arguments[name.as_str()] = value;
    }
    arguments
}

fn request(changes: Value) -> BridgeRequest {
    BridgeRequest::parse(&arguments(changes)).unwrap()
}

/// Returns the name and the path of the refusal that these arguments get.
fn refused(changes: Value) -> (String, String) {
    let refusal = BridgeRequest::parse(&arguments(changes)).unwrap_err();
    (
        refusal.check.into_owned(),
        refusal.request_path.unwrap_or_default(),
    )
}

fn built(request: &BridgeRequest, fees: &Fees, chains: &Chains) -> Result<Sealed, Refusal> {
    built_with(request, fees, chains, policy())
}

fn built_with(
    request: &BridgeRequest,
    fees: &Fees,
    chains: &Chains,
    policy: Policy,
) -> Result<Sealed, Refusal> {
    let moment = moment();
    let plan = build(request, fees, chains, &NoSimulator, &policy, &moment);
    ready(plan)
}

/// Returns the output of a future that never waits. The future must be `Send`, because servers move
/// it between threads.
fn ready<T>(plan: impl Future<Output = T> + Send) -> T {
    match pin!(plan).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn envelope(plan: &Sealed) -> Value {
    serde_json::from_str(plan.json()).unwrap()
}
