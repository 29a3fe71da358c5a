//! Judges real calldata of the aggregator under the example configuration. The calls come from
//! public repositories (`fixtures/vectors/swap/recorded.json`). Each call is judged once as it was
//! recorded, for its own integrator. It is judged a second time with the integrator, the account
//! and the fee leg that the same quote would have had for us. The exchange legs are unchanged.
//!
//! For most calls this repository has the decoded members and not the bytes. The calldata of an
//! exchange leg then has the real length and beginning. Where the bytes are available, they are
//! judged instead, and their digest proves them.

mod bytes;

use std::{fmt::Write as _, fs, path::Path};

use alloy_primitives::{Address, B256, Bytes, Selector, U256};
use alloy_sol_types::SolCall;
use calldata_checks::{
    BasisPoints, Commitment, DigestStanding, Failure, FeePolicy, Step, StepKind, UtcSeconds, judge,
    step,
    swap::{
        self, SwapAsked, SwapQuoted,
        calldata::{
            FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
            swapTokensSingleV3ERC20ToERC20Call,
        },
    },
};
use plan_builder::FeeDocument;
use serde::Deserialize;

const NOW: UtcSeconds = UtcSeconds::from_unix(1_790_000_000);

#[derive(Deserialize)]
struct Recording {
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    chain_id: u64,
    source: Source,
    function: Selector,
    integrator: String,
    referrer: String,
    receiver: Address,
    min_amount_out: U256,
    calldata_bytes: usize,
    calldata_keccak256: B256,
    legs: Vec<Leg>,
    /// The calldata itself, if it is available.
    #[serde(skip)]
    calldata: Option<Bytes>,
}

#[derive(Deserialize)]
struct Source {
    repository: String,
    path: String,
    commit: String,
}

#[derive(Deserialize)]
struct Leg {
    call_to: Address,
    approve_to: Address,
    sending: Address,
    receiving: Address,
    from_amount: U256,
    requires_deposit: bool,
    function: Selector,
    call_bytes: usize,
    distributions: Option<Vec<Part>>,
    collected: Option<serde::de::IgnoredAny>,
    /// The calldata of the leg itself, if it is available.
    #[serde(skip)]
    calldata: Option<Bytes>,
}

#[derive(Deserialize)]
struct Part {
    recipient: Address,
    amount: U256,
}

impl Leg {
    fn is_fee(&self) -> bool {
        self.distributions.is_some() || self.collected.is_some()
    }

    fn data(&self) -> SwapData {
        let call_data = match &self.distributions {
            _ if self.calldata.is_some() => self.calldata.clone().unwrap().to_vec(),
            Some(parts) if self.function == forwardERC20FeesCall::SELECTOR => fees(
                self.sending,
                parts.iter().map(|part| (part.recipient, part.amount)),
            ),
            _ => {
                let mut bytes = vec![0xab; self.call_bytes];
                bytes[..4].copy_from_slice(self.function.as_slice());
                bytes
            }
        };
        SwapData {
            callTo: self.call_to,
            approveTo: self.approve_to,
            sendingAssetId: self.sending,
            receivingAssetId: self.receiving,
            fromAmount: self.from_amount,
            callData: call_data.into(),
            requiresDeposit: self.requires_deposit,
        }
    }
}

fn fees(token: Address, parts: impl Iterator<Item = (Address, U256)>) -> Vec<u8> {
    forwardERC20FeesCall {
        _token: token,
        _distributions: parts
            .map(|(recipient, amount)| FeeDistribution { recipient, amount })
            .collect(),
    }
    .abi_encode()
}

impl Call {
    fn is_single(&self) -> bool {
        // The functions for one leg: from ERC-20 to ERC-20, to the native coin, and from the native
        // coin.
        [0x4666_fc80_u32, 0x7332_14a3, 0xaf70_60fd]
            .map(|selector| Selector::from(selector.to_be_bytes()))
            .contains(&self.function)
    }

