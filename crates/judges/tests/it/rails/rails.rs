//! Builds plans of the four rails for generated requests. The tests compose the answers of the
//! upstreams. Where a plan carries an upstream's calldata, `ethers-core` encodes it.

#![allow(dead_code, reason = "each test file compiles this module for itself")]

pub(crate) mod bridge;
pub(crate) mod perp_order;
pub(crate) mod pm_order;
pub(crate) mod swap;

use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use alloy_primitives::{Address, U256};
use calldata_checks::{Rail, UtcSeconds};
use ethers_core::k256::ecdsa::SigningKey;
use ethers_core::utils::secret_key_to_address;
use plan_builder::ports::{NoSimulator, Simulator};
use plan_builder::{FeeDocument, Moment, Policy, Refusal, Request, Sealed, verify};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// The reviewed fee configuration of these tests, as an operator writes it.
pub(crate) const FEES: &str = include_str!("fees.toml");

/// The time at which every plan is built.
pub(crate) const NOW_MILLIS: u64 = 1_790_000_000_123;

/// A request, with everything that its plan is built from.
pub(crate) trait Case: Debug {
    const RAIL: Rail;

    /// The arguments of the tool.
    fn arguments(&self) -> Value;

    /// The configuration.
    fn policy(&self) -> Policy {
        policy()
    }

    /// The time and the random values.
    fn moment(&self) -> Moment {
        moment([7; 32])
    }

    /// Builds the plan with the upstreams' answers of this case. The order rails simulate nothing.
    fn build(
        &self,
        request: &Request,
        simulator: &impl Simulator,
        policy: &Policy,
        moment: &Moment,
    ) -> impl Future<Output = Result<Sealed, Refusal>>;

    /// Builds the plan and verifies it for its own request.
    async fn plan_on(&self, simulator: &impl Simulator) -> Result<Plan, Refusal> {
        let request = Request::parse(Self::RAIL, &self.arguments().to_string())?;
        let (policy, moment) = (self.policy(), self.moment());
        let sealed = self.build(&request, simulator, &policy, &moment).await?;
        verify(&request, sealed.json(), moment.now(), &policy)?;
        Ok(Plan {
            json: serde_json::from_str(sealed.json()).unwrap(),
            text: sealed.into_json(),
        })
    }

    /// The plan of a case that must pass every check.
    fn plan(&self) -> Plan {
        ready(self.plan_on(&NoSimulator)).unwrap_or_else(|refusal| panic!("{refusal:?}\n{self:#?}"))
    }
}

/// A plan that was built and verified.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Plan {
    pub(crate) fn payload(&self) -> &Value {
        &self.json["payload"]
    }

    /// The calldata of a step.
    pub(crate) fn step_data(&self, step: usize) -> Vec<u8> {
        bytes(&self.payload()["steps"][step]["data"])
    }
}

pub(crate) fn policy() -> Policy {
    static POLICY: LazyLock<Policy> = LazyLock::new(|| policy_with(|_| {}));
    POLICY.clone()
}

/// Makes the policy after an edit of its fee document.
pub(crate) fn policy_with(edit: impl FnOnce(&mut Value)) -> Policy {
    let mut document: Value = toml::from_str(FEES).unwrap();
    edit(&mut document);
    let document: FeeDocument = serde_json::from_value(document).unwrap();
    Policy::new(document.review().unwrap())
}

pub(crate) fn moment(entropy: [u8; 32]) -> Moment {
    Moment {
        now_millis: NOW_MILLIS,
        entropy,
    }
}

/// The time at which every upstream is read.
pub(crate) fn now() -> UtcSeconds {
    moment([0; 32]).now()
}

/// The output of a future that never waits.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

/// Draws the same values in every run.
pub(crate) fn sample<S: Strategy>(count: usize, strategy: S) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

pub(crate) fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("a text");
    alloy_primitives::hex::decode(text).expect("hex")
}

/// An account whose key the test holds.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    pub(crate) key: SigningKey,
    pub(crate) address: Address,
}

impl Signer {
    pub(crate) fn private_key(&self) -> String {
        alloy_primitives::hex::encode_prefixed(self.key.to_bytes())
    }
}

pub(crate) fn signers() -> impl Strategy<Value = Signer> {
    any::<[u8; 32]>().prop_filter_map("a key", |bytes| {
        let key = SigningKey::from_slice(&bytes).ok()?;
        let address = Address::from(secret_key_to_address(&key).0);
        Some(Signer { key, address })
    })
}

pub(crate) fn addresses() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>()
        .prop_map(Address::from)
        .prop_filter("an account", |address| !address.is_zero())
}

/// Integers of every magnitude, from 1 up to `bits` bits.
pub(crate) fn amounts(bits: usize) -> impl Strategy<Value = U256> {
    (any::<[u8; 32]>(), 256 - bits..256).prop_map(|(bytes, shift)| {
        U256::from_be_bytes(bytes)
            .checked_shr(shift)
            .unwrap_or_default()
            .max(U256::ONE)
    })
}

/// A share of `whole` between nothing and everything: `whole * part / 2^16`.
pub(crate) fn share(whole: U256, part: u16) -> U256 {
    let whole = whole.widening_mul::<256, 4, 512, 8>(U256::from(part));
    U256::from_limbs_slice(&(whole >> 16usize).into_limbs()[..4])
}