    /// Judges the call as it was recorded. If its bytes are not available, other bytes follow the
    /// selectors of its exchange legs.
    fn recorded(&self) -> Result<(), Failure> {
        if let Some(calldata) = &self.calldata {
            return self.judge(calldata.to_vec(), &self.integrator, &policy());
        }
        let legs: Vec<SwapData> = self.legs.iter().map(Leg::data).collect();
        let mut data = if self.is_single() {
            swapTokensSingleV3ERC20ToERC20Call {
                _transactionId: B256::ZERO,
                _integrator: self.integrator.clone(),
                _referrer: self.referrer.clone(),
                _receiver: self.receiver,
                _minAmountOut: self.min_amount_out,
                _swapData: legs[0].clone(),
            }
            .abi_encode()
        } else {
            several(&self.integrator, self, legs)
        };
        // The functions for native coin have the same arguments.
        data[..4].copy_from_slice(self.function.as_slice());
        self.judge(data, &self.integrator, &policy())
    }

    /// Judges the call as the aggregator would have composed it for us, with our integrator and
    /// with our fee leg through the reviewed forwarder.
    fn as_ours(&self, policy: &FeePolicy) -> Result<(), Failure> {
        let gross = self.legs[0].from_amount;
        let token = self.legs[0].sending;
        let split = policy.split(gross).unwrap();
        let paid = policy.recipients.iter().zip(&split.parts);
        let forwarder = policy.chains[0].forwarder;
        let mut legs = vec![SwapData {
            callTo: forwarder,
            approveTo: forwarder,
            sendingAssetId: token,
            receivingAssetId: token,
            fromAmount: gross,
            callData: fees(token, paid.map(|(to, amount)| (to.address, *amount))).into(),
            requiresDeposit: true,
        }];
        for leg in self.legs.iter().filter(|leg| !leg.is_fee()) {
            let mut leg = leg.data();
            if leg.sendingAssetId == token {
                (leg.fromAmount, leg.requiresDeposit) = (gross - split.total, false);
            }
            legs.push(leg);
        }
        let mut data = several(&policy.integrator, self, legs);
        let native = [0x7332_14a3_u32, 0xaf70_60fd, 0x2c57_e884, 0x736e_ac0b];
        if native.contains(&u32::from_be_bytes(self.function.0)) || self.is_native() {
            data[..4].copy_from_slice(self.function.as_slice());
        }
        self.judge(data, &policy.integrator, policy)
    }

    fn is_native(&self) -> bool {
        let last = self.legs.last().unwrap();
        self.legs[0].sending.is_zero() || last.receiving.is_zero()
    }

    fn judge(&self, data: Vec<u8>, quoted_for: &str, policy: &FeePolicy) -> Result<(), Failure> {
        let chain = policy.chain(self.chain_id);
        let router = chain.map_or(policy.chains[0].router, |chain| chain.router);
        let (from, to) = (self.legs[0].sending, self.legs.last().unwrap().receiving);
        let amount = self.legs[0].from_amount;
        let steps = [
            step::approval(StepKind::ApproveReset, from, router, U256::ZERO),
            step::approval(StepKind::Approve, from, router, amount),
            Step {
                kind: StepKind::Call,
                to: router,
                value: U256::ZERO,
                data: data.into(),
            },
        ];
        let asked = SwapAsked {
            account: self.receiver,
            account_chain_id: self.chain_id,
            chain_id: self.chain_id,
            from_token: from,
            to_token: to,
            from_amount: amount,
            max_slippage: BasisPoints::new(50).unwrap(),
            min_amount_out: None,
        };
        let quoted = SwapQuoted {
            integrator: quoted_for.to_owned(),
            from_chain_id: self.chain_id,
            to_chain_id: self.chain_id,
            from_token: from,
            to_token: to,
            from_amount: amount,
            sender: self.receiver,
            receiver: self.receiver,
            to_amount: self.min_amount_out,
            to_amount_min: self.min_amount_out,
            approval_address: router,
            call_to: router,
            call_from: Some(self.receiver),
            call_chain_id: self.chain_id,
            call_value: U256::ZERO,
            from_usd: None,
            to_usd: None,
            read_at: NOW,
        };
        let commitment = Commitment {
            valid_until: NOW.saturating_add(60),
            now: NOW,
            digest: DigestStanding::Sealing,
        };
        let facts = swap::decode(asked, quoted, self.chain_id, &steps, policy, commitment)?;
        judge(&facts).map(drop)
    }
}

fn several(integrator: &str, call: &Call, legs: Vec<SwapData>) -> Vec<u8> {
    swapTokensMultipleV3ERC20ToERC20Call {
        _transactionId: B256::ZERO,
        _integrator: integrator.to_owned(),
        _referrer: call.referrer.clone(),
        _receiver: call.receiver,
        _minAmountOut: call.min_amount_out,
        _swapData: legs,
    }
    .abi_encode()
}

fn read(path: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(path),
    )
    .unwrap()
}

/// The example configuration, with an address filled in.
fn policy() -> FeePolicy {
    let text = read("docs/fees.example.toml").replace(
        exact::address::PLACEHOLDER,
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    );
    reviewed(&text)
}

fn reviewed(text: &str) -> FeePolicy {
    let document: FeeDocument = toml::from_str(text).unwrap();
    FeePolicy::clone(&document.review().unwrap())
}

fn recording() -> Vec<Call> {
    let recording: Recording =
        serde_json::from_str(&read("fixtures/vectors/swap/recorded.json")).unwrap();
    let mut calls = recording.calls;
    calls.iter_mut().for_each(Call::read_bytes);
    calls
}

fn shown(verdict: &Result<(), Failure>) -> String {
    match verdict {
        Ok(()) => "accepted".to_owned(),
        Err(failure) => {
            let violation = &failure.violation;
            let observed: String = violation.observed.chars().take(64).collect();
            format!("{}: {} ({observed})", failure.check, violation.message)
        }
    }
}

#[test]
fn the_verdict_on_every_recorded_call() {
    let policy = policy();
    let mut text = String::new();
    for call in &recording() {
        let Source {
            repository,
            path,
            commit,
        } = &call.source;
        assert!(repository.starts_with("github.com/") && !path.is_empty() && commit.len() == 40);
        let function = call.function;
        writeln!(text, "{} chain {} {function}", call.name, call.chain_id).unwrap();
        writeln!(text, "   recorded: {}", shown(&call.recorded())).unwrap();
        writeln!(text, "   as ours:  {}", shown(&call.as_ours(&policy))).unwrap();
    }
    insta::assert_snapshot!(text);
}

/// `docs/PLANS.md` states how many of the calls are accepted, under an earlier configuration and
/// under the example configuration. The counts here must be equal.
#[test]
fn the_document_states_how_many_calls_are_accepted() {
    let calls = recording();
    let before = reviewed(&read("fixtures/vectors/swap/fees-2026-11-01.toml"));
    let count = |holds: &dyn Fn(&Call) -> bool| calls.iter().filter(|call| holds(call)).count();
    let as_recorded = count(&|call| call.recorded().is_ok());
    let tokens = count(&|call| !call.is_native());
    let served = count(&|call| !call.is_native() && policy().chain(call.chain_id).is_some());
    let then = count(&|call| call.as_ours(&before).is_ok());
    let now = count(&|call| call.as_ours(&policy()).is_ok());
    assert_eq!(
        (calls.len(), as_recorded, tokens, served, then, now),
        (48, 0, 31, 23, 4, 21)
    );
    let all = calls.len();
    let rows = [
        format!("| recorded | {all} |"),
        format!("| of them from token to token | {tokens} |"),
        format!("| of these on a reviewed chain | {served} |"),
        format!("| accepted as they are | {as_recorded} |"),
        format!("| accepted as ours, configuration of 2026-11-01 | {then} |"),
        format!("| accepted as ours, example configuration | {now} |"),
    ];
    let document = read("docs/PLANS.md");
    for row in rows {
        assert!(document.contains(&row), "docs/PLANS.md has no row {row}");
    }
}
